/** Parts of the store that handlers read. Handlers never receive a whole store; changes go through the services. */
import type { AuditEntryStore } from '../../ports/stores/accounts/audit-entries.js';
import type { AuditStore } from '../../ports/stores/audit-store.js';
import type { ControlStore } from '../../ports/stores/control-store.js';
import type { DeadLetterGroupStore } from '../../ports/stores/dead-letter-groups.js';
import type { DeadLetterStore } from '../../ports/stores/dead-letter-store.js';
import type { EventStore } from '../../ports/stores/event-store.js';
import type { HistoryStore } from '../../ports/stores/history-store.js';
import type { InsightStore } from '../../ports/stores/insights/insight-store.js';
import type { RepairStore } from '../../ports/stores/repair-store.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { ScheduleStore } from '../../ports/stores/schedule-store.js';
import type { Store } from '../../ports/stores/store.js';
import type { TaskStore } from '../../ports/stores/task-store.js';

/** Runs with their history. */
export interface RunReads extends RunStore, HistoryStore {}

/** Dead letters with the history of their failure callbacks. */
export interface DeadLetterReads extends DeadLetterStore, HistoryStore {}

export interface Reads {
  readonly runs: RunReads;
  readonly deadLetters: DeadLetterReads;
  readonly deadLetterGroups: Pick<DeadLetterGroupStore, 'list' | 'find' | 'needingAttention' | 'totals'>;
  readonly repairs: Pick<RepairStore, 'find' | 'list' | 'items' | 'scheduledDeletions'>;
  readonly events: EventStore;
  readonly control: ControlStore;
  readonly schedules: ScheduleStore;
  readonly audit: Pick<AuditStore, 'chained' | 'links' | 'anchor' | 'head'>;
  readonly auditEntries: Pick<AuditEntryStore, 'listAudit'>;
  readonly insights: Pick<InsightStore, 'series' | 'workflowSum' | 'workflowTotals'>;
  readonly tasks: Pick<TaskStore, 'dueTasks'>;
  /** Resolves if the store can be read. */
  check(): Promise<unknown>;
}

export const readsOf = (store: Store): Reads => ({
  runs: store,
  deadLetters: store,
  deadLetterGroups: store.deadLetterGroups,
  repairs: store.repairs,
  events: store,
  control: store,
  schedules: store,
  audit: store.audit,
  auditEntries: store.accounts,
  insights: store.insights,
  tasks: store,
  check: () => store.latestTime(),
});
