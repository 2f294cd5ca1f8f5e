/** Dialog that changes a schedule: times, payload, retries and labels. Everything else stays as it is. */
import { useState } from 'react';
import type { ScheduleChange, ScheduleEntry } from '../../../../everstep/src/contract/schedules.js';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextArea, TextField } from '../../components/fields.js';
import { prettyJson } from '../../components/json/json-text.js';
import { ScheduleTimes, useScheduleTimes } from './schedule-times.js';

export interface EditScheduleDialogProps {
  readonly schedule: ScheduleEntry;
  readonly onClose: () => void;
}

const labelsIn = (text: string): string[] =>
  text
    .split(',')
    .map((label) => label.trim())
    .filter((label) => label !== '');

export function EditScheduleDialog({ schedule, onClose }: EditScheduleDialogProps) {
  const change = useChange();
  const times = useScheduleTimes(schedule.cron, schedule.timezone);
  const originalBody = prettyJson(schedule.body ?? '');
  const originalLabels = schedule.labels.join(', ');
  const [body, setBody] = useState(originalBody);
  const [retries, setRetries] = useState(String(schedule.retries));
  const [labels, setLabels] = useState(originalLabels);
  const cron = times.cron.trim();
  const zone = times.zone.trim() === '' ? 'UTC' : times.zone.trim();
  const scheduleChange: ScheduleChange = {
    ...(cron === schedule.cron ? {} : { cron }),
    ...(zone === schedule.timezone ? {} : { timezone: zone }),
    ...(body === originalBody ? {} : { body }),
    ...(retries === String(schedule.retries) ? {} : { retries: Number(retries) }),
    ...(labels === originalLabels ? {} : { labels: labelsIn(labels) }),
  };
  const isValid = times.preview.ok && /^\d{1,3}$/.test(retries);
  return (
    <ConfirmDialog
      title="Edit schedule"
      open
      onClose={onClose}
      confirmText="Save schedule"
      disabled={!isValid || Object.keys(scheduleChange).length === 0}
      onConfirm={() =>
        change({
          method: 'PATCH',
          url: path`/v2/schedules/${schedule.scheduleId}`,
          body: scheduleChange,
          topics: ['schedules'],
          successText: 'Saved the schedule',
        })
      }
    >
      <ScheduleTimes times={times} />
      {schedule.bodyBase64 === undefined ? (
        <TextArea label="Run payload" rows={5} spellCheck={false} value={body} onChange={setBody} />
      ) : (
        <p className="muted">The payload is binary and cannot be edited here.</p>
      )}
      <TextField label="Retries per step" type="number" min={0} max={100} value={retries} onChange={setRetries} />
      <TextField label="Labels" placeholder="Comma-separated" value={labels} onChange={setLabels} />
      <p className="field-hint">
        Other settings stay as they are. Runs that have started continue unchanged. To call another workflow, create a new
        schedule.
      </p>
    </ConfirmDialog>
  );
}
