/** Dialogs that rename, move or delete a search index. */
import { useState } from 'react';
import type { SearchIndexEntry } from '../../../../everstep/src/contract/search.js';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { MoveDialog } from '../../components/teams/move-dialog.js';

export interface IndexDialogProps {
  readonly index: SearchIndexEntry;
  readonly onClose: () => void;
}

export function RenameIndexDialog({ index, onClose }: IndexDialogProps) {
  const [name, setName] = useState(index.name);
  const change = useChange();
  return (
    <ConfirmDialog
      title={`Rename index ${index.name}`}
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
          isManagementCall: true,
          successText: `Renamed the index to ${name.trim()}`,
        })
      }
    >
      <p>Only the display name changes. The API endpoint, id and tokens stay the same. You can rename the index again.</p>
      <TextField label="Name" value={name} onChange={setName} />
    </ConfirmDialog>
  );
}

export const MoveIndexDialog = ({ index, onClose }: IndexDialogProps) => (
  <MoveDialog
    subject="index"
    name={index.name}
    ownerId={index.customer_id}
    url={path`/v2/search/${index.id}/transfer`}
    bodyFor={(teamId) => ({ target_account: teamId })}
    onClose={onClose}
  >
    Its documents and tokens do not change. The team gets access immediately, and everyone else loses it. This cannot be undone:
    an index cannot be moved back to a personal account.
  </MoveDialog>
);

/** Deletes an index. Because this cannot be undone, the user must type its name. */
export function DeleteIndexDialog({ index, onClose, onDeleted }: IndexDialogProps & { readonly onDeleted: () => void }) {
  const [typedName, setTypedName] = useState('');
  const change = useChange();
  return (
    <ConfirmDialog
      title={`Delete index ${index.name}?`}
      open
      onClose={onClose}
      confirmText="Delete index"
      danger
      disabled={typedName.trim() !== index.name}
      onConfirm={async () => {
        const outcome = await change({
          method: 'DELETE',
          url: path`/v2/search/${index.id}`,
          topics: [],
          isManagementCall: true,
          successText: `Deleted index ${index.name}`,
        });
        if (outcome.ok) onDeleted();
        return outcome;
      }}
    >
      <p>Deletes the index with all its namespaces and documents. Its tokens stop working immediately. This cannot be undone.</p>
      <TextField label={`Type ${index.name} to confirm`} autoComplete="off" value={typedName} onChange={setTypedName} />
    </ConfirmDialog>
  );
}
