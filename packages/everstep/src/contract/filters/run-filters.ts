/** Filters of workflow runs. */
import type { RunStatus } from '../../engine/runs/run.js';
import type { DeadLetterFilter, RunFilter } from '../../ports/stores/filters.js';
import { RUN_STATES, type RunState, WAIT_KINDS } from '../states.js';
import type { FilterTable } from './filter.js';

/** Filters by settings that the run was triggered with. They also apply to dead letters. */
export const TRIGGER_FILTERS = {
  label: {
    kind: 'texts',
    maxLength: 'maxLabelLength',
    field: 'labels',
    description: 'Label of the run',
    label: 'Label',
    option: { flag: '--label <label>', help: 'with this label' },
  },
  flowControlKey: {
    kind: 'texts',
    maxLength: 'maxFlowControlKeyLength',
    comma: 'may-be-inside',
    field: 'flowControlKeys',
    description: 'Flow control key of the run',
    label: 'Flow control key',
    option: { flag: '--flow-control-key <key>', help: 'with this flow control key' },
  },
  callerIp: {
    kind: 'texts',
    maxLength: 'maxIpLength',
    field: 'callerIps',
    description: 'IP address of the publisher',
    label: 'Caller IP',
    option: { flag: '--caller-ip <address>', help: 'triggered from this address' },
  },
} as const satisfies FilterTable<keyof DeadLetterFilter & keyof RunFilter>;

/** Status of a run in each state. */
export const STATUS_OF_STATE = {
  RUN_STARTED: 'active',
  RUN_SUCCESS: 'succeeded',
  RUN_FAILED: 'failed',
  RUN_CANCELED: 'canceled',
} as const satisfies Readonly<Record<RunState, RunStatus>>;

/** Filters of the active runs to cancel, in addition to their ids and URLs. */
export const CANCEL_FILTERS = {
  workflowCreatedAt: {
    kind: 'time',
    field: 'createdAt',
    description: 'Time when the run was created, in Unix milliseconds.',
    option: { flag: '--created-at <instant>', help: 'of the run created at this time' },
  },
  fromDate: {
    kind: 'time',
    field: 'fromDate',
    description: 'Only runs that were created at or after this time, in Unix milliseconds.',
    label: 'Created after',
    option: { flag: '--from <instant>', help: 'at or after this time: Unix ms or a date' },
  },
  toDate: {
    kind: 'time',
    field: 'toDate',
    description: 'Only runs that were created at or before this time, in Unix milliseconds.',
    label: 'Created before',
    option: { flag: '--to <instant>', help: 'at or before this time' },
  },
  ...TRIGGER_FILTERS,
} as const satisfies FilterTable<keyof RunFilter>;

/** Run filters that an index of the store supports. */
export const INDEXED_RUN_FILTERS = {
  workflowRunId: {
    kind: 'text',
    maxLength: 'maxRunIdLength',
    field: 'workflowRunId',
    description: 'Id of the run.',
    label: 'Run id',
    option: { flag: '--run-id <id>', help: 'of this run' },
  },
  workflowUrl: {
    kind: 'texts',
    hasOneValue: true,
    maxLength: 'maxWorkflowUrlLength',
    field: 'workflowUrls',
    description: 'URL of the workflow.',
    label: 'Workflow URL',
    option: { flag: '--workflow-url <url>', help: 'of this workflow' },
  },
  state: {
    kind: 'choices',
    hasOneValue: true,
    values: RUN_STATES,
    stored: STATUS_OF_STATE,
    field: 'statuses',
    description: 'State of the run.',
    label: 'State',
    option: { flag: '--state <state>', help: 'in this state: started, success, failed, canceled' },
  },
  ...CANCEL_FILTERS,
} as const satisfies FilterTable<keyof RunFilter>;

/** Values of the filter by the reason why runs are waiting. */
export const WAITS = ['anything', ...WAIT_KINDS] as const;
export type Wait = (typeof WAITS)[number];

/**
 * Run filters that no index of the store supports. The server checks a limited number of runs per request, so a page can be
 * short before the end of the listing.
 */
export const UNINDEXED_RUN_FILTERS = {
  waitingFor: {
    kind: 'choices',
    values: WAITS,
    field: 'waitingFor',
    description: 'What the active run waits for: one of the kinds of `waiting`, or `anything`',
    label: 'Waiting for',
    option: { flag: '--waiting-for <what>', help: 'that wait for this, such as waiting-for-event, sleeping or anything' },
  },
  minDurationMs: {
    kind: 'duration',
    field: 'minDurationMs',
    description:
      'Only runs that took at least this long, in milliseconds. For active runs, the time since their creation counts.',
    label: 'Took at least',
    option: { flag: '--min-duration <duration>', help: 'that took at least this long, such as 30s or 2h' },
  },
  maxDurationMs: {
    kind: 'duration',
    field: 'maxDurationMs',
    description: 'Only runs that took at most this long, in milliseconds. For active runs, the time since their creation counts.',
    label: 'Took at most',
    option: { flag: '--max-duration <duration>', help: 'that took at most this long' },
  },
} as const satisfies FilterTable;

/** Filters of the run log and of searches. */
export const RUN_FILTERS = { ...INDEXED_RUN_FILTERS, ...UNINDEXED_RUN_FILTERS } as const;
