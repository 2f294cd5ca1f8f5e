/** What the log of a run shows, read within bounds: a long value or list is never in memory as a whole. */
import type { FailedAttempt, KeptEvent, RecordedStep, RunPayload, RunStatus, Task } from '../engine/run.js';
import type { RunReference } from '../engine/writes.js';
import type { Position, RunRecord } from './store.js';

/** `outLeftOut`: bytes of a result that is longer than was asked for; `out` is null then. */
export interface ListedStep extends RecordedStep {
  readonly outLeftOut?: number;
}

/** `bodyLeftOut`: bytes of the detail of a call or an invocation whose body is left out because it is long. */
export type ListedTask = Task & { readonly bodyLeftOut?: number };

/** How far one part of a long list is read. A part has at least one row, and may exceed `maxBytes` by one row. */
export interface PartBounds {
  readonly maxRows: number;
  readonly maxBytes: number;
}

export interface Part<Item> {
  readonly items: readonly Item[];
  /** Where the next part starts; null at the end. */
  readonly next: Position | null;
}

/**
 * A run with what its log shows, as it was at one moment: of steps, tasks and attempts the first part. `next` says where
 * `listSteps`, `listTasks` and `listAttempts` continue.
 */
export interface RunHistory {
  readonly run: RunRecord;
  /** Steps in the whole journal. */
  readonly journalLength: number;
  /** In recorded order. */
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
  /** Runs that steps of it invoked, by step; at most `LIMITS.maxListedInvocations`. */
  readonly invoked: readonly InvokedRun[];
  readonly keptEvents: readonly Omit<KeptEvent, 'content'>[];
}

export interface InvokedRun extends RunReference {
  readonly stepId: number;
  readonly status: RunStatus;
}

export interface HistoryQuery {
  readonly runKey: string;
  /** Of each of the lists. */
  readonly bounds: PartBounds;
  /** A longer result is left out. */
  readonly maxOutBytes: number;
  /** Failed attempts come with their exchanges, and calls with what they sent. */
  readonly exchanges?: true;
}

/** What a journal has in all. */
export interface JournalSize {
  readonly steps: number;
  /** Bytes of the results and of the names. */
  readonly bytes: number;
  readonly longestOutBytes: number;
}

/** A payload without its body. */
export interface PayloadHead extends Omit<RunPayload, 'body'> {
  readonly bodyBytes: number;
}

export interface HistoryStore {
  payloadHead(query: { readonly runKey: string }): Promise<PayloadHead | null>;
  /** JSON text; null when the run did not succeed with a value. */
  loadResult(query: { readonly runKey: string }): Promise<string | null>;
  runHistory(query: HistoryQuery): Promise<RunHistory | null>;
  journalSize(query: { readonly runKey: string }): Promise<JournalSize>;
  /** `from` is an index in the order of recording; `below`: rows with that index and higher ones are left out. */
  listSteps(query: HistoryQuery & { readonly from: Position; readonly below?: number }): Promise<Part<ListedStep>>;
  /** `from` is a slot. */
  listTasks(
    query: Omit<HistoryQuery, 'maxOutBytes' | 'exchanges'> & { readonly from: Position | null },
  ): Promise<Part<ListedTask>>;
  /** `from` null: from the oldest on. `slot`: those of this slot alone. */
  listAttempts(
    query: Omit<HistoryQuery, 'maxOutBytes'> & { readonly from: Position | null; readonly slot?: number },
  ): Promise<Part<FailedAttempt>>;
  /** The step at this position; null when it is not recorded. A longer result is left out. */
  findStep(query: { readonly runKey: string; readonly stepId: number; readonly maxOutBytes: number }): Promise<ListedStep | null>;
}
