/** What is in the index, namespace by namespace; which of them is searched and written to. */

import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { SearchIndexEntry } from '../../../../everstep/src/contract/search.js';
import { path, request } from '../../api/client.js';
import { useQueueId } from '../../api/instances.js';
import type { ApiFailure } from '../../api/outcome.js';
import { valueIn } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { bytesText, quantity } from '../../components/formats.js';
import { FailureNotice, Skeleton } from '../../components/states.js';

interface Info {
  readonly vectorCount: number;
  readonly indexSize: number;
  readonly namespaces: Readonly<Record<string, { readonly vectorCount: number }>>;
}

export interface NamespacesProps {
  readonly index: SearchIndexEntry;
  /** '' is the one without a name. */
  readonly namespace: string;
  readonly onChoose: (namespace: string) => void;
}

const REFRESH_MS = 10_000;
const UNNAMED = 'The one without a name';

export function Namespaces({ index, namespace, onChoose }: NamespacesProps) {
  const field = useId();
  const queueId = useQueueId();
  const change = useChange();
  const [deleting, setDeleting] = useState(false);
  const [naming, setNaming] = useState('');
  const readOnly = index.token === undefined ? 'Your role may look, but not delete documents' : undefined;
  const { data, error, isPending, refetch } = useQuery<Info, ApiFailure>({
    queryKey: [queueId, 'account', 'search-info', index.id],
    // The operations of an index are all POST, those that only look too.
    queryFn: async ({ signal }) =>
      valueIn(await request<{ readonly result: Info }>(path`/search/${index.id}/info`, { method: 'POST', signal })).result,
    refetchInterval: REFRESH_MS,
  });
  const documents = data?.namespaces[namespace]?.vectorCount ?? 0;
  const named = Object.keys(data?.namespaces ?? {}).filter((name) => name !== '');
  const shown = namespace === '' || named.includes(namespace) ? named : [...named, namespace];
  return (
    <Card
      title="Documents"
      actions={
        <DeedButton
          look="danger"
          small
          off={readOnly ?? (documents === 0 ? 'There are none' : undefined)}
          onClick={() => setDeleting(true)}
        >
          Delete these documents
        </DeedButton>
      }
    >
      {isPending ? (
        <Skeleton lines={3} />
      ) : error && !data ? (
        <FailureNotice failure={error} onRetry={() => void refetch()} />
      ) : data ? (
        <div className="stack">
          <p>
            {quantity(data.vectorCount, 'document')} in {quantity(Object.keys(data.namespaces).length, 'namespace')},{' '}
            {bytesText(data.indexSize)} on disk. The query above and what you put go to the namespace that is chosen here.
          </p>
          <div className="namespace-fields">
            <div className="field">
              <label className="field-label" htmlFor={field}>
                Namespace
              </label>
              <select id={field} className="input" value={namespace} onChange={(event) => onChoose(event.target.value)}>
                {['', ...shown].map((name) => (
                  <option key={name} value={name}>
                    {name === '' ? UNNAMED : name}: {quantity(data.namespaces[name]?.vectorCount ?? 0, 'document')}
                  </option>
                ))}
              </select>
            </div>
            <form
              className="field"
              onSubmit={(event) => {
                event.preventDefault();
                if (naming.trim() !== '') onChoose(naming.trim());
                setNaming('');
              }}
            >
              <label className="field-label" htmlFor={`${field}-new`}>
                A new namespace
              </label>
              <span className="namespace-new">
                <input
                  id={`${field}-new`}
                  className="input"
                  placeholder="It is made with its first document"
                  value={naming}
                  onChange={(event) => setNaming(event.target.value)}
                />
                <button type="submit" className="button" disabled={naming.trim() === ''}>
                  Choose
                </button>
              </span>
            </form>
          </div>
        </div>
      ) : null}
      <ConfirmDialog
        title="Delete the documents of a namespace"
        open={deleting}
        onClose={() => setDeleting(false)}
        confirmText={`Delete ${quantity(documents, 'document')}`}
        danger
        onConfirm={async () => {
          const outcome = await change({
            method: 'POST',
            url: namespace === '' ? path`/search/${index.id}/reset` : path`/search/${index.id}/delete-namespace/${namespace}`,
            topics: ['account'],
            account: true,
            done: `${quantity(documents, 'document')} deleted`,
          });
          if (outcome.ok) onChoose('');
          return outcome;
        }}
      >
        <p>
          {quantity(documents, 'document')} of <strong>{namespace === '' ? 'the namespace without a name' : namespace}</strong> in{' '}
          {index.name} are deleted for good. This cannot be undone.
        </p>
      </ConfirmDialog>
    </Card>
  );
}
