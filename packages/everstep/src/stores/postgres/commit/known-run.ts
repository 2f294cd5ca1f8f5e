/** Runs and dead letters in the state of a batch. */

/** Identifies a run by its instance and its key. */
export interface RunInInstance {
  readonly instanceId: string;
  readonly runKey: string;
}

/** A run that a batch has read or created. */
export interface BatchRun extends RunInInstance {
  isActive: boolean;
  /** Id of the run; empty if the run had ended before the batch, because no guard or write then depends on the id. */
  workflowRunId: string;
  /** Version of an active run: the number of the decision that produced its state. */
  version: number;
  /** Queue of an active message; null if it has none. */
  queue: string | null;
  /** Whether rows of event waiters may exist for the run. */
  mayHaveWaiters: boolean;
  /** Whether the batch created the run. */
  isNew: boolean;
}

/** A run that a batch decides on without reading it. */
export interface ExpectedRun {
  /** The run with its expected version. Whether it has that version is checked later. */
  readonly run: BatchRun;
  /** The version after the last decision of the batch. */
  version: number;
}

/** Expected runs by key. */
export type ExpectedRuns = ReadonlyMap<string, Readonly<ExpectedRun>>;

/** An existing dead letter, with its run. */
export interface BatchDeadLetter extends RunInInstance {
  readonly dlqId: string;
  readonly workflowUrl: string;
  /** Fingerprint of its group; null if it has none. */
  readonly fingerprint: string | null;
}
