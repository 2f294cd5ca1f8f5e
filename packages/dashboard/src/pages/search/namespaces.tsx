/** Lists the namespaces of an index and selects the one that is searched and written to. */

import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { SearchIndexEntry } from '../../../../everstep/src/contract/search.js';
import { path, request } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import type { ApiFailure } from '../../api/outcome.js';
import { valueIn } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { Card } from '../../components/card.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { SelectField } from '../../components/fields.js';
import { NotLoaded } from '../../components/loading/loaded.js';
import { bytesText, quantity } from '../../components/times/formats.js';

interface IndexInfo {
  readonly vectorCount: number;
  readonly indexSize: number;
  readonly namespaces: Readonly<Record<string, { readonly vectorCount: number }>>;
}

export interface NamespacesProps {
  readonly index: SearchIndexEntry;
  /** '' is the default namespace. */
  readonly namespace: string;
  readonly onSelect: (namespace: string) => void;
}

const REFRESH_MS = 10_000;
const DEFAULT_NAME = 'Default namespace';

export function Namespaces({ index, namespace, onSelect }: NamespacesProps) {
  const fieldId = useId();
  const instanceId = useInstanceId();
  const change = useChange();
  const [isDeleting, setIsDeleting] = useState(false);
  const [newName, setNewName] = useState('');
  const readOnlyReason = index.access === 'read-write' ? undefined : 'Your role has read-only access to this index';
  const info = useQuery<IndexInfo, ApiFailure>({
    queryKey: [instanceId, 'account', 'search-info', index.id],
    // All operations of an index are POST, including reads.
    queryFn: async ({ signal }) =>
      valueIn(await request<{ readonly result: IndexInfo }>(path`/search/${index.id}/info`, { method: 'POST', signal })).result,
    refetchInterval: REFRESH_MS,
  });
  const { data } = info;
  const documents = data?.namespaces[namespace]?.vectorCount ?? 0;
  const names = Object.keys(data?.namespaces ?? {}).filter((name) => name !== '');
  const shownNames = namespace === '' || names.includes(namespace) ? names : [...names, namespace];
  return (
    <Card
      title="Documents"
      actions={
        <ActionButton
          variant="danger"
          small
          disabledReason={readOnlyReason ?? (documents === 0 ? 'The namespace contains no documents' : undefined)}
          onClick={() => setIsDeleting(true)}
        >
          Delete documents
        </ActionButton>
      }
    >
      {data === undefined ? (
        <NotLoaded query={info} />
      ) : (
        <div className="stack">
          <p>
            {quantity(data.vectorCount, 'document')} in {quantity(Object.keys(data.namespaces).length, 'namespace')},{' '}
            {bytesText(data.indexSize)} on disk. Queries and new documents use the selected namespace.
          </p>
          <div className="namespace-fields">
            <SelectField label="Namespace" value={namespace} onChange={onSelect}>
              {['', ...shownNames].map((name) => (
                <option key={name} value={name}>
                  {name === '' ? DEFAULT_NAME : name}: {quantity(data.namespaces[name]?.vectorCount ?? 0, 'document')}
                </option>
              ))}
            </SelectField>
            <form
              className="field"
              onSubmit={(event) => {
                event.preventDefault();
                if (newName.trim() !== '') onSelect(newName.trim());
                setNewName('');
              }}
            >
              <label className="field-label" htmlFor={`${fieldId}-new`}>
                New namespace
              </label>
              <span className="namespace-new">
                <input
                  id={`${fieldId}-new`}
                  className="input"
                  placeholder="Created with its first document"
                  value={newName}
                  onChange={(event) => setNewName(event.target.value)}
                />
                <button type="submit" className="button" disabled={newName.trim() === ''}>
                  Select
                </button>
              </span>
            </form>
          </div>
        </div>
      )}
      <ConfirmDialog
        title="Delete all documents in this namespace?"
        open={isDeleting}
        onClose={() => setIsDeleting(false)}
        confirmText={`Delete ${quantity(documents, 'document')}`}
        danger
        onConfirm={async () => {
          const outcome = await change({
            method: 'POST',
            url: namespace === '' ? path`/search/${index.id}/reset` : path`/search/${index.id}/delete-namespace/${namespace}`,
            topics: ['account'],
            isManagementCall: true,
            successText: `Deleted ${quantity(documents, 'document')}`,
          });
          if (outcome.ok) onSelect('');
          return outcome;
        }}
      >
        <p>
          Deletes {quantity(documents, 'document')} from <strong>{namespace === '' ? 'the default namespace' : namespace}</strong>{' '}
          of {index.name}. This cannot be undone.
        </p>
      </ConfirmDialog>
    </Card>
  );
}
