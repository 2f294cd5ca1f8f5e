/** Dialog that changes a schedule: times, payload, retries and labels. Everything else stays as it is. */
import { useId, useState } from 'react';
import type { ScheduleChange, ScheduleEntry } from '../../../../everstep/src/contract/schedules.js';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { prettyJson } from '../../components/times/formats.js';
import { ScheduleTimes, useScheduleTimes } from './schedule-times.js';

export interface EditScheduleProps {
  readonly schedule: ScheduleEntry;
  readonly onClose: () => void;
}

const labelsIn = (text: string): string[] =>
  text
    .split(',')
    .map((label) => label.trim())
    .filter((label) => label !== '');

export function EditSchedule({ schedule, onClose }: EditScheduleProps) {
  const ids = { body: useId(), retries: useId(), labels: useId() };
  const change = useChange();
  const times = useScheduleTimes(schedule.cron, schedule.timezone);
  const originalBody = prettyJson(schedule.body ?? '');
  const originalLabels = schedule.labels.join(', ');
  const [body, setBody] = useState(originalBody);
  const [retries, setRetries] = useState(String(schedule.retries));
  const [labels, setLabels] = useState(originalLabels);
  const cron = times.cron.trim();
  const zone = times.zone.trim() === '' ? 'UTC' : times.zone.trim();
  const changed: ScheduleChange = {
    ...(cron === schedule.cron ? {} : { cron }),
    ...(zone === schedule.timezone ? {} : { timezone: zone }),
    ...(body === originalBody ? {} : { body }),
    ...(retries === String(schedule.retries) ? {} : { retries: Number(retries) }),
    ...(labels === originalLabels ? {} : { labels: labelsIn(labels) }),
  };
  const valid = times.preview.ok && /^\d{1,3}$/.test(retries);
  return (
    <ConfirmDialog
      title="Edit schedule"
      open
      onClose={onClose}
      confirmText="Save"
      disabled={!valid || Object.keys(changed).length === 0}
      onConfirm={() =>
        change({
          method: 'PATCH',
          url: path`/v2/schedules/${schedule.scheduleId}`,
          body: changed,
          topics: ['schedules'],
          done: 'Changed the schedule',
        })
      }
    >
      <ScheduleTimes times={times} />
      {schedule.bodyBase64 === undefined ? (
        <div className="field">
          <label className="field-label" htmlFor={ids.body}>
            Payload of the runs
          </label>
          <textarea
            id={ids.body}
            className="input"
            rows={5}
            spellCheck={false}
            value={body}
            onChange={(event) => setBody(event.target.value)}
          />
        </div>
      ) : (
        <p className="muted">The payload is binary and cannot be edited here.</p>
      )}
      <div className="field">
        <label className="field-label" htmlFor={ids.retries}>
          Retries per step
        </label>
        <input
          id={ids.retries}
          className="input"
          type="number"
          min={0}
          max={100}
          value={retries}
          onChange={(event) => setRetries(event.target.value)}
        />
      </div>
      <div className="field">
        <label className="field-label" htmlFor={ids.labels}>
          Labels
        </label>
        <input
          id={ids.labels}
          className="input"
          placeholder="Comma-separated"
          value={labels}
          onChange={(event) => setLabels(event.target.value)}
        />
      </div>
      <p className="field-hint">
        Other settings stay as they are. Runs that have started continue unchanged. To call another workflow, create a new
        schedule.
      </p>
    </ConfirmDialog>
  );
}
