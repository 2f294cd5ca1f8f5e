/** Fields for the cron expression and the time zone of a schedule, with a preview of its next runs. */
import { useId, useState } from 'react';
import { TextField } from '../../components/fields.js';
import { useNow } from '../../components/times/clock.js';
import { LOCAL_ZONE } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { type FireTimes, nextFires } from './next-fires.js';

const MAX_SHOWN = 3;

export interface ScheduleTimesState {
  readonly cron: string;
  readonly zone: string;
  readonly setCron: (cron: string) => void;
  readonly setZone: (zone: string) => void;
  readonly preview: FireTimes;
}

export function useScheduleTimes(initialCron: string, initialZone: string): ScheduleTimesState {
  const [cron, setCron] = useState(initialCron);
  const [zone, setZone] = useState(initialZone);
  const now = useNow();
  return { cron, zone, setCron, setZone, preview: nextFires(cron, zone.trim(), { count: MAX_SHOWN, nowMs: now }) };
}

export function ScheduleTimes({ times }: { readonly times: ScheduleTimesState }) {
  const previewId = useId();
  const { cron, zone, setCron, setZone, preview } = times;
  return (
    <>
      <TextField
        label="Cron expression"
        mono
        value={cron}
        aria-invalid={!preview.ok}
        aria-describedby={previewId}
        onChange={setCron}
      />
      <TextField label="Time zone" value={zone} onChange={setZone} />
      <p id={previewId} role="status" className={preview.ok ? 'field-hint' : 'field-error'}>
        {preview.ok ? (
          <>
            Next runs in your time zone ({LOCAL_ZONE}):{' '}
            {preview.fires.map((at, index) => (
              <span key={at}>
                {index > 0 ? ', ' : ''}
                <TimeText unixMs={at} style="exact" />
              </span>
            ))}
          </>
        ) : (
          preview.problem
        )}
      </p>
    </>
  );
}
