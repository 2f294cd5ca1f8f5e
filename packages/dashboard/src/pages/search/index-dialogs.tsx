/** What can be done with a search index as a whole. */
import { useId, useState } from 'react';
import type { TeamEntry } from '../../../../everstep/src/contract/management.js';
import type { SearchIndexEntry } from '../../../../everstep/src/contract/search.js';
import { path } from '../../api/client.js';
import { useApi, useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';

export interface IndexDialogProps {
  readonly index: SearchIndexEntry;
  readonly onClose: () => void;
}

export function RenameDialog({ index, onClose }: IndexDialogProps) {
  const field = useId();
  const [name, setName] = useState(index.name);
  const change = useChange();
  return (
    <ConfirmDialog
      title={`Rename ${index.name}`}
      open
      onClose={onClose}
      confirmText="Rename"
      disabled={name.trim() === '' || name.trim() === index.name}
      onConfirm={() =>
        change({
          method: 'POST',
          url: path`/v2/search/${index.id}/rename`,
          body: { name: name.trim() },
          topics: ['account'],
          account: true,
          done: `The index is called ${name.trim()}`,
        })
      }
    >
      <p>The name is for people: its address, its id and its tokens stay.</p>
      <div className="field">
        <label className="field-label" htmlFor={field}>
          Name
        </label>
        <input id={field} className="input" value={name} onChange={(event) => setName(event.target.value)} />
      </div>
    </ConfirmDialog>
  );
}

export function TransferDialog({ index, onClose }: IndexDialogProps) {
  const field = useId();
  const [teamId, setTeamId] = useState('');
  const teams = useApi<readonly TeamEntry[]>({ topic: 'account', name: 'teams', url: '/v2/teams' });
  const change = useChange();
  const others = teams.data?.filter((team) => team.customer_id !== index.customer_id) ?? [];
  return (
    <ConfirmDialog
      title={`Transfer ${index.name} to a team`}
      open
      onClose={onClose}
      confirmText="Transfer it"
      danger
      disabled={teamId === ''}
      onConfirm={() =>
        change({
          method: 'POST',
          url: path`/v2/search/${index.id}/transfer`,
          body: { target_account: teamId },
          topics: ['account'],
          account: true,
          done: `${index.name} belongs to the team`,
        })
      }
    >
      <p>
        With all its documents; its tokens stay good. From that moment the team sees it, and who is not in the team sees it no
        more. It cannot be given back to a personal account.
      </p>
      <div className="field">
        <label className="field-label" htmlFor={field}>
          Team
        </label>
        <select id={field} className="input" value={teamId} onChange={(event) => setTeamId(event.target.value)}>
          <option value="">{others.length === 0 ? 'You are in no other team' : 'Choose one'}</option>
          {others.map((team) => (
            <option key={team.id} value={team.id}>
              {team.name}
            </option>
          ))}
        </select>
      </div>
    </ConfirmDialog>
  );
}

/** What cannot be undone is confirmed by typing the name. */
export function DeleteDialog({ index, onClose, onDeleted }: IndexDialogProps & { readonly onDeleted: () => void }) {
  const field = useId();
  const [typed, setTyped] = useState('');
  const change = useChange();
  return (
    <ConfirmDialog
      title={`Delete ${index.name}`}
      open
      onClose={onClose}
      confirmText="Delete the index"
      danger
      disabled={typed.trim() !== index.name}
      onConfirm={async () => {
        const outcome = await change({
          method: 'DELETE',
          url: path`/v2/search/${index.id}`,
          topics: [],
          account: true,
          done: `${index.name} is deleted`,
        });
        if (outcome.ok) onDeleted();
        return outcome;
      }}
    >
      <p>All its namespaces and documents are deleted for good, and its tokens open nothing any more. This cannot be undone.</p>
      <div className="field">
        <label className="field-label" htmlFor={field}>
          Type its name to confirm
        </label>
        <input id={field} className="input" autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />
      </div>
    </ConfirmDialog>
  );
}
