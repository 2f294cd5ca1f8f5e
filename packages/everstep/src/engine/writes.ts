/** The writes of a decision: intents, not rows. A unit is atomic: if one of its guards fails, none of its writes happen. */
import { ACCOUNT_WRITE_FACTS, type AccountWrite } from './writes/account-writes.js';
import { ALERT_WRITE_FACTS, type AlertWrite } from './writes/alert-writes.js';
import { CONTROL_WRITE_FACTS, type ControlWrite } from './writes/control-writes.js';
import { DEAD_LETTER_WRITE_FACTS, type DeadLetterWrite } from './writes/dead-letter-writes.js';
import type { Aggregate, GuardFacts, GuardFactsOf, WriteFacts, WriteFactsOf } from './writes/facts.js';
import { GUARD_FACTS, type StoreGuard } from './writes/guards.js';
import { RUN_WRITE_FACTS, type RunWrite } from './writes/run-writes.js';

export type { AuditNote, AuditRequest, DailyCount, DayCountKind } from './writes/account-writes.js';
export type { ControlWrite } from './writes/control-writes.js';
export type { StoreGuard } from './writes/guards.js';

/** One change in the store. */
export type StoreWrite = RunWrite | DeadLetterWrite | ControlWrite | AccountWrite | AlertWrite;

const FACTS_BY_KIND = {
  ...RUN_WRITE_FACTS,
  ...DEAD_LETTER_WRITE_FACTS,
  ...CONTROL_WRITE_FACTS,
  ...ACCOUNT_WRITE_FACTS,
  ...ALERT_WRITE_FACTS,
} satisfies WriteFactsOf<StoreWrite>;

type Facts = typeof FACTS_BY_KIND;
type KindOf<Name extends Aggregate> = {
  [Kind in keyof Facts]: Facts[Kind]['aggregate'] extends Name ? Kind : never;
}[keyof Facts];

/** Writes of one aggregate. */
export type WriteOf<Name extends Aggregate> = Extract<StoreWrite, { readonly kind: KindOf<Name> }>;

const WRITE_FACTS: WriteFactsOf<StoreWrite> = FACTS_BY_KIND;
const ALL_GUARD_FACTS: GuardFactsOf<StoreGuard> = GUARD_FACTS;

export const writeFacts = (write: StoreWrite): WriteFacts<StoreWrite> => WRITE_FACTS[write.kind];
export const guardFacts = (guard: StoreGuard): GuardFacts<StoreGuard> => ALL_GUARD_FACTS[guard.kind];

/** Guards and writes that are applied together or not at all. */
export interface CommitUnit {
  readonly guards: readonly StoreGuard[];
  readonly writes: readonly StoreWrite[];
}

/** Result of a unit: applied, or the guard that failed. */
export type CommitResult =
  | { readonly kind: 'applied' }
  | { readonly kind: 'run-id-taken'; readonly run: RunReference }
  | { readonly kind: 'duplicate'; readonly run: RunReference }
  | { readonly kind: 'run-not-active' }
  /** The run was removed. */
  | { readonly kind: 'run-gone' }
  /** Another process has decided on the run in the meantime. */
  | { readonly kind: 'run-moved' }
  | { readonly kind: 'task-gone' }
  | { readonly kind: 'slot-taken' }
  | { readonly kind: 'schedule-moved' }
  /** Another process has decided on the repair in the meantime. */
  | { readonly kind: 'repair-moved' }
  /** A queue, URL group or schedule has changed since it was read. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'too-many-schedules'; readonly count: number }
  | { readonly kind: 'dead-letters-missing'; readonly dlqIds: readonly string[] };

/** Identifies a run. */
export interface RunReference {
  readonly runKey: string;
  readonly workflowRunId: string;
  /** Time when the run was created, Unix ms. */
  readonly createdAt: number;
}
