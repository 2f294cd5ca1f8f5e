/** Dialog that creates a schedule. It shows the next runs while the user types the cron expression. */
import { useId, useState } from 'react';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { useNow } from '../../components/times/clock.js';
import { TimeText } from '../../components/times/time-text.js';
import { nextFires } from './next-fires.js';

const SHOWN = 3;
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
  const ids = { url: useId(), cron: useId(), zone: useId(), body: useId(), preview: useId(), bodyError: useId() };
  const [url, setUrl] = useState('');
  const [cron, setCron] = useState('0 * * * *');
  const [zone, setZone] = useState('UTC');
  const [body, setBody] = useState('');
  const now = useNow();
  const change = useChange();
  const preview = nextFires(cron, zone.trim(), { count: SHOWN, nowMs: now });
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
      <div className="field">
        <label className="field-label" htmlFor={ids.cron}>
          Cron expression
        </label>
        <input
          id={ids.cron}
          className="input mono"
          value={cron}
          aria-invalid={!preview.ok}
          aria-describedby={ids.preview}
          onChange={(event) => setCron(event.target.value)}
        />
      </div>
      <div className="field">
        <label className="field-label" htmlFor={ids.zone}>
          Time zone
        </label>
        <input id={ids.zone} className="input" value={zone} onChange={(event) => setZone(event.target.value)} />
      </div>
      <p id={ids.preview} role="status" className={preview.ok ? 'field-hint' : 'field-error'}>
        {preview.ok ? (
          <>
            Next runs:{' '}
            {preview.fires.map((at, index) => (
              <span key={at}>
                {index > 0 ? ', ' : ''}
                <TimeText unixMs={at} style="exact" />
              </span>
            ))}
          </>
        ) : (
          preview.why
        )}
      </p>
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
    </ConfirmDialog>
  );
}
