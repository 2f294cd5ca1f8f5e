/** Dialogs that move the instance to a team, create another instance or change the plan. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { InstanceRecord, PlanRecord } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useApi, useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { SelectField, TextField } from '../../components/fields.js';
import { MoveDialog } from '../../components/teams/move-dialog.js';
import { OwnerField } from '../../components/teams/team-fields.js';

export interface InstanceDialogProps {
  readonly instance: InstanceRecord;
  readonly onClose: () => void;
}

export const MoveInstanceDialog = ({ instance, onClose }: InstanceDialogProps) => (
  <MoveDialog
    subject="instance"
    name={instance.name}
    ownerId={instance.customer_id}
    url="/v2/queue/move-to-team"
    bodyFor={(teamId) => ({ queue_id: instance.id, target_team_id: teamId })}
    onClose={onClose}
  >
    Its runs, dead letters, schedules and tokens do not change, and runs continue. The team gets access and is billed from now on.
    Other users lose access, but tokens that they know stay valid until you rotate or revoke them. This cannot be undone: the
    instance can be moved to another team, but not to a personal account.
  </MoveDialog>
);

export function CreateInstanceDialog({ region, onClose }: { readonly region: string; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [teamId, setTeamId] = useState('');
  const change = useChange();
  const navigate = useNavigate();
  return (
    <ConfirmDialog
      title="New queue instance"
      open
      onClose={onClose}
      confirmText="Create instance"
      disabled={name.trim() === ''}
      onConfirm={async () => {
        const outcome = await change<InstanceRecord>({
          method: 'POST',
          url: '/v2/queue/users',
          body: { name: name.trim(), region, ...(teamId === '' ? {} : { team_id: teamId }) },
          topics: ['account'],
          isManagementCall: true,
          successText: `Created instance ${name.trim()}`,
        });
        if (outcome.ok) void navigate({ to: '/q/$instanceId/instance', params: { instanceId: outcome.value.id } });
        return outcome;
      }}
    >
      <p>Each instance has its own runs, tokens, signing keys, limits and budget.</p>
      <TextField label="Name" value={name} onChange={setName} />
      <OwnerField value={teamId} onChange={setTeamId} />
    </ConfirmDialog>
  );
}

export function PlanDialog({ instance, onClose }: InstanceDialogProps) {
  const [plan, setPlan] = useState(instance.plan);
  const plans = useApi<readonly PlanRecord[]>({ topic: 'account', name: 'plans', url: '/v2/queue/plans' });
  const change = useChange();
  return (
    <ConfirmDialog
      title={`Change plan of ${instance.name}`}
      open
      onClose={onClose}
      confirmText="Change plan"
      disabled={plan === instance.plan}
      onConfirm={() =>
        change({
          method: 'POST',
          url: path`/v2/queue/set-plan/${instance.id}`,
          body: { plan_name: plan },
          topics: ['account'],
          isManagementCall: true,
          successText: `Changed the plan to ${plan}`,
        })
      }
    >
      <p>The limits of the new plan apply immediately. You can change the plan again at any time.</p>
      <SelectField label="Plan" value={plan} onChange={setPlan}>
        {(plans.data ?? [{ name: instance.plan }]).map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </SelectField>
    </ConfirmDialog>
  );
}
