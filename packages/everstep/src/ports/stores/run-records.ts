/** Runs as the logs and listings of a store return them. */
import type { RunIdentity, RunSettings, RunStatus } from '../../engine/runs/run.js';
import type { RunReference } from '../../engine/writes.js';
import type { Position } from './page.js';

/** A result that is omitted because it exceeds `LIMITS.maxInlineBytes`. `withFullResult` reads it. */
export interface OmittedResult {
  readonly omittedBytes: number;
}

/** A run as the logs show it. */
export interface RunRecord extends RunIdentity {
  readonly settings: RunSettings;
  readonly status: RunStatus;
  readonly completedAt: number | null;
  /** Result as JSON text; null if the run did not succeed with a value. */
  readonly result: string | OmittedResult | null;
  /** Error text, if the run failed. */
  readonly error: string | null;
  /** Id of its current DLQ entry; null if it has none. */
  readonly dlqId: string | null;
  /** The run that its DLQ entry was resumed or restarted as; null if there is none. */
  readonly recoveredAs: (RunReference & { readonly kind: 'resume' | 'restart' }) | null;
}

/** A run with its whole result. */
export interface FullRunRecord extends RunRecord {
  readonly result: string | null;
}

/** A run in a listing, with its position. */
export interface ListedRun extends RunRecord {
  readonly position: Position;
}

/** The searchable properties of a run. */
export interface SearchableRun {
  readonly runKey: string;
  readonly workflowRunId: string;
  /** Time when the run was created, Unix ms. */
  readonly createdAt: number;
  /** Time when the run ended, Unix ms; null while the run is active. */
  readonly completedAt: number | null;
  readonly workflowUrl: string;
  readonly labels: readonly string[];
  /** Error text, if the run failed. */
  readonly error: string | null;
  /** Position of the run in the listing. */
  readonly position: Position;
}
