/** Dialog that deletes the instance with all its data after the user types its name. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { path } from '../../api/client.js';
import { instancesQuery } from '../../api/instances.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import type { InstanceDialogProps } from './instance-dialogs.js';

export function DeleteInstanceDialog({ instance, onClose }: InstanceDialogProps) {
  const [typedName, setTypedName] = useState('');
  const change = useChange();
  const client = useQueryClient();
  const navigate = useNavigate();
  return (
    <ConfirmDialog
      title={`Delete instance ${instance.name}?`}
      open
      onClose={onClose}
      confirmText="Delete permanently"
      danger
      disabled={typedName !== instance.name}
      onConfirm={async () => {
        const outcome = await change({
          method: 'DELETE',
          url: path`/v2/queue/user/${instance.id}`,
          query: { confirm: instance.name },
          topics: ['account'],
          isManagementCall: true,
          successText: `Deleted instance ${instance.name}`,
        });
        if (!outcome.ok) return outcome;
        // The cached list still contains the instance, so `/` would redirect back to it.
        client.setQueryData(instancesQuery.queryKey, (instances) => instances?.filter(({ id }) => id !== instance.id));
        void navigate({ to: '/' });
        return outcome;
      }}
    >
      <p>
        Deletes the instance with all its runs, messages, dead letters, schedules and settings.{' '}
        <strong>This cannot be undone.</strong> Its tokens and webhooks stop working immediately, and nothing more is delivered.
        Billing records and the audit log are retained.
      </p>
      <TextField label={`Type ${instance.name} to confirm`} autoComplete="off" value={typedName} onChange={setTypedName} />
    </ConfirmDialog>
  );
}
