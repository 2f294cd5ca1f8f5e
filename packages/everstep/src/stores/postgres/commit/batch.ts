/**
 * Executes a batch within its transaction, in two round trips. First everything in its lock set is read and locked,
 * or checked against its expected version. Then the units are applied in memory, in their order, and the writes of those whose
 * guards hold are sent, grouped by aggregate. If that would lose an order that matters within the batch, the writes collected
 * so far are sent first.
 */

import type { Aggregate, WriteFacts } from '../../../engine/writes/facts.js';
import { type CommitResult, type CommitUnit, type StoreWrite, type WriteOf, writeFacts } from '../../../engine/writes.js';
import { activeRunsAdded } from '../../../ports/stores/stored-bytes.js';
import { addAlertEvent } from '../../shared/alerts/alerts.js';
import { addAudit } from '../../shared/audit/audit-log.js';
import { writeHold, writeSettings } from '../../shared/control/settings.js';
import { nameOfGroup, writeUrlGroup } from '../../shared/control/url-groups.js';
import { setItem } from '../../shared/repairs/repair-items.js';
import { countDays } from '../accounts/day-counts.js';
import { countMessages } from '../accounts/usage-counts.js';
import { type Row, text } from '../connection/columns.js';
import type { TransactionSession } from '../connection/connection.js';
import { sendProcedure } from '../connection/sql-session.js';
import { type FlowKeyId, writeFlowControls } from '../control/flow-control-records.js';
import { sendAllWrites, sendLastWrites } from '../control/last-writes.js';
import { writeQueues } from '../control/queue-records.js';
import { writeSchedules } from '../control/schedule-records.js';
import { DeadLetterWrites } from '../dead-letters/dead-letter-writes.js';
import { countInsights } from '../insights/insight-counts.js';
import { DeduplicationWrites } from '../runs/deduplication-writes.js';
import { EventWrites } from '../runs/event-writes.js';
import { JournalWrites } from '../runs/journal-writes.js';
import { RunWrites } from '../runs/run-writes.js';
import { TaskWrites, type WritingNode } from '../runs/task-writes.js';
import { StoredBytes } from '../storage/stored-bytes.js';
import type { Applier, Appliers, BatchContext } from './batch-context.js';
import type { BatchState } from './batch-state.js';
import type { ControlledWrite } from './control-state.js';
import { WriteList } from './write-list.js';

const APPLIED: CommitResult = Object.freeze({ kind: 'applied' });

type BatchAppliers = ReturnType<typeof createAppliers>;

/** `onLimits` gets the responses of writes to limits; see `writeFlowControls`. */
function createAppliers(
  state: BatchState,
  writingNode: WritingNode | null,
  onLimits: (changedKeys: Promise<readonly Row[]>) => void,
) {
  const [runs, tasks] = [new RunWrites(), new TaskWrites(writingNode)];
  const recordControlWrite = (write: ControlledWrite) => state.recordControlWrite(write);
  return {
    run: runs,
    journal: new JournalWrites(),
    task: tasks,
    event: new EventWrites(),
    deduplication: new DeduplicationWrites(),
    'dead-letter': new DeadLetterWrites(runs, tasks),
    repair: new WriteList((session, writes) => {
      for (const write of writes) sendProcedure(session, setItem(write));
    }),
    'flow-control': new WriteList<WriteOf<'flow-control'>>((session, writes) => {
      const changedKeys = writeFlowControls(session, writes);
      if (changedKeys) onLimits(changedKeys);
    }),
    queue: new WriteList(writeQueues, recordControlWrite),
    'url-group': new WriteList(sendLastWrites(writeUrlGroup, nameOfGroup), recordControlWrite),
    schedule: new WriteList(writeSchedules, recordControlWrite),
    // A write of the breaker depends on the writes before it.
    hold: new WriteList(sendAllWrites(writeHold, ({ origin }) => origin)),
    settings: new WriteList(sendLastWrites(writeSettings, () => '')),
    usage: new WriteList(countMessages),
    'day-count': new WriteList(countDays),
    insights: new WriteList(countInsights),
    alert: new WriteList<WriteOf<'alert'>>((session, writes) => {
      for (const write of writes) sendProcedure(session, addAlertEvent(write));
    }),
    audit: new WriteList<WriteOf<'audit'>>((session, writes) => {
      for (const { entry } of writes) sendProcedure(session, addAudit(entry));
    }),
  } satisfies Appliers;
}

const applierOf = (appliers: Appliers, aggregate: Aggregate): Applier<StoreWrite> => appliers[aggregate];

export class Batch {
  private readonly session: TransactionSession;
  private readonly state: BatchState;
  private readonly appliers: BatchAppliers;
  private readonly storedBytes = new StoredBytes();
  private readonly context: BatchContext;
  private readonly limitResponses: Promise<readonly Row[]>[] = [];
  /** The latest time in a write, Unix ms; 0 if no write contains a time. */
  latestTime = 0;

  constructor(session: TransactionSession, state: BatchState, writingNode: WritingNode | null) {
    this.session = session;
    this.state = state;
    this.appliers = createAppliers(state, writingNode, (changedKeys) => this.limitResponses.push(changedKeys));
    this.context = { state, storedBytes: this.storedBytes, flush: () => this.flush() };
  }

  apply({ guards, writes }: CommitUnit): CommitResult {
    const { state, appliers } = this;
    for (const guard of guards) {
      if (guard.kind === 'not-duplicate') appliers.deduplication.recordCheck(guard.instanceId, guard.now);
      const refusal = state.refusalOf(guard);
      if (refusal) return refusal;
    }
    for (const write of writes) {
      const facts = writeFacts(write);
      this.latestTime = Math.max(this.latestTime, facts.time(write));
      applierOf(appliers, facts.aggregate).apply(write, this.context, guards);
      this.countStoredBytes(write, facts);
    }
    for (const guard of guards) {
      if (guard.kind !== 'run-active' || guard.next === undefined) continue;
      const run = state.moveRun(guard.runKey, guard.next);
      if (run) appliers.run.moveRun(run, guard.next);
    }
    return APPLIED;
  }

  /** Sends all collected writes. Groups come last, and once: a transaction that locks its groups waits for no other lock. */
  finish(): void {
    this.flush();
    this.appliers['dead-letter'].sendGroups(this.session);
  }

  /** Sends the audit log entries. Must be the last statement of the transaction. */
  sendAudit(): void {
    this.appliers.audit.send(this.session);
  }

  /** Returns the flow control keys whose limits this batch has changed. Must be called after the transaction is committed. */
  async changedLimits(): Promise<readonly FlowKeyId[]> {
    const rows = (await Promise.all(this.limitResponses)).flat();
    const limitedRows = rows.filter((row) => row.is_limited === true);
    return limitedRows.map((row) => ({ instanceId: text(row, 'instance_id'), key: text(row, 'key') }));
  }

  private flush(): void {
    const { session, appliers } = this;
    appliers.run.sendCreated(session);
    appliers.run.sendEnds(session);
    // The most frequent writes are sent next to each other, so that they are joined.
    appliers.run.sendPayloads(session);
    // The steps of a staged journal are counted before more steps are recorded after them.
    appliers.journal.sendStagings(session);
    appliers.journal.send(session);
    appliers.task.send(session);
    appliers.event.send(session);
    appliers['dead-letter'].send(session);
    appliers.task.sendWakes(session);
    appliers.deduplication.send(session, this.state.deduplicationRows);
    appliers['flow-control'].send(session);
    appliers.queue.send(session);
    appliers['url-group'].send(session);
    appliers.schedule.send(session);
    appliers.hold.send(session);
    appliers.settings.send(session);
    this.storedBytes.send(session);
    appliers.usage.send(session);
    appliers['day-count'].send(session);
    appliers.insights.send(session);
    appliers.repair.send(session);
    appliers.alert.send(session);
  }

  private countStoredBytes(write: StoreWrite, facts: WriteFacts<StoreWrite>): void {
    const [bytes, activeRuns] = [facts.storedBytes(write), activeRunsAdded(write)];
    if (bytes === 0 && activeRuns === 0) return;
    const instanceId = facts.instanceId(write) ?? this.state.requireRun(facts.runKey(write) ?? '').instanceId;
    this.storedBytes.add(instanceId, bytes, activeRuns);
  }
}
