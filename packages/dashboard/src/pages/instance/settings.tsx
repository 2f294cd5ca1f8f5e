/** How long runs are kept, and when a destination that keeps failing is held back. */
import { useId, useState } from 'react';
import { useMay } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { FailureNotice, Skeleton } from '../../components/states.js';
import {
  formOf,
  isAmountOrNone,
  isCountOrNone,
  type RetentionState,
  type Settings,
  type SettingsForm,
  STATE_NAMES,
  STATES,
  settingsOf,
  shortened,
} from './settings-form.js';

export function SettingsCard() {
  const { data, error, isPending, refetch } = useApi<Settings>({ topic: 'settings', name: 'settings', url: '/v2/settings' });
  return (
    <Card title="Retention and failing destinations">
      {isPending ? (
        <Skeleton lines={6} />
      ) : error && !data ? (
        <FailureNotice failure={error} onRetry={() => void refetch()} />
      ) : data ? (
        // Somebody else's change begins the form anew.
        <Form key={JSON.stringify(data)} settings={data} />
      ) : null}
    </Card>
  );
}

function Form({ settings }: { readonly settings: Settings }) {
  const { write, readOnly } = useMay();
  const ids = { enabled: useId(), failures: useId(), probe: useId() };
  const [form, setForm] = useState<SettingsForm>(() => formOf(settings));
  const [asked, setAsked] = useState(false);
  const change = useChange();
  const wanted = settingsOf(form);
  const changed = JSON.stringify(form) !== JSON.stringify(formOf(settings));
  const less = wanted === null ? [] : shortened(settings, wanted);
  const send = () =>
    change({ method: 'PUT', url: '/v2/settings', body: wanted, topics: ['settings'], done: 'The settings count from now on' });
  const setDays = (state: RetentionState, text: string) => setForm({ ...form, days: { ...form.days, [state]: text.trim() } });
  const setCount = (state: RetentionState, text: string) =>
    setForm({ ...form, counts: { ...form.counts, [state]: text.trim() } });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (wanted === null || !changed) return;
        if (less.length > 0) setAsked(true);
        else void send();
      }}
    >
      <fieldset className="plain" disabled={!write}>
        <table className="retention">
          <caption className="visually-hidden">How long runs are kept after their end</caption>
          <thead>
            <tr>
              <th scope="col">After their end</th>
              <th scope="col">Days kept</th>
              <th scope="col">Newest kept</th>
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
                    placeholder="for ever"
                    aria-label={`${STATE_NAMES[state]}: days kept`}
                    aria-invalid={!isAmountOrNone(form.days[state])}
                    value={form.days[state]}
                    onChange={(event) => setDays(state, event.target.value)}
                  />
                </td>
                <td>
                  <input
                    className="input"
                    inputMode="numeric"
                    placeholder="all"
                    aria-label={`${STATE_NAMES[state]}: newest kept`}
                    aria-invalid={!isCountOrNone(form.counts[state])}
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
            id={ids.enabled}
            type="checkbox"
            checked={form.enabled}
            onChange={(event) => setForm({ ...form, enabled: event.target.checked })}
          />
          <label htmlFor={ids.enabled}>Hold back a destination that keeps failing</label>
        </div>
        <div className="breaker-fields">
          <div className="field">
            <label className="field-label" htmlFor={ids.failures}>
              After so many failures in a row
            </label>
            <input
              id={ids.failures}
              className="input"
              inputMode="numeric"
              value={form.failures}
              onChange={(event) => setForm({ ...form, failures: event.target.value.trim() })}
            />
          </div>
          <div className="field">
            <label className="field-label" htmlFor={ids.probe}>
              Look again every so many seconds
            </label>
            <input
              id={ids.probe}
              className="input"
              inputMode="decimal"
              value={form.probeSeconds}
              onChange={(event) => setForm({ ...form, probeSeconds: event.target.value.trim() })}
            />
          </div>
        </div>
      </fieldset>
      <div className="line">
        <DeedButton
          submits
          look="primary"
          off={readOnly ?? (wanted === null ? 'Something here is no number' : changed ? undefined : 'Nothing was changed')}
        >
          Save
        </DeedButton>
        <button type="button" className="button" disabled={!changed} onClick={() => setForm(formOf(settings))}>
          Undo the changes
        </button>
        {wanted === null ? <span className="field-error">Something here is no number.</span> : null}
        <ReadOnlyNote />
      </div>
      <ConfirmDialog
        title="Keep less"
        open={asked}
        onClose={() => setAsked(false)}
        confirmText="Save and remove"
        danger
        onConfirm={send}
      >
        <p>
          These are kept for a shorter time, or in smaller number. What is beyond that is removed soon, and cannot be had back:
        </p>
        <ul>
          {less.map((state) => (
            <li key={state}>{STATE_NAMES[state]}</li>
          ))}
        </ul>
      </ConfirmDialog>
    </form>
  );
}
