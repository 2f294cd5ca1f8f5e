/** Actions on a schedule. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ScheduleEntry } from '../../../../everstep/src/contract/schedules.js';
import { path } from '../../api/client.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import { useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { EditScheduleDialog } from './edit-schedule-dialog.js';

type OpenDialog = 'run' | 'edit' | 'delete';

export function ScheduleActions({ schedule }: { readonly schedule: ScheduleEntry }) {
  const { scheduleId, isPaused, destination } = schedule;
  const { readOnlyReason } = usePermissions();
  const instanceId = useInstanceId();
  const navigate = useNavigate();
  const change = useChange();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const togglePause = () =>
    void change({
      method: 'PATCH',
      url: path`/v2/schedules/${scheduleId}/${isPaused ? 'resume' : 'pause'}`,
      topics: ['schedules'],
      successText: isPaused ? 'Resumed the schedule' : 'Paused the schedule',
      showFailure: true,
    });
  return (
    <>
      <ActionButton disabledReason={readOnlyReason} onClick={() => setDialog('run')}>
        Run now
      </ActionButton>
      <ActionButton disabledReason={readOnlyReason} onClick={() => setDialog('edit')}>
        Edit
      </ActionButton>
      <ActionButton disabledReason={readOnlyReason} onClick={togglePause}>
        {isPaused ? 'Resume' : 'Pause'}
      </ActionButton>
      <ActionButton variant="danger" disabledReason={readOnlyReason} onClick={() => setDialog('delete')}>
        Delete
      </ActionButton>
      {dialog === 'edit' ? <EditScheduleDialog schedule={schedule} onClose={close} /> : null}
      <ConfirmDialog
        title="Run now?"
        open={dialog === 'run'}
        onClose={close}
        confirmText="Run now"
        onConfirm={() =>
          change({
            method: 'POST',
            url: path`/v2/schedules/${scheduleId}/run`,
            topics: ['schedules', 'runs'],
            successText: 'Started the schedule once',
          })
        }
      >
        <p>
          Sends the payload of the schedule to <span className="mono">{destination}</span> now, or after the delay of the schedule
          if it has one. This cannot be undone, but you can cancel what it starts. The times of the schedule do not change.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        title="Delete this schedule?"
        open={dialog === 'delete'}
        onClose={close}
        confirmText="Delete schedule"
        danger
        onConfirm={async () => {
          const outcome = await change({
            method: 'DELETE',
            url: path`/v2/schedules/${scheduleId}`,
            topics: ['schedules'],
            successText: `Deleted schedule ${scheduleId}`,
          });
          if (outcome.ok) void navigate({ to: '/q/$instanceId/schedules', params: { instanceId } });
          return outcome;
        }}
      >
        <p>
          <span className="mono">{scheduleId}</span> will not start any more runs. Runs that it has started continue. This cannot
          be undone.
        </p>
      </ConfirmDialog>
    </>
  );
}
