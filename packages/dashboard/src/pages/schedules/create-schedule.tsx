/** A new schedule; the expression is read while it is typed. */
import { useId, useState } from 'react';
import { useChange } from '../../api/queries.js';
import { useNow } from '../../components/clock.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TimeText } from '../../components/time-text.js';
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
  const ids = { url: useId(), cron: useId(), zone: useId(), body: useId(), told: useId(), bodyFault: useId() };
  const [url, setUrl] = useState('');
  const [cron, setCron] = useState('0 * * * *');
  const [zone, setZone] = useState('UTC');
  const [body, setBody] = useState('');
  const now = useNow();
  const change = useChange();
  const told = nextFires(cron, zone.trim(), { count: SHOWN, nowMs: now });
  const bodyGood = body.trim() === '' || isJson(body);
  return (
    <ConfirmDialog
      title="New schedule"
      open
      onClose={onClose}
      confirmText="Create schedule"
      disabled={!isUrl(url) || !told.ok || !bodyGood}
      onConfirm={() =>
        change({
          method: 'POST',
          // The URL of the workflow is the rest of the path as it is.
          url: `/v2/schedules/${url.trim()}`,
          headers: {
            'svc-cron': cron.trim(),
            'svc-cron-timezone': zone.trim() === '' ? 'UTC' : zone.trim(),
            ...(body.trim() === '' ? {} : { 'content-type': 'application/json' }),
          },
          ...(body.trim() === '' ? {} : { body }),
          topics: ['schedules'],
          done: 'The schedule is there',
        })
      }
    >
      <div className="field">
        <label className="field-label" htmlFor={ids.url}>
          URL of the workflow
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
          aria-invalid={!told.ok}
          aria-describedby={ids.told}
          onChange={(event) => setCron(event.target.value)}
        />
      </div>
      <div className="field">
        <label className="field-label" htmlFor={ids.zone}>
          Time zone
        </label>
        <input id={ids.zone} className="input" value={zone} onChange={(event) => setZone(event.target.value)} />
      </div>
      <p id={ids.told} role="status" className={told.ok ? 'field-hint' : 'field-error'}>
        {told.ok ? (
          <>
            Next:{' '}
            {told.fires.map((at, index) => (
              <span key={at}>
                {index > 0 ? ', ' : ''}
                <TimeText unixMs={at} style="exact" />
              </span>
            ))}
          </>
        ) : (
          told.why
        )}
      </p>
      <div className="field">
        <label className="field-label" htmlFor={ids.body}>
          Payload of its runs, as JSON; may be empty
        </label>
        <textarea
          id={ids.body}
          className="input"
          rows={4}
          spellCheck={false}
          value={body}
          aria-invalid={!bodyGood}
          aria-describedby={bodyGood ? undefined : ids.bodyFault}
          onChange={(event) => setBody(event.target.value)}
        />
        {bodyGood ? null : (
          <p id={ids.bodyFault} className="field-error">
            This is no JSON.
          </p>
        )}
      </div>
    </ConfirmDialog>
  );
}
