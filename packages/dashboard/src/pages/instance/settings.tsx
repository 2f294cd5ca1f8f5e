/** Settings of the instance: retention, and when a failing destination is held. */
import { useId, useState } from 'react';
import { usePermissions } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { Card } from '../../components/card.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { Loaded } from '../../components/loading/loaded.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import {
  formOf,
  isAmountOrEmpty,
  isCountOrEmpty,
  type RetentionState,
  type Settings,
  type SettingsForm,
  STATE_NAMES,
  STATES,
  settingsOf,
  shortenedStates,
} from './settings-form.js';

export function SettingsCard() {
  const settings = useApi<Settings>({ topic: 'settings', name: 'settings', url: '/v2/settings' });
  return (
    <Card title="Retention and failing destinations">
      {/* If someone else changes the settings, the key resets the form. */}
      <Loaded query={settings} lines={6}>
        {(saved) => <SettingsEditor key={JSON.stringify(saved)} settings={saved} />}
      </Loaded>
    </Card>
  );
}

function SettingsEditor({ settings }: { readonly settings: Settings }) {
  const { canWrite, readOnlyReason } = usePermissions();
  const breakerEnabledId = useId();
  const [form, setForm] = useState<SettingsForm>(() => formOf(settings));
  const [isConfirming, setIsConfirming] = useState(false);
  const change = useChange();
  const newSettings = settingsOf(form);
  const hasChanges = JSON.stringify(form) !== JSON.stringify(formOf(settings));
  const shortenedRetention = newSettings === null ? [] : shortenedStates(settings, newSettings);
  const send = () =>
    change({ method: 'PUT', url: '/v2/settings', body: newSettings, topics: ['settings'], successText: 'Saved the settings' });
  const setDays = (state: RetentionState, text: string) => setForm({ ...form, days: { ...form.days, [state]: text.trim() } });
  const setCount = (state: RetentionState, text: string) =>
    setForm({ ...form, counts: { ...form.counts, [state]: text.trim() } });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (newSettings === null || !hasChanges) return;
        if (shortenedRetention.length > 0) setIsConfirming(true);
        else void send();
      }}
    >
      <fieldset className="plain" disabled={!canWrite}>
        <table className="retention">
          <caption className="visually-hidden">Retention of ended runs</caption>
          <thead>
            <tr>
              <th scope="col">Runs</th>
              <th scope="col">Max days</th>
              <th scope="col">Max count</th>
            </tr>
          </thead>
          <tbody>
            {STATES.map((state) => (
              <tr key={state}>
                <th scope="row">{STATE_NAMES[state]}</th>
                <td>
                  <input
                    className="input"
                    inputMode="decimal"
                    placeholder="Forever"
                    aria-label={`${STATE_NAMES[state]}: max days`}
                    aria-invalid={!isAmountOrEmpty(form.days[state])}
                    value={form.days[state]}
                    onChange={(event) => setDays(state, event.target.value)}
                  />
                </td>
                <td>
                  <input
                    className="input"
                    inputMode="numeric"
                    placeholder="All"
                    aria-label={`${STATE_NAMES[state]}: max count`}
                    aria-invalid={!isCountOrEmpty(form.counts[state])}
                    value={form.counts[state]}
                    onChange={(event) => setCount(state, event.target.value)}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <div className="line breaker">
          <input
            id={breakerEnabledId}
            type="checkbox"
            checked={form.enabled}
            onChange={(event) => setForm({ ...form, enabled: event.target.checked })}
          />
          <label htmlFor={breakerEnabledId}>Hold failing destinations automatically</label>
        </div>
        <div className="breaker-fields">
          <TextField
            label="Consecutive failures before hold"
            inputMode="numeric"
            value={form.failures}
            onChange={(failures) => setForm({ ...form, failures: failures.trim() })}
          />
          <TextField
            label="Probe interval (seconds)"
            inputMode="decimal"
            value={form.probeSeconds}
            onChange={(seconds) => setForm({ ...form, probeSeconds: seconds.trim() })}
          />
        </div>
      </fieldset>
      <div className="line">
        <ActionButton
          submits
          variant="primary"
          disabledReason={
            readOnlyReason ??
            (newSettings === null ? 'Some fields are not valid numbers' : hasChanges ? undefined : 'There are no changes to save')
          }
        >
          Save
        </ActionButton>
        <button type="button" className="button" disabled={!hasChanges} onClick={() => setForm(formOf(settings))}>
          Discard changes
        </button>
        {newSettings === null ? <span className="field-error">Some fields are not valid numbers.</span> : null}
        <ReadOnlyNote />
      </div>
      <ConfirmDialog
        title="Shorten retention?"
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        confirmText="Save and delete"
        danger
        onConfirm={send}
      >
        <p>
          Runs and dead letters that exceed the new limits will be deleted. This cannot be undone. The limits are lower than
          before for:
        </p>
        <ul>
          {shortenedRetention.map((state) => (
            <li key={state}>{STATE_NAMES[state]}</li>
          ))}
        </ul>
      </ConfirmDialog>
    </form>
  );
}
