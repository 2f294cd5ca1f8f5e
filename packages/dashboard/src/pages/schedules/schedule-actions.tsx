/** What can be done with a schedule. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ScheduleEntry } from '../../../../everstep/src/contract/schedules.js';
import { path } from '../../api/client.js';
import { useMay, useQueueId } from '../../api/instances.js';
import { useChange } from '../../api/queries.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';

type Asked = 'run' | 'delete';

export function ScheduleActions({ schedule }: { readonly schedule: ScheduleEntry }) {
  const { scheduleId, isPaused, destination } = schedule;
  const { readOnly } = useMay();
  const queueId = useQueueId();
  const navigate = useNavigate();
  const change = useChange();
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = () => setAsked(null);
  const pause = () =>
    void change({
      method: 'PATCH',
      url: path`/v2/schedules/${scheduleId}/${isPaused ? 'resume' : 'pause'}`,
      topics: ['schedules'],
      done: isPaused ? 'The schedule ticks again' : 'The schedule is paused',
      tellFailure: true,
    });
  return (
    <>
      <DeedButton off={readOnly} onClick={() => setAsked('run')}>
        Run now
      </DeedButton>
      <DeedButton off={readOnly} onClick={pause}>
        {isPaused ? 'Resume' : 'Pause'}
      </DeedButton>
      <DeedButton look="danger" off={readOnly} onClick={() => setAsked('delete')}>
        Delete
      </DeedButton>
      <ConfirmDialog
        title="Run it now"
        open={asked === 'run'}
        onClose={close}
        confirmText="Run now"
        onConfirm={() =>
          change({
            method: 'POST',
            url: path`/v2/schedules/${scheduleId}/run`,
            topics: ['schedules', 'runs'],
            done: 'A run was started',
          })
        }
      >
        <p>
          One run of <span className="mono">{destination}</span> is started at once, with the payload of the schedule. Its ticks
          stay as they are.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        title="Delete this schedule"
        open={asked === 'delete'}
        onClose={close}
        confirmText="Delete schedule"
        danger
        onConfirm={async () => {
          const outcome = await change({
            method: 'DELETE',
            url: path`/v2/schedules/${scheduleId}`,
            topics: ['schedules'],
            done: `The schedule ${scheduleId} is deleted`,
          });
          if (outcome.ok) void navigate({ to: '/q/$queueId/schedules', params: { queueId } });
          return outcome;
        }}
      >
        <p>
          <span className="mono">{scheduleId}</span> starts no more runs. Those that it has started go on. This cannot be undone.
        </p>
      </ConfirmDialog>
    </>
  );
}
