/** The runs and dead letters that a batch knows. */

/** A run in its instance. */
export interface RunInInstance {
  readonly instanceId: string;
  readonly runKey: string;
}

/** What a batch knows about a run. */
export interface KnownRun extends RunInInstance {
  isActive: boolean;
  /** Id of the run; empty if it had ended before the batch, because nothing depends on it then. */
  workflowRunId: string;
  /** Version of an active run: the number of the decision that made its state. */
  version: number;
  /** Queue of an active message; null if it has none. */
  queue: string | null;
  /** Whether the run may have waiters. */
  mayHaveWaiters: boolean;
  /** Whether the batch created it. */
  isNew: boolean;
}

/** A run that a batch decides on without reading it. */
export interface ExpectedRun {
  /** The run with its expected version. Whether it has that version is checked later. */
  readonly run: KnownRun;
  /** The version after the last decision of the batch. */
  version: number;
}

/** Expected runs by key. */
export type ExpectedRuns = ReadonlyMap<string, Readonly<ExpectedRun>>;

/** An existing dead letter, with its run. */
export interface KnownDeadLetter extends RunInInstance {
  readonly dlqId: string;
  readonly workflowUrl: string;
  /** Its group; null if it has none. */
  readonly fingerprint: string | null;
}
