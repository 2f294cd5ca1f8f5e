/** All metrics of the server, except those about the Node process. docs/operations/metrics.md lists the same metrics. */

export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels?: readonly string[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

const SHORT_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const SYNC_BUCKETS_S = [0.000_1, 0.000_25, 0.000_5, ...SHORT_BUCKETS_S];
const DELIVERY_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900];
const LONG_BUCKETS_S = [0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400, 604_800];

export const METRICS = {
  // runs
  everstep_runs_started_total: { type: 'counter', help: 'Workflow runs created.', labels: ['workflow'] },
  everstep_runs_ended_total: { type: 'counter', help: 'Workflow runs that have ended, by state.', labels: ['workflow', 'state'] },
  everstep_run_duration_seconds: {
    type: 'histogram',
    help: 'Time from the creation of a run to its end.',
    labels: ['state'],
    buckets: LONG_BUCKETS_S,
  },
  everstep_runs_active: { type: 'gauge', help: 'Active runs and messages, across all nodes.' },
  everstep_messages_published_total: { type: 'counter', help: 'Plain messages accepted.' },
  everstep_messages_ended_total: { type: 'counter', help: 'Plain messages that have ended, by state.', labels: ['state'] },
  everstep_steps_recorded_total: { type: 'counter', help: 'Step results recorded, by type of step.', labels: ['type'] },
  everstep_attempts_failed_total: {
    type: 'counter',
    help: 'Failed attempts of steps, calls and messages, by cause.',
    labels: ['cause', 'retried'],
  },
  // dead letters
  everstep_dead_letters: { type: 'gauge', help: 'Entries in the dead letter queue, across all nodes.' },
  everstep_error_groups: {
    type: 'gauge',
    help: 'Groups of dead letters by state: new, regressed, snooze-ended or snoozed, across all nodes.',
    labels: ['state'],
  },
  everstep_dead_letters_added_total: { type: 'counter', help: 'Entries added to the dead letter queue.' },
  everstep_dead_letters_removed_total: {
    type: 'counter',
    help: 'Entries removed from the dead letter queue: resume, restart or delete.',
    labels: ['action'],
  },
  everstep_failure_callbacks_total: {
    type: 'counter',
    help: 'Failure callbacks and failure functions that have ended, by result.',
    labels: ['result'],
  },
  // deliveries
  everstep_deliveries_total: {
    type: 'counter',
    help: 'Requests to apps and other destinations. The outcome is the class of the status, such as 2xx, or the cause of a failure.',
    labels: ['kind', 'transport', 'outcome'],
  },
  everstep_delivery_duration_seconds: {
    type: 'histogram',
    help: 'Duration of a request to an app or another destination, including its response.',
    labels: ['kind', 'transport'],
    buckets: DELIVERY_BUCKETS_S,
  },
  everstep_delivery_wait_seconds: {
    type: 'histogram',
    help: 'Time from when a delivery was due until it was sent.',
    buckets: SHORT_BUCKETS_S,
  },
  everstep_deliveries_in_flight: { type: 'gauge', help: 'Requests in flight on this node.' },
  everstep_deliveries_waiting: { type: 'gauge', help: 'Due deliveries that wait for a slot on this node.' },
  everstep_flow_control_waiting: {
    type: 'gauge',
    help: 'Deliveries that wait for a flow control key on this node.',
    labels: ['key'],
  },
  everstep_flow_control_in_flight: {
    type: 'gauge',
    help: 'Deliveries in flight for a flow control key on this node.',
    labels: ['key'],
  },
  everstep_queue_waiting: { type: 'gauge', help: 'Messages that wait in a queue on this node.', labels: ['queue'] },
  everstep_oldest_waiting_seconds: {
    type: 'gauge',
    help: 'Age of the delivery that has waited longest for a flow control key or in a queue on this node.',
    labels: ['where', 'name'],
  },
  // workers
  everstep_workers_connected: { type: 'gauge', help: 'Connections of workers on this node.', labels: ['app'] },
  everstep_worker_places: {
    type: 'gauge',
    help: 'Requests that the connected workers can handle at the same time.',
    labels: ['app'],
  },
  everstep_worker_requests_in_flight: { type: 'gauge', help: 'Requests in flight at workers.', labels: ['app'] },
  // schedules
  everstep_schedule_ticks_total: {
    type: 'counter',
    help: 'Scheduled times at which a run was started or skipped.',
    labels: ['result'],
  },
  everstep_schedule_delay_seconds: {
    type: 'histogram',
    help: 'Time from a scheduled time until its run was started.',
    buckets: LONG_BUCKETS_S,
  },
  // store
  everstep_commits_total: { type: 'counter', help: 'Transactions of the store, by result.', labels: ['result'] },
  everstep_commit_duration_seconds: {
    type: 'histogram',
    help: 'Time until a transaction is durable.',
    buckets: SHORT_BUCKETS_S,
  },
  everstep_fsync_duration_seconds: {
    type: 'histogram',
    help: 'Time to sync the log of the embedded store to the disk (fdatasync).',
    buckets: SYNC_BUCKETS_S,
  },
  everstep_database_commit_duration_seconds: {
    type: 'histogram',
    help: 'Round trip of a COMMIT to PostgreSQL, including the last statements of its transaction.',
    buckets: SYNC_BUCKETS_S,
  },
  everstep_commit_units: {
    type: 'histogram',
    help: 'Changes to runs or settings in one transaction.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  },
  everstep_store_errors_total: {
    type: 'counter',
    help: 'Failed calls to the store, by operation, including commits.',
    labels: ['operation'],
  },
  everstep_store_accepts_writes: { type: 'gauge', help: '1 while the store accepts writes, otherwise 0.' },
  everstep_store_bytes: { type: 'gauge', help: 'Size of the database.' },
  // search
  everstep_search_operations_total: {
    type: 'counter',
    help: 'Operations on the documents of search indexes, by result.',
    labels: ['operation', 'result'],
  },
  everstep_search_duration_seconds: {
    type: 'histogram',
    help: 'Duration of an operation on the documents of search indexes.',
    labels: ['operation'],
    buckets: SHORT_BUCKETS_S,
  },
  // service
  everstep_spans_total: {
    type: 'counter',
    help: 'Spans, by result: exported, dropped (the queue was full) or failed (the receiver did not accept them).',
    labels: ['result'],
  },
  everstep_http_requests_total: {
    type: 'counter',
    help: 'Requests to the HTTP API, by route and status.',
    labels: ['method', 'route', 'status'],
  },
  everstep_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Duration of a request to the HTTP API.',
    labels: ['method', 'route'],
    buckets: SHORT_BUCKETS_S,
  },
  everstep_nodes: { type: 'gauge', help: 'Nodes of the cluster, by state: active, leaving or expired.', labels: ['state'] },
  everstep_nodes_lost_total: {
    type: 'counter',
    help: 'Nodes whose work this node has taken over, because their leases expired.',
  },
  everstep_lease_seconds: {
    type: 'gauge',
    help: 'Time until the lease of this node expires; absent without a cluster.',
    labels: ['node'],
  },
  everstep_info: { type: 'gauge', help: 'Always 1. The labels describe this process.', labels: ['version', 'store', 'node'] },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricName = keyof typeof METRICS;
type NameOf<Type extends MetricDefinition['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[MetricName];
export type CounterName = NameOf<'counter'>;
export type GaugeName = NameOf<'gauge'>;
export type HistogramName = NameOf<'histogram'>;
/** Values of the labels of a metric. */
export type LabelsOf<Name extends MetricName> = (typeof METRICS)[Name] extends {
  readonly labels: readonly (infer Label extends string)[];
}
  ? Readonly<Record<Label, string>>
  : Readonly<Record<never, string>>;
