/** API keys of the user, for signing in to the dashboard and for the management API. */
import { useState } from 'react';
import type { ApiKeyEntry } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useApi, useChange } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { Loaded } from '../../components/loading/loaded.js';
import { EmptyState } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { TimeText } from '../../components/times/time-text.js';
import { NewKeyDialog } from './new-key-dialog.js';

export function ApiKeys() {
  const [isCreating, setIsCreating] = useState(false);
  const [name, setName] = useState('');
  const [createdKey, setCreatedKey] = useState<ApiKeyEntry | null>(null);
  const [keyToRevoke, setKeyToRevoke] = useState<ApiKeyEntry | null>(null);
  const change = useChange();
  const apiKeys = useApi<readonly ApiKeyEntry[]>({
    topic: 'account',
    name: 'api-keys',
    url: '/v2/apikeys',
  });
  const columns: readonly Column<ApiKeyEntry>[] = [
    {
      id: 'state',
      header: 'State',
      width: '104px',
      cell: ({ revocation_time: revokedAt }) =>
        revokedAt === undefined ? (
          <StatusBadge tone="good">Active</StatusBadge>
        ) : (
          <div className="cell-lines">
            <StatusBadge tone="quiet">Revoked</StatusBadge>
            <TimeText unixMs={revokedAt * 1000} label="Revoked" />
          </div>
        ),
    },
    { id: 'name', header: 'Name', width: 'minmax(0, 3fr)', cell: (key) => <div className="clip">{key.name}</div> },
    {
      id: 'created',
      header: 'Created',
      width: '118px',
      shownFrom: 'medium',
      cell: ({ creation_time: at }) => <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'actions',
      header: 'Actions',
      width: '92px',
      align: 'right',
      cell: (key) =>
        key.revocation_time === undefined ? (
          <button
            type="button"
            className="button button-small button-danger"
            aria-label={`Revoke ${key.name}`}
            onClick={() => setKeyToRevoke(key)}
          >
            Revoke
          </button>
        ) : null,
    },
  ];
  return (
    <Card
      title="Your API keys"
      flush
      actions={
        <button type="button" className="button button-small" onClick={() => setIsCreating(true)}>
          New key
        </button>
      }
    >
      <Loaded query={apiKeys} lines={2} flush>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No API keys">Use an API key to sign in and to call the management API.</EmptyState>
          ) : (
            <DataTable label="Your API keys" columns={columns} rows={rows} idOf={({ id }) => id} />
          )
        }
      </Loaded>
      <ConfirmDialog
        title="New API key"
        open={isCreating}
        onClose={() => setIsCreating(false)}
        confirmText="Create key"
        disabled={name.trim() === ''}
        onConfirm={async () => {
          const outcome = await change<ApiKeyEntry>({
            method: 'POST',
            url: '/v2/apikeys',
            body: { name: name.trim() },
            topics: ['account'],
            isManagementCall: true,
          });
          if (outcome.ok) {
            setCreatedKey(outcome.value);
            setName('');
          }
          return outcome;
        }}
      >
        <TextField label="Name" value={name} onChange={setName} />
      </ConfirmDialog>
      {createdKey?.api_key === undefined ? null : (
        <NewKeyDialog title={`API key ${createdKey.name}`} apiKey={createdKey.api_key} onClose={() => setCreatedKey(null)} />
      )}
      <ConfirmDialog
        title={`Revoke API key ${keyToRevoke?.name ?? ''}?`}
        open={keyToRevoke !== null}
        onClose={() => setKeyToRevoke(null)}
        confirmText="Revoke key"
        danger
        onConfirm={() =>
          change({
            method: 'DELETE',
            url: path`/v2/apikeys/${keyToRevoke?.id ?? ''}`,
            topics: ['account'],
            isManagementCall: true,
            successText: `Revoked API key ${keyToRevoke?.name ?? ''}`,
          })
        }
      >
        <p>
          Requests with this key are rejected immediately, and sessions that were started with it end. This cannot be undone. If
          you signed in with this key, you are signed out.
        </p>
      </ConfirmDialog>
    </Card>
  );
}
