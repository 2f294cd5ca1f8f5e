/** The data of a run's log, read with limits: a long value or list is never completely in memory. */
import type { FailedAttempt, KeptEvent, RecordedStep, RunPayload, RunStatus, Task } from '../../engine/runs/run.js';
import type { RunReference } from '../../engine/writes.js';
import type { Position } from './page.js';
import type { RunRecord } from './run-records.js';

/** A step in a listing. If its result exceeds the requested limit, `out` is null and `outLeftOut` is its size in bytes. */
export interface ListedStep extends RecordedStep {
  readonly outLeftOut?: number;
}

/** A task in a listing. If the long body of a call or invocation was omitted, `bodyLeftOut` is its size in bytes. */
export type ListedTask = Task & { readonly bodyLeftOut?: number };

/** Limits of one part of a long list. A part has at least one row, and can exceed `maxBytes` by one row. */
export interface PartBounds {
  readonly maxRows: number;
  readonly maxBytes: number;
}

/** One part of a long list. */
export interface Part<Item> {
  readonly items: readonly Item[];
  /** Start of the next part; null if there are no more rows. */
  readonly next: Position | null;
}

/**
 * A run with the data that its log shows, as of one moment. Steps, tasks and attempts contain only the first part. `next`
 * contains the positions at which `listSteps`, `listTasks` and `listAttempts` continue.
 */
export interface RunHistory {
  readonly run: RunRecord;
  /** Number of steps in the whole journal. */
  readonly journalLength: number;
  /** Recorded steps, in recorded order. */
  readonly steps: readonly ListedStep[];
  /** Open tasks, by slot. */
  readonly tasks: readonly ListedTask[];
  /** Failed attempts, oldest first. */
  readonly attempts: readonly FailedAttempt[];
  readonly next: {
    readonly steps: Position | null;
    readonly tasks: Position | null;
    readonly attempts: Position | null;
  };
  /** Runs that its steps invoked, by step; at most `LIMITS.maxListedInvocations`. */
  readonly invoked: readonly InvokedRun[];
  readonly keptEvents: readonly Omit<KeptEvent, 'content'>[];
}

export interface InvokedRun extends RunReference {
  readonly stepId: number;
  readonly status: RunStatus;
}

/** A query for the log of a run, with its limits. */
export interface HistoryQuery {
  readonly runKey: string;
  /** Limits of each list. */
  readonly bounds: PartBounds;
  /** Maximum size of a result; longer results are omitted. */
  readonly maxOutBytes: number;
  /** Whether the exchanges of failed attempts and the requests of calls are included. */
  readonly exchanges?: true;
}

/** Size of a journal. */
export interface JournalSize {
  readonly steps: number;
  /** Number of bytes of results and names. */
  readonly bytes: number;
  readonly longestOutBytes: number;
}

/** A payload without its body. */
export interface PayloadHead extends Omit<RunPayload, 'body'> {
  readonly bodyBytes: number;
}

export interface HistoryStore {
  payloadHead(query: { readonly runKey: string }): Promise<PayloadHead | null>;
  /** Returns the result as JSON text; null if the run did not succeed with a value. */
  loadResult(query: { readonly runKey: string }): Promise<string | null>;
  runHistory(query: HistoryQuery): Promise<RunHistory | null>;
  journalSize(query: { readonly runKey: string }): Promise<JournalSize>;
  /** Lists steps. `from` is an index in recorded order. Rows with the index `below` and higher ones are skipped. */
  listSteps(query: HistoryQuery & { readonly from: Position; readonly below?: number }): Promise<Part<ListedStep>>;
  /** Lists open tasks. `from` is a slot. */
  listTasks(
    query: Omit<HistoryQuery, 'maxOutBytes' | 'exchanges'> & { readonly from: Position | null },
  ): Promise<Part<ListedTask>>;
  /**
   * Returns the first open tasks of each of these runs of the instance, by slot, at most `limit` for each. Long bodies are
   * omitted.
   */
  firstTasks(query: {
    readonly instanceId: string;
    readonly runKeys: readonly string[];
    readonly limit: number;
  }): Promise<ReadonlyMap<string, readonly ListedTask[]>>;
  /** Lists failed attempts, starting with the oldest if `from` is null. With `slot`, lists only attempts of this slot. */
  listAttempts(
    query: Omit<HistoryQuery, 'maxOutBytes'> & { readonly from: Position | null; readonly slot?: number },
  ): Promise<Part<FailedAttempt>>;
  /** Returns the step at this position; null if it is not recorded. A result over `maxOutBytes` is omitted. */
  findStep(query: { readonly runKey: string; readonly stepId: number; readonly maxOutBytes: number }): Promise<ListedStep | null>;
}
