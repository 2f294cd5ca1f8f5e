/** Page of one flow control key: its limits, their usage, and the waiting deliveries in order. */
import { Link, useParams } from '@tanstack/react-router';
import type { FlowControlEntry, FlowControlWaiter, FlowControlWaitList } from '../../../../everstep/src/contract/service.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { Loaded, NotLoaded } from '../../components/loading/loaded.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState } from '../../components/states.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { countText, quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { KeyActions } from './key-actions.js';
import { KeyState, REFRESH_MS } from './key-state.js';
import { ParallelismUsage, RateUsage } from './usage.js';

/** Maximum number of entries that the server lists. */
const MAX_SHOWN = 100;

export default function FlowControlKeyPage() {
  const instanceId = useInstanceId();
  const { key = '' } = useParams({ strict: false });
  const entry = useApi<FlowControlEntry>({
    topic: 'flow-control',
    name: 'key',
    url: path`/v2/flowControl/${key}`,
    refreshMs: REFRESH_MS,
  });
  const waiting = useApi<FlowControlWaitList>({
    topic: 'flow-control',
    name: 'waiting',
    url: path`/v2/flowControl/${key}/waiting`,
    query: { count: MAX_SHOWN },
    refreshMs: REFRESH_MS,
  });
  const columns: readonly Column<FlowControlWaiter>[] = [
    { id: 'place', header: 'Position', width: '80px', align: 'right', cell: ({ place }) => countText(place) },
    {
      id: 'run',
      header: 'Run',
      width: 'minmax(0, 3fr)',
      cell: ({ kind, workflowRunId, workflowCreatedAt }) =>
        kind === 'message' ? (
          <span className="clip mono run-link" title={workflowRunId}>
            {workflowRunId} <span className="muted">message</span>
          </span>
        ) : (
          <Link
            className="clip mono run-link"
            title={workflowRunId}
            to="/q/$instanceId/runs/$runId"
            params={{ instanceId, runId: workflowRunId }}
            search={{ createdAt: String(workflowCreatedAt) }}
          >
            {workflowRunId}
          </Link>
        ),
    },
    {
      id: 'step',
      header: 'Step',
      width: 'minmax(0, 2fr)',
      shownFrom: 'medium',
      cell: ({ stepName }) => <div className="clip">{stepName ?? 'workflow code'}</div>,
    },
    {
      id: 'workflow',
      header: 'Workflow',
      width: 'minmax(0, 3fr)',
      shownFrom: 'wide',
      cell: ({ workflowUrl }) => (
        <div className="clip" title={workflowUrl}>
          {workflowUrl}
        </div>
      ),
    },
    { id: 'since', header: 'Waiting since', width: '118px', cell: ({ since }) => <TimeText unixMs={since} /> },
  ];
  const { data } = entry;
  if (data === undefined)
    return (
      <>
        <PageTitle title={key} />
        <NotLoaded query={entry} lines={6} subject="this key" />
      </>
    );
  return (
    <>
      <PageTitle title={key} lead="Flow control key" actions={<KeyActions entry={data} />}>
        <span className="mono">{key}</span>
      </PageTitle>
      <div className="flow-facts">
        <div className="card card-body stack">
          <h2>State</h2>
          <span>
            <KeyState entry={data} />
          </span>
          <span>{quantity(data.waitListSize, 'delivery', 'deliveries')} waiting</span>
        </div>
        <div className="card card-body stack">
          <h2>Parallelism</h2>
          <ParallelismUsage entry={data} />
          {data.isPinnedParallelism ? <span className="muted">pinned</span> : null}
        </div>
        <div className="card card-body stack">
          <h2>Rate</h2>
          <RateUsage entry={data} />
          {data.ratePeriodStart === undefined ? null : (
            <span className="muted">
              Period started <TimeText unixMs={data.ratePeriodStart * 1000} />
            </span>
          )}
          {data.isPinnedRate ? <span className="muted">pinned</span> : null}
        </div>
      </div>
      <div className="section-head">
        <h2>Waiting deliveries</h2>
      </div>
      <Loaded query={waiting} lines={4}>
        {({ waiting: rows, waitListSize }) =>
          rows.length === 0 ? (
            <div className="table">
              <EmptyState title="No deliveries are waiting for this key" />
            </div>
          ) : (
            <DataTable
              label="Waiting deliveries"
              columns={columns}
              rows={rows}
              idOf={({ place }) => String(place)}
              footer={
                waitListSize > rows.length ? (
                  <span>
                    First {countText(rows.length)} of {countText(waitListSize)} shown
                  </span>
                ) : undefined
              }
            />
          )
        }
      </Loaded>
    </>
  );
}
