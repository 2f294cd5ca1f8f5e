/** Lists the connected workers, and the workflows whose deliveries wait for a worker. */
import { useId } from 'react';
import type { UnservedWorkflow, WorkerEntry } from '../../../../everstep/src/contract/workers/workers.js';
import { useCompleteList } from '../../api/complete-list.js';
import { MAX_SHOWN_WORKERS, useWorkers } from '../../api/workers.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { CompleteListView } from '../../components/tables/complete-list-view.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { UrlText } from '../../components/url-text.js';
import './workers.css';

const EXAMPLE = `import { connect } from '@everstep/sdk';
const worker = connect({ app: 'shop', workflows: { order } });
await worker.connected;`;

function WorkflowNames({ worker: { workflows, workflowCount } }: { readonly worker: WorkerEntry }) {
  const hiddenCount = workflowCount - workflows.length;
  const text = `${workflows.join(', ')}${hiddenCount > 0 ? ` and ${countText(hiddenCount)} more` : ''}`;
  return (
    <div className="clip" title={text}>
      {text}
    </div>
  );
}

const COLUMNS: readonly Column<WorkerEntry>[] = [
  {
    id: 'state',
    header: 'State',
    width: '120px',
    stackUnder: 'app',
    cell: ({ draining }) =>
      draining ? <StatusBadge tone="warn">Draining</StatusBadge> : <StatusBadge tone="good">Connected</StatusBadge>,
  },
  {
    id: 'app',
    header: 'App',
    sortBy: ({ app }) => app,
    width: 'minmax(0, 3fr)',
    cell: ({ app }) => (
      <div className="clip mono" title={app}>
        {app}
      </div>
    ),
  },
  {
    id: 'workflows',
    header: 'Workflows',
    width: 'minmax(0, 5fr)',
    stackUnder: 'app',
    cell: (worker) => <WorkflowNames worker={worker} />,
  },
  {
    id: 'host',
    header: 'Host',
    sortBy: ({ host = null }) => host,
    width: 'minmax(0, 3fr)',
    shownFrom: 'medium',
    cell: ({ host, workerId, sdk, nodeId }) => (
      <div className="clip" title={`Worker ${workerId}, ${sdk}, connected to node ${nodeId}`}>
        {host ?? <span className="muted">unknown</span>}
      </div>
    ),
  },
  {
    id: 'version',
    header: 'Version',
    sortBy: ({ version = null }) => version,
    width: '92px',
    shownFrom: 'full',
    stackUnder: 'host',
    cell: ({ version }) => <div className="clip">{version}</div>,
  },
  {
    id: 'since',
    header: 'Connected',
    width: '118px',
    stackUnder: 'app',
    cell: ({ connectedAt }) => <TimeText unixMs={connectedAt} label="Connected" />,
  },
  {
    id: 'load',
    header: 'In flight',
    sortBy: ({ inFlight }) => inFlight,
    width: '104px',
    align: 'right',
    shownFrom: 'medium',
    cell: ({ inFlight, maxConcurrency }) => `${countText(inFlight)} of ${countText(maxConcurrency)}`,
  },
  {
    id: 'error',
    header: 'Last error',
    width: 'minmax(0, 3fr)',
    shownFrom: 'full',
    stackUnder: 'app',
    cell: ({ lastError }) => (
      <div className="clip" title={lastError}>
        {lastError}
      </div>
    ),
  },
];

const UNSERVED_COLUMNS: readonly Column<UnservedWorkflow>[] = [
  { id: 'workflow', header: 'Workflow', width: 'minmax(0, 4fr)', cell: ({ workflowUrl }) => <UrlText url={workflowUrl} /> },
  {
    id: 'since',
    header: 'No worker since',
    width: '140px',
    stackUnder: 'workflow',
    cell: ({ since }) => <TimeText unixMs={since} label="No worker since" />,
  },
  {
    id: 'waiting',
    header: 'Waiting',
    width: '104px',
    align: 'right',
    cell: ({ waitListSize }) => countText(waitListSize),
  },
];

const idOf = ({ connectionId }: WorkerEntry): string => connectionId;

function NoWorkers() {
  return (
    <>
      <EmptyState title="No worker is connected">
        An app can serve its workflows over a connection that it opens, so it does not need its own address. Its workflows have
        URLs such as <code>worker://shop/order</code>.
      </EmptyState>
      <pre className="connect-example">{EXAMPLE}</pre>
    </>
  );
}

/** Workflows without a worker. The section is last on the page, because it appears and grows. */
function Unserved({ rows }: { readonly rows: readonly UnservedWorkflow[] }) {
  const heading = useId();
  if (rows.length === 0) return null;
  return (
    <section className="workers-unserved" aria-labelledby={heading}>
      <h2 id={heading}>Waiting for a worker</h2>
      <p className="muted">No connected worker serves these workflows. Their deliveries wait without using up retries.</p>
      <DataTable label="Waiting for a worker" columns={UNSERVED_COLUMNS} rows={rows} idOf={({ workflowUrl }) => workflowUrl} />
    </section>
  );
}

export default function WorkersPage() {
  const workers = useWorkers();
  const list = useCompleteList({ topic: 'settings', rows: workers.data?.workers, readAt: workers.dataUpdatedAt, idOf });
  return (
    <>
      <PageTitle title="Workers" lead="Apps that serve workflows over a connection that they open to this server." />
      <CompleteListView
        label="Workers"
        rowsName="connections"
        query={workers}
        list={list}
        columns={COLUMNS}
        idOf={idOf}
        countNote={workers.data?.cursor === undefined ? null : `; only the first ${MAX_SHOWN_WORKERS} are listed`}
        empty={<NoWorkers />}
      />
      <Unserved rows={workers.data?.unserved ?? []} />
    </>
  );
}
