/** Writes that count for accounts and plans, and entries of the audit log. */
import type { InsightCounts } from '../insights/counts.js';
import { alwaysTrue, COUNTER_FACTS, SMALL_WRITE_FACTS, type WriteFactsOf } from './facts.js';

/**
 * The kind of a daily counter. `run` counts the runs that requests start. Most others count requests that the plan or the budget
 * rejected: `tick-` marks a tick of a schedule that started no run, and `step-` a step that failed its run or invoked no run.
 */
export type DayCountKind =
  | 'run'
  | 'budget-exceeded'
  | 'daily-limit-reached'
  | 'rate-limited'
  | 'body-too-large'
  | 'too-many-schedules'
  | 'storage-quota-exceeded'
  | 'too-many-active-runs'
  | 'too-many-queues'
  | 'too-many-url-groups'
  | 'too-many-flow-control-keys'
  | 'tick-budget-exceeded'
  | 'tick-daily-limit-reached'
  | 'tick-body-too-large'
  | 'tick-storage-quota-exceeded'
  | 'tick-too-many-active-runs'
  | 'step-body-too-large'
  | 'step-budget-exceeded'
  | 'step-daily-limit-reached'
  | 'step-storage-quota-exceeded'
  | 'step-too-many-active-runs'
  /** Counter of the installation, with an empty instance id: login attempts for unknown email addresses. */
  | 'unknown-login';

/** Adds to the counter of the day (UTC) of `at`. */
export interface DailyCount {
  readonly kind: 'count-of-day';
  readonly instanceId: string;
  readonly what: DayCountKind;
  readonly count: number;
  /** Time of the counted event, Unix ms. */
  readonly at: number;
}

/** The request that caused an entry of the audit log. */
export interface AuditRequest {
  /** The `operationId` of the API, or the name of a command of the control socket. */
  readonly operation: string;
  /** Credential of the caller, without any secret: `api-key key_1`, `session ses_1`, `token tok_1 (name)`, `none`. */
  readonly credential: string;
  /** Start of the header `User-Agent`; empty if it is missing. */
  readonly userAgent: string;
  /** Queue instance that the request concerns, or null if it concerns none. */
  readonly instanceId: string | null;
  readonly outcome: 'done' | 'refused';
}

/** An entry of the audit log. Entries are only added; those older than the retention period are removed. */
export interface AuditNote {
  readonly auditId: string;
  /** Time of the action, Unix ms. */
  readonly at: number;
  /** Email of the user, the token, `anonymous`, or `operator` for actions of the installation itself. */
  readonly actor: string;
  /** Name of the action, such as `queue.move-to-team`. */
  readonly action: string;
  /** Id of the changed object. */
  readonly subject: string;
  /** The change, in a few words or values. Never a payload or a secret. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
  /** Network address of the client. */
  readonly address: string;
  /** Accounts whose members may read it. */
  readonly accountIds: readonly string[];
  /** Request that caused the entry; absent if there was none. */
  readonly request?: AuditRequest;
}

export type AccountWrite =
  /**
   * Counts billed messages of the instance in the calendar month (UTC) of `at`. The account that owns the instance at
   * the time of the write is billed.
   */
  | { readonly kind: 'count-messages'; readonly instanceId: string; readonly messages: number; readonly at: number }
  | DailyCount
  /** Counts runs and steps for the insights of the instance. */
  | InsightCounts
  /** Adds an entry to the audit log, in the unit that makes the change. */
  | { readonly kind: 'add-audit'; readonly entry: AuditNote };

const COUNTER_WRITE = { ...COUNTER_FACTS, ...SMALL_WRITE_FACTS, topic: null, isSelfContained: alwaysTrue } as const;

export const ACCOUNT_WRITE_FACTS = {
  'count-messages': { ...COUNTER_WRITE, aggregate: 'usage', time: ({ at }) => at },
  'count-of-day': { ...COUNTER_WRITE, aggregate: 'day-count', time: ({ at }) => at },
  'count-insights': { ...COUNTER_WRITE, aggregate: 'insights', time: ({ at }) => at },
  // An entry can concern several instances, so it does not identify the instance of its unit.
  'add-audit': { ...COUNTER_WRITE, aggregate: 'audit', instanceId: () => null, time: ({ entry }) => entry.at },
} satisfies WriteFactsOf<AccountWrite>;
