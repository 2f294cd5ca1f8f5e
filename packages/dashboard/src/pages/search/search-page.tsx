/** Lists the search indexes that the user has access to. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { SearchIndexEntry, SearchIndexStatsEntry } from '../../../../everstep/src/contract/search.js';
import { path } from '../../api/client.js';
import { useInstance, useInstanceId } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { NotLoaded } from '../../components/loading/loaded.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState } from '../../components/states.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { OwnerField } from '../../components/teams/team-fields.js';
import { bytesText, countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';

interface Stats {
  readonly indexes: readonly SearchIndexStatsEntry[];
}
interface Row extends SearchIndexEntry {
  readonly stats: SearchIndexStatsEntry | undefined;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'name',
    header: 'Index',
    sortBy: ({ name }) => name,
    width: 'minmax(0, 3fr)',
    isLink: true,
    cell: ({ name }) => (
      <div className="clip" title={name}>
        {name}
      </div>
    ),
  },
  {
    id: 'documents',
    header: 'Documents',
    sortBy: ({ stats }) => stats?.document_count ?? null,
    width: '112px',
    align: 'right',
    cell: ({ stats }) => (stats === undefined ? '…' : countText(stats.document_count)),
  },
  {
    id: 'namespaces',
    header: 'Namespaces',
    sortBy: ({ stats }) => stats?.namespace_count ?? null,
    width: '112px',
    align: 'right',
    shownFrom: 'medium',
    cell: ({ stats }) => (stats === undefined ? '…' : countText(stats.namespace_count)),
  },
  {
    id: 'disk',
    header: 'On disk',
    sortBy: ({ stats }) => stats?.disk_size ?? null,
    width: '96px',
    align: 'right',
    shownFrom: 'medium',
    cell: ({ stats }) => (stats === undefined ? '…' : bytesText(stats.disk_size)),
  },
  {
    id: 'created',
    header: 'Created',
    sortBy: ({ creation_time: at }) => at,
    width: '118px',
    shownFrom: 'medium',
    cell: ({ creation_time: at }) => <TimeText unixMs={at * 1000} />,
  },
];

export default function SearchPage() {
  const instanceId = useInstanceId();
  const [isCreating, setIsCreating] = useState(false);
  const indexes = useApi<readonly SearchIndexEntry[]>({
    topic: 'account',
    name: 'search-indexes',
    url: '/v2/search',
  });
  const stats = useApi<Stats>({ topic: 'account', name: 'search-stats', url: '/v2/search/stats', refreshMs: 10_000 });
  const rows = indexes.data?.map((index) => ({ ...index, stats: stats.data?.indexes.find(({ id }) => id === index.id) }));
  return (
    <>
      <PageTitle
        title="Search indexes"
        lead="Full-text search over documents, with filters on their fields. Indexes belong to an account, not to a queue instance."
        actions={
          <button type="button" className="button button-primary" onClick={() => setIsCreating(true)}>
            New index
          </button>
        }
      />
      {rows === undefined ? (
        <NotLoaded query={indexes} lines={6} subject="search indexes" />
      ) : rows.length === 0 ? (
        <div className="table">
          <EmptyState title="No search indexes">Create an index, add documents, then try a query on the index page.</EmptyState>
        </div>
      ) : (
        <DataTable
          label="Search indexes"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          hrefOf={({ id }) => path`/q/${instanceId}/search/${id}`}
        />
      )}
      {isCreating ? <CreateIndexDialog onClose={() => setIsCreating(false)} /> : null}
    </>
  );
}

function CreateIndexDialog({ onClose }: { readonly onClose: () => void }) {
  const instanceId = useInstanceId();
  const region = useInstance()?.region;
  const [name, setName] = useState('');
  const [teamId, setTeamId] = useState('');
  const navigate = useNavigate();
  const change = useChange();
  return (
    <ConfirmDialog
      title="New search index"
      open
      onClose={onClose}
      confirmText="Create index"
      disabled={name.trim() === '' || region === undefined}
      onConfirm={async () => {
        const outcome = await change<SearchIndexEntry>({
          method: 'POST',
          url: '/v2/search',
          body: { name: name.trim(), region, type: 'payg', ...(teamId === '' ? {} : { team_id: teamId }) },
          topics: ['account'],
          isManagementCall: true,
          successText: `Created index ${name.trim()}`,
        });
        if (outcome.ok)
          void navigate({ to: '/q/$instanceId/search/$indexId', params: { instanceId, indexId: outcome.value.id } });
        return outcome;
      }}
    >
      <TextField label="Name" value={name} onChange={setName} />
      <OwnerField value={teamId} onChange={setTeamId} />
    </ConfirmDialog>
  );
}
