/** Dialog that creates a schedule. It shows the next runs while the user types the cron expression. */
import { useId, useState } from 'react';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { NO_OVERRIDES, OverrideFields, overrideHeaders, overridesIn } from '../../components/run-overrides.js';
import { ScheduleTimes, useScheduleTimes } from './schedule-times.js';

const isUrl = (text: string): boolean => /^https?:\/\/[^\s/]/.test(text);
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

export function CreateSchedule({ onClose }: { readonly onClose: () => void }) {
  const ids = { url: useId(), body: useId(), bodyError: useId(), id: useId() };
  const [url, setUrl] = useState('');
  const times = useScheduleTimes('0 * * * *', 'UTC');
  const { cron, zone, preview } = times;
  const [scheduleId, setScheduleId] = useState('');
  const [settings, setSettings] = useState(NO_OVERRIDES);
  const [body, setBody] = useState('');
  const change = useChange();
  const bodyValid = body.trim() === '' || isJson(body);
  return (
    <ConfirmDialog
      title="New schedule"
      open
      onClose={onClose}
      confirmText="Create schedule"
      disabled={!isUrl(url) || !preview.ok || !bodyValid}
      onConfirm={() =>
        change({
          method: 'POST',
          // The rest of the path is the unencoded URL of the workflow.
          url: `/v2/schedules/${url.trim()}`,
          headers: {
            ...overrideHeaders(overridesIn(settings)),
            ...(scheduleId.trim() === '' ? {} : { 'svc-schedule-id': scheduleId.trim() }),
            'svc-cron': cron.trim(),
            'svc-cron-timezone': zone.trim() === '' ? 'UTC' : zone.trim(),
            ...(body.trim() === '' ? {} : { 'content-type': 'application/json' }),
          },
          ...(body.trim() === '' ? {} : { body }),
          topics: ['schedules'],
          done: 'Created the schedule',
        })
      }
    >
      <div className="field">
        <label className="field-label" htmlFor={ids.url}>
          Workflow URL
        </label>
        <input
          id={ids.url}
          className="input mono"
          placeholder="https://app.example.com/order"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
      </div>
      <ScheduleTimes times={times} />
      <div className="field">
        <label className="field-label" htmlFor={ids.body}>
          Payload of the runs (JSON, optional)
        </label>
        <textarea
          id={ids.body}
          className="input"
          rows={4}
          spellCheck={false}
          value={body}
          aria-invalid={!bodyValid}
          aria-describedby={bodyValid ? undefined : ids.bodyError}
          onChange={(event) => setBody(event.target.value)}
        />
        {bodyValid ? null : (
          <p id={ids.bodyError} className="field-error">
            Invalid JSON.
          </p>
        )}
      </div>
      <div className="field">
        <label className="field-label" htmlFor={ids.id}>
          Id (optional)
        </label>
        <input
          id={ids.id}
          className="input mono"
          placeholder="Generated if empty"
          value={scheduleId}
          onChange={(event) => setScheduleId(event.target.value)}
        />
        <span className="field-hint">A schedule with this id is replaced.</span>
      </div>
      <OverrideFields texts={settings} onChange={setSettings} />
    </ConfirmDialog>
  );
}
