/** The processes that make up the service: one on the embedded store, any number on a database. */
import type { NodeEntry, Nodes } from '../../../../everstep/src/contract/live.js';
import { useApi } from '../../api/queries.js';
import { CopyId } from '../../components/copy-id.js';
import { type Column, DataTable } from '../../components/data-table.js';
import { countText } from '../../components/formats.js';
import { PageTitle } from '../../components/page-title.js';
import { ErrorState, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { TimeText } from '../../components/time-text.js';

/** No hint tells of leases: they are renewed all the time. */
const REFRESH_MS = 2_000;

function State({ node }: { readonly node: NodeEntry }) {
  if (node.leaving) return <StatusBadge tone="warn">Leaving</StatusBadge>;
  if (node.leaseUntil !== null && node.leaseUntil < Date.now()) return <StatusBadge tone="bad">Silent</StatusBadge>;
  return <StatusBadge tone="good">Up</StatusBadge>;
}

const COLUMNS: readonly Column<NodeEntry>[] = [
  { id: 'state', header: 'State', width: '104px', under: 'node', cell: (node) => <State node={node} /> },
  {
    id: 'node',
    header: 'Node',
    width: 'minmax(0, 5fr)',
    cell: (node) => (
      <div className="line">
        <CopyId value={node.nodeId} what="node id" />
        {node.self ? <span className="muted">answers you</span> : null}
      </div>
    ),
  },
  {
    id: 'host',
    header: 'Host',
    width: 'minmax(0, 2fr)',
    from: 'medium',
    cell: (node) => <div className="clip">{node.host}</div>,
  },
  { id: 'version', header: 'Version', width: '92px', from: 'medium', cell: (node) => node.version },
  {
    id: 'started',
    header: 'Since',
    width: '118px',
    under: 'node',
    cell: (node) => <TimeText unixMs={node.startedAt} of="Since" />,
  },
  {
    id: 'lease',
    header: 'Lease until',
    width: '118px',
    from: 'wide',
    cell: (node) =>
      node.leaseUntil === null ? (
        <span className="muted">needs none</span>
      ) : (
        <TimeText unixMs={node.leaseUntil} of="Lease until" />
      ),
  },
  {
    id: 'runs',
    header: 'Deliveries',
    width: '96px',
    align: 'right',
    from: 'medium',
    cell: (node) => countText(node.runsClaimed),
  },
  { id: 'gates', header: 'Limits of', width: '92px', align: 'right', from: 'wide', cell: (node) => countText(node.gates) },
];

export default function NodesPage() {
  const { data, error, isPending, refetch } = useApi<Nodes>({
    topic: 'settings',
    name: 'nodes',
    url: '/v2/nodes',
    refreshMs: REFRESH_MS,
  });
  return (
    <>
      <PageTitle
        title="Nodes"
        lead="The processes that drive the runs. What a silent one had is taken over when its lease has ended."
      />
      {isPending ? (
        <Skeleton lines={4} />
      ) : error && !data ? (
        <ErrorState failure={error} onRetry={() => void refetch()} what="The nodes" />
      ) : data === undefined ? null : (
        <DataTable label="Nodes" columns={COLUMNS} rows={data.nodes} idOf={({ nodeId }) => nodeId} />
      )}
    </>
  );
}
