/** Lists the server processes: one with the embedded store, any number with a database. */
import type { NodeEntry, Nodes } from '../../../../everstep/src/contract/live.js';
import { useApi } from '../../api/queries.js';
import { CopyId } from '../../components/copy-id.js';
import { Loaded } from '../../components/loading/loaded.js';
import { PageTitle } from '../../components/page-title.js';
import { StatusBadge } from '../../components/status-badge.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';

/** Polling interval: leases are renewed constantly and have no live hints. */
const REFRESH_MS = 2_000;

function NodeState({ node }: { readonly node: NodeEntry }) {
  if (node.leaving) return <StatusBadge tone="warn">Shutting down</StatusBadge>;
  if (node.expired) return <StatusBadge tone="bad">Unresponsive</StatusBadge>;
  return <StatusBadge tone="good">Up</StatusBadge>;
}

const COLUMNS: readonly Column<NodeEntry>[] = [
  { id: 'state', header: 'State', width: '136px', stackUnder: 'node', cell: (node) => <NodeState node={node} /> },
  {
    id: 'node',
    header: 'Node',
    width: 'minmax(0, 5fr)',
    cell: (node) => (
      <div className="line">
        <CopyId value={node.nodeId} valueName="node id" />
        {node.self ? <span className="muted">serves this page</span> : null}
      </div>
    ),
  },
  {
    id: 'host',
    header: 'Host',
    sortBy: ({ host }) => host,
    width: 'minmax(0, 2fr)',
    shownFrom: 'medium',
    cell: (node) => <div className="clip">{node.host}</div>,
  },
  {
    id: 'version',
    header: 'Version',
    sortBy: ({ version }) => version,
    width: '92px',
    shownFrom: 'wide',
    cell: (node) => node.version,
  },
  {
    id: 'started',
    header: 'Started',
    sortBy: ({ startedAt }) => startedAt,
    width: '118px',
    stackUnder: 'node',
    cell: (node) => <TimeText unixMs={node.startedAt} label="Started" />,
  },
  {
    id: 'lease',
    header: 'Lease expires',
    width: '118px',
    shownFrom: 'full',
    cell: (node) =>
      node.leaseUntil === null ? (
        <span className="muted">not needed</span>
      ) : (
        <TimeText unixMs={node.leaseUntil} label="Lease expires" />
      ),
  },
  {
    id: 'runs',
    header: 'Deliveries',
    sortBy: ({ runsClaimed }) => runsClaimed,
    width: '96px',
    align: 'right',
    shownFrom: 'medium',
    cell: (node) => countText(node.runsClaimed),
  },
  {
    id: 'gates',
    header: 'Gates',
    sortBy: ({ gates }) => gates,
    width: '92px',
    align: 'right',
    shownFrom: 'full',
    cell: (node) => countText(node.gates),
  },
];

export default function NodesPage() {
  const nodes = useApi<Nodes>({
    topic: 'settings',
    name: 'nodes',
    url: '/v2/nodes',
    refreshMs: REFRESH_MS,
  });
  return (
    <>
      <PageTitle
        title="Nodes"
        lead="Server processes that execute runs. If a node stops responding, another takes over its work once its lease expires."
      />
      <Loaded query={nodes} lines={4} subject="nodes">
        {({ nodes: rows }) => <DataTable label="Nodes" columns={COLUMNS} rows={rows} idOf={({ nodeId }) => nodeId} />}
      </Loaded>
    </>
  );
}
