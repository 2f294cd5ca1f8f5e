/** Deleting the instance with all its data, after its name was typed. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import type { QueueRecord } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { instancesQuery } from '../../api/instances.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';

export function DeleteDialog({ instance, onClose }: { readonly instance: QueueRecord; readonly onClose: () => void }) {
  const field = useId();
  const [typed, setTyped] = useState('');
  const change = useChange();
  const client = useQueryClient();
  const navigate = useNavigate();
  return (
    <ConfirmDialog
      title={`Delete ${instance.name}`}
      open
      onClose={onClose}
      confirmText="Delete it for good"
      danger
      disabled={typed !== instance.name}
      onConfirm={async () => {
        const outcome = await change({
          method: 'DELETE',
          url: path`/v2/queue/user/${instance.id}`,
          query: { confirm: instance.name },
          topics: ['account'],
          account: true,
          done: `${instance.name} is deleted`,
        });
        if (!outcome.ok) return outcome;
        // Until the list is fetched again it still has the instance, and `/` would lead back to it.
        client.setQueryData(instancesQuery.queryKey, (known) => known?.filter(({ id }) => id !== instance.id));
        void navigate({ to: '/' });
        return outcome;
      }}
    >
      <p>
        All its runs, messages, dead letters, schedules and settings are removed, <strong>and cannot be had back</strong>. Its
        tokens and webhooks are invalid at once, and nothing of it is delivered any more. What was billed, and the audit log,
        stay.
      </p>
      <div className="field">
        <label className="field-label" htmlFor={field}>
          Type {instance.name} to confirm
        </label>
        <input id={field} className="input" autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />
      </div>
    </ConfirmDialog>
  );
}
