/** Filters of the listings of a store. A store that has no column or index for a field does not compile. */
import type { FailureFunctionState, RunStatus } from '../../engine/runs/run.js';

/** Filters of runs. All given filters must match. */
export interface RunFilter {
  /** Kind of the runs; workflow runs if absent. Workflow runs and plain messages are never listed together. */
  readonly kind?: 'workflow' | 'message';
  /** Id of a workflow run; messages have keys. */
  readonly workflowRunId?: string;
  readonly workflowUrls?: readonly string[];
  /** A prefix of the URL, used by bulk cancel. */
  readonly workflowUrlPrefix?: string;
  /** Exact creation time of the run, Unix ms. */
  readonly createdAt?: number;
  readonly statuses?: readonly RunStatus[];
  /** Range of creation times of the run, Unix ms, inclusive. */
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly labels?: readonly string[];
  readonly flowControlKeys?: readonly string[];
  readonly callerIps?: readonly string[];
  readonly runKeys?: readonly string[];
  /** This filter and the following ones apply to messages only and match no workflow run. */
  readonly queues?: readonly string[];
  readonly urlGroups?: readonly string[];
  readonly scheduleIds?: readonly string[];
}

/** Filters of dead letters. All given filters must match. */
export interface DeadLetterFilter {
  /** Kind of the runs; both kinds if absent. */
  readonly kind?: 'workflow' | 'message';
  readonly dlqIds?: readonly string[];
  readonly workflowRunId?: string;
  readonly workflowRunIdPrefix?: string;
  readonly workflowUrls?: readonly string[];
  /** Exact creation time of the run, Unix ms. */
  readonly workflowCreatedAt?: number;
  /** Range of creation times of the entry, that is, of the times when the run failed, Unix ms, inclusive. */
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly labels?: readonly string[];
  readonly failureFunctionStates?: readonly FailureFunctionState[];
  readonly callerIps?: readonly string[];
  readonly flowControlKeys?: readonly string[];
  /** Status of the last response. Entries of versions without messages do not match. */
  readonly responseStatuses?: readonly number[];
  /** Fingerprints of groups. */
  readonly fingerprints?: readonly string[];
  /** Queues of messages. */
  readonly queues?: readonly string[];
  readonly urlGroups?: readonly string[];
  readonly scheduleIds?: readonly string[];
}
