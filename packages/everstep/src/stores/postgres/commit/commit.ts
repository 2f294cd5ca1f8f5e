/**
 * What a batch of units does in its transaction, in two round trips. First all that the batch names is read and locked, or
 * found to be as it is assumed to be; then its units are gone through in memory, in their order, and what those write whose
 * guards hold is sent, rows of one kind together. Where the order within the batch matters and would be lost by that, what
 * has come up so far is sent before.
 */
import { GroupChanges } from '../../../engine/dead-letters/dead-letter-groups.js';
import { CALLBACK_SLOT, type Run, type RunPayload, type Task } from '../../../engine/runs/run.js';
import type { AuditNote } from '../../../engine/writes.js';
import type { CountOfDay } from '../../../ports/stores/account-store.js';
import type { CommitResult, CommitUnit, StoreGuard, StoreWrite } from '../../../ports/stores/store.js';
import { activeRunsAdded, bytesAdded } from '../../../ports/stores/stored-bytes.js';
import { countDays } from '../accounts/day-counts.js';
import { countMessages, type UsageWrite } from '../accounts/usage-counts.js';
import { addAudit } from '../audit/audit-log.js';
import type { TransactionSession } from '../connection/connection.js';
import { type FlowControlWrite, writeFlowControls } from '../control/flow-control-records.js';
import { type HoldWrite, writeHolds } from '../control/hold-records.js';
import { type SettingsWrite, writeInstanceSettings } from '../control/instance-records.js';
import { type QueueWrite, writeQueues } from '../control/queue-records.js';
import { type ScheduleWrite, writeSchedules } from '../control/schedule-records.js';
import { type UrlGroupWrite, writeUrlGroups } from '../control/url-group-records.js';
import { sendGroupChanges } from '../dead-letters/dead-letter-group-writes.js';
import { DeadLetterWrites } from '../dead-letters/dead-letter-writes.js';
import { type RepairItemWrite, writeRepairItems } from '../repairs/repair-items.js';
import { DeduplicationWrites } from '../runs/deduplication-writes.js';
import { EventWrites } from '../runs/event-writes.js';
import { JournalWrites } from '../runs/journal-writes.js';
import { type RunPlace, RunWrites } from '../runs/run-writes.js';
import { isWaitingForRun } from '../runs/task-rows.js';
import { TaskWrites, type Writer } from '../runs/task-writes.js';
import { noteStaged, type StagingWrite, writeStagings } from '../storage/staged-journals.js';
import { StoredBytes } from '../storage/stored-bytes.js';
import type { BatchState, KnownRun } from './batch-state.js';
import { timeOf } from './clock-marks.js';

const APPLIED: CommitResult = Object.freeze({ kind: 'applied' });

export class Batch {
  private readonly session: TransactionSession;
  private readonly state: BatchState;
  private readonly runs = new RunWrites();
  private readonly journals = new JournalWrites();
  private readonly tasks: TaskWrites;
  private readonly events = new EventWrites();
  private readonly deadLetters = new DeadLetterWrites();
  private readonly groups = new GroupChanges();
  private readonly deduplication = new DeduplicationWrites();
  private readonly flowControls: FlowControlWrite[] = [];
  private readonly queues: QueueWrite[] = [];
  private readonly urlGroups: UrlGroupWrite[] = [];
  private readonly schedules: ScheduleWrite[] = [];
  private readonly holds: HoldWrite[] = [];
  private readonly settings: SettingsWrite[] = [];
  private readonly usage: UsageWrite[] = [];
  private readonly days: CountOfDay[] = [];
  private readonly repairItems: RepairItemWrite[] = [];
  private readonly audits: AuditNote[] = [];
  private readonly stored = new StoredBytes();
  private readonly staged: RunPlace[] = [];
  private readonly stagings: StagingWrite[] = [];
  /** Ids of runs that were ended since anything was sent. */
  private readonly endedIds = new Set<string>();
  latestTime = 0;

  constructor(session: TransactionSession, state: BatchState, writer: Writer | null) {
    this.session = session;
    this.state = state;
    this.tasks = new TaskWrites(writer);
  }

  apply({ guards, writes }: CommitUnit): CommitResult {
    for (const guard of guards) {
      if (guard.kind === 'not-duplicate') this.deduplication.askedAt(guard.now);
      const refusal = this.state.refusalOf(guard);
      if (refusal) return refusal;
    }
    for (const write of writes) {
      this.latestTime = Math.max(this.latestTime, timeOf(write));
      this.write(write, guards);
      this.count(write);
    }
    for (const guard of guards) {
      if (guard.kind === 'run-active' && guard.next !== undefined) this.moved(guard.runKey, guard.next);
    }
    return APPLIED;
  }

  private moved(runKey: string, version: number): void {
    const run = this.state.runMoved(runKey, version);
    if (run) this.runs.move(run, version);
  }

  /** Sends what has come up so far. */
  flush(): void {
    const { session } = this;
    this.runs.sendBeginnings(session);
    // What was staged is counted before more is recorded behind it.
    sendAll(session, this.stagings, writeStagings);
    sendAll(session, this.staged, noteStaged);
    this.journals.send(session);
    this.tasks.send(session);
    this.events.send(session);
    this.runs.sendEnds(session);
    this.deadLetters.send(session);
    this.tasks.sendWakes(session);
    this.deduplication.send(session, this.state.deduplicationRows);
    sendAll(session, this.flowControls, writeFlowControls);
    sendAll(session, this.queues, writeQueues);
    sendAll(session, this.urlGroups, writeUrlGroups);
    sendAll(session, this.schedules, writeSchedules);
    sendAll(session, this.holds, writeHolds);
    sendAll(session, this.settings, writeInstanceSettings);
    this.stored.send(session);
    sendAll(session, this.usage, countMessages);
    sendAll(session, this.days, countDays);
    sendAll(session, this.repairItems, writeRepairItems);
    this.endedIds.clear();
  }

  /** Sends the rest. Groups come last, and once: whoever has locked theirs waits for nobody. */
  finish(): void {
    this.flush();
    sendGroupChanges(this.session, this.groups);
  }

  /** The last thing that a transaction does. */
  tell(): void {
    for (const entry of this.audits) addAudit(this.session, entry);
  }

  private write(write: StoreWrite, guards: readonly StoreGuard[]): void {
    const { state } = this;
    switch (write.kind) {
      case 'record-step':
        if (this.journals.isBeingCopied(write.runKey)) this.flush();
        this.journals.recordStep(state.requireRun(write.runKey), write.step);
        break;
      case 'put-task': {
        const run = state.requireRun(write.runKey);
        if (write.task.kind === 'invoke' && this.tasks.isWaking(write.task.childRunKey)) this.flush();
        this.putTask(run, write.task);
        if (write.task.kind === 'wait') run.waits = true;
        state.taskPut(write.runKey, write.task.slot, write.task.messageId);
        break;
      }
      case 'delete-task': {
        const run = state.requireRun(write.runKey);
        this.deleteTask(run, write.slot, run.waits);
        break;
      }
      case 'create-run':
        this.createRun(write.run, write.input, guards);
        break;
      case 'end-run': {
        const run = state.runEnded(write.runKey);
        this.runs.end(run, write.outcome, write.completedAt);
        this.endedIds.add(`${run.instanceId}\n${run.workflowRunId}`);
        break;
      }
      case 'copy-journal': {
        const [from, to] = [state.requireRun(write.fromRunKey), state.requireRun(write.toRunKey)];
        if (this.journals.isBeingCopied(write.fromRunKey)) this.flush();
        this.journals.copy(from, to, { below: write.length, without: write.without });
        break;
      }
      case 'stage-journal': {
        const from = state.requireRun(write.fromRunKey);
        const to = { instanceId: from.instanceId, runKey: write.toRunKey };
        this.staged.push(to);
        this.journals.copy(from, to, write);
        break;
      }
      case 'adopt-journal':
      case 'abandon-journal':
        this.stagings.push(write);
        break;
      case 'park-tasks': {
        const run = state.requireRun(write.runKey);
        this.tasks.parkAll(run, run.waits);
        break;
      }
      case 'delete-tasks': {
        const run = state.requireRun(write.runKey);
        this.tasks.deleteAll(run, run.waits);
        state.tasksDeleted(write.runKey);
        break;
      }
      case 'keep-event':
        this.events.keep(state.requireRun(write.runKey), write.event);
        break;
      case 'drop-event': {
        const run = state.requireRun(write.runKey);
        this.stored.add(run.instanceId, -this.events.drop(run, write.eventKey));
        break;
      }
      case 'note-failure-function':
        this.runs.noteFailureFunction(state.requireRun(write.runKey));
        break;
      case 'wake-invoker': {
        const instanceId = state.instanceOf(write.childRunKey);
        if (instanceId !== null) this.tasks.wakeInvoker({ instanceId, runKey: write.childRunKey }, write.at);
        break;
      }
      case 'record-attempt':
        this.journals.recordAttempt(state.requireRun(write.runKey), write.attempt);
        break;
      case 'set-failure-function-state':
        this.deadLetters.setState(state.requireEntry(write.instanceId, write.dlqId), write.state);
        break;
      case 'add-dead-letter': {
        const { entry, group } = write;
        if (state.requireRun(entry.runKey).instanceId !== entry.instanceId)
          throw new Error(`the run ${entry.runKey} belongs to another instance than its dead letter`);
        if (this.deadLetters.isTaking(entry)) this.flush();
        this.deadLetters.add(entry, group?.fingerprint ?? null);
        this.runs.deadLetterAdded(entry.runKey);
        // Where it has no group nothing is counted by its URL.
        state.entryAdded({ ...entry, workflowUrl: group?.workflowUrl ?? '', fingerprint: group?.fingerprint ?? null });
        if (group) this.groups.entryCame(entry.instanceId, group, entry.responseStatus, entry.createdAt);
        break;
      }
      case 'take-dead-letter': {
        const entry = state.requireEntry(write.instanceId, write.dlqId);
        this.deadLetters.take(entry, write.became);
        state.entryTaken(entry);
        const { fingerprint, workflowUrl } = entry;
        if (fingerprint !== null) this.groups.entryLeft(entry.instanceId, { fingerprint, workflowUrl }, write.became?.at ?? null);
        this.deleteTask(entry, CALLBACK_SLOT, false);
        break;
      }
      case 'set-repair-item':
        this.repairItems.push(write);
        break;
      case 'remember-deduplication':
        this.remember(write);
        break;
      case 'put-flow-control':
      case 'set-flow-control':
      case 'set-flow-window':
        this.flowControls.push(write);
        break;
      case 'register-queue':
      case 'put-queue':
      case 'delete-queue':
        this.queues.push(write);
        state.controlWritten(write);
        break;
      case 'put-url-group':
      case 'delete-url-group':
        this.urlGroups.push(write);
        state.controlWritten(write);
        break;
      case 'put-schedule':
        this.schedules.push(write);
        state.scheduleMoved(write.schedule.instanceId, write.schedule.scheduleId, write.schedule.nextAt);
        state.controlWritten(write);
        break;
      case 'delete-schedule':
        this.schedules.push(write);
        state.scheduleMoved(write.instanceId, write.scheduleId, undefined);
        state.controlWritten(write);
        break;
      case 'set-hold':
        this.holds.push(write);
        break;
      case 'set-instance-settings':
        this.settings.push(write);
        break;
      case 'count-messages':
        this.usage.push(write);
        break;
      case 'count-of-day':
        this.days.push(write);
        break;
      case 'add-audit':
        this.audits.push(write.entry);
        break;
      default:
        write satisfies never;
    }
  }

  /** What it adds, as far as that can be seen here. */
  private count(write: StoreWrite): void {
    const [bytes, activeRuns] = [bytesAdded(write), activeRunsAdded(write)];
    if (bytes === 0 && activeRuns === 0) return;
    if (write.kind === 'create-run') this.stored.add(write.run.instanceId, bytes, activeRuns);
    else if (write.kind === 'add-dead-letter') this.stored.add(write.entry.instanceId, bytes);
    else if ('runKey' in write) this.stored.add(this.state.requireRun(write.runKey).instanceId, bytes, activeRuns);
  }

  private createRun(run: Run, input: RunPayload | { readonly copyOf: string }, guards: readonly StoreGuard[]): void {
    const { instanceId, key, workflowRunId, createdAt, status } = run;
    if (status !== 'active') throw new Error(`the run ${key} is ${status} before it has begun`);
    const sole = guards.some(
      (guard) => guard.kind === 'run-id-free' && guard.instanceId === instanceId && guard.workflowRunId === workflowRunId,
    );
    const source = 'copyOf' in input ? this.state.requireRun(input.copyOf) : input;
    // The end of the run that had the id has to be written first.
    if (this.endedIds.has(`${instanceId}\n${workflowRunId}`)) this.flush();
    this.runs.create(run, source, sole);
    const message = run.settings.message ?? null;
    const begun = { instanceId, runKey: key, workflowRunId, active: true, version: 0, waits: false, begun: true };
    this.state.runCreated({ ...begun, queue: message?.queue ?? null }, createdAt, message !== null);
  }

  private putTask(run: KnownRun, task: Task): void {
    // The end of the run that it waits for has looked for it already.
    if (isWaitingForRun(task) && this.state.hasEnded(task.childRunKey))
      this.tasks.putOverdue(run, { ...task, dueAt: task.createdAt }, run.waits);
    else this.tasks.put(run, task, run.waits);
  }

  private deleteTask(run: RunPlace, slot: number, waits: boolean): void {
    this.tasks.delete(run, slot, waits);
    this.state.taskDeleted(run.runKey, slot);
  }

  private remember(write: Extract<StoreWrite, { readonly kind: 'remember-deduplication' }>): void {
    this.deduplication.remember(write, write.runKey, write.expiresAt);
    this.state.deduplicationTaken(write, write.runKey, write.expiresAt);
  }
}

function sendAll<Write>(
  session: TransactionSession,
  writes: Write[],
  send: (session: TransactionSession, writes: readonly Write[]) => void,
): void {
  if (writes.length > 0) send(session, writes.splice(0));
}
