/** The dependencies of services that start runs. */
import type { DecisionContext } from '../../engine/ids.js';
import type { StartedRun } from '../../engine/runs/start.js';
import type { CommitResult, CommitUnit, RunReference } from '../../engine/writes.js';
import type { StartPayload } from './run-cache.js';

/** Creates decisions, commits units and drives new runs. */
export interface RunStarts {
  readonly context: () => DecisionContext;
  /** Makes a unit durable. Rejects if the unit may not be durable. */
  readonly commit: (unit: CommitUnit) => Promise<CommitResult>;
  /** Drives a durable run. */
  readonly drive: (startedRun: StartedRun, payload: StartPayload) => void;
}

export const referenceOf = ({ run }: Pick<StartedRun, 'run'>): RunReference => ({
  runKey: run.key,
  workflowRunId: run.workflowRunId,
  createdAt: run.createdAt,
});
