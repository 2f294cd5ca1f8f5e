/** Creates runs: from a trigger, or from a dead letter. Keeps invariants 6 and 7. */
import { LIMITS } from '../../config/limits.js';
import { type DecisionContext, messageIdOf, newId, newKey } from '../ids.js';
import { countStart } from '../limits/metering.js';
import type { CommitUnit, StoreGuard, StoreWrite } from '../writes.js';
import {
  ADVANCE_SLOT,
  CALLBACK_SLOT,
  type DialectName,
  type MessageSettings,
  type Run,
  type RunOrigin,
  type RunPayload,
  type RunSettings,
  type Task,
} from './run.js';
import { type Overrides, recoveredSettings } from './settings.js';

/** A validated request for a run. */
export interface StartCommand {
  readonly instanceId: string;
  readonly dialect: DialectName;
  readonly workflowUrl: string;
  readonly payload: RunPayload;
  readonly settings: RunSettings;
  readonly callerIp: string;
  /** The caller's run id; null lets the engine generate one. */
  readonly workflowRunId: string | null;
  /** Time before which nothing is delivered, Unix ms; null starts now. */
  readonly notBefore: number | null;
  readonly deduplicationId: string | null;
  /**
   * Time when the run was admitted, Unix ms; it counts for this day. Absent or null: it counts for the day on which it is
   * started.
   */
  readonly admittedAt?: number | null;
  /** Origin of the run, if it was not started by a trigger. */
  readonly origin?: RunOrigin;
  /** Key of the new run, if it was assigned before (an invocation). Absent: a new key. */
  readonly key?: string;
}

/** A new run, and the unit that creates it. */
export interface StartedRun {
  readonly run: Run;
  readonly unit: CommitUnit;
}

function flowControlWrites(run: Run, context: DecisionContext): readonly StoreWrite[] {
  const flowControl = run.settings.flowControl;
  if (flowControl === null) return [];
  return [{ kind: 'put-flow-control', instanceId: run.instanceId, flowControl, at: context.now }];
}

const putTasks = (run: Run): readonly StoreWrite[] =>
  [...run.tasks.values()].map((task) => ({ kind: 'put-task', runKey: run.key, task }));

const freeRunId = (run: Run): StoreGuard => ({
  kind: 'run-id-free',
  instanceId: run.instanceId,
  workflowRunId: run.workflowRunId,
});

function withNotBefore({ notBefore: _before, ...message }: MessageSettings, dueAt: number, now: number): MessageSettings {
  return dueAt > now ? { ...message, notBefore: dueAt } : message;
}

function queueWrites({ instanceId, settings, createdAt: at }: Run): readonly StoreWrite[] {
  const name = settings.message?.queue;
  return name === undefined ? [] : [{ kind: 'register-queue', instanceId, name, at }];
}

/** Creates a new run with one task: the first call to the endpoint, or sending the message. */
export function startRun(command: StartCommand, context: DecisionContext): StartedRun {
  const key = command.key ?? newKey(context);
  const { message } = command.settings;
  const first = {
    kind: message ? ('message' as const) : ('advance' as const),
    slot: ADVANCE_SLOT,
    messageId: message ? messageIdOf(key) : newId('msg', context),
    dueAt: Math.max(context.now, command.notBefore ?? 0),
    createdAt: context.now,
    retried: 0,
  } satisfies Task;
  const run: Run = {
    key,
    instanceId: command.instanceId,
    workflowRunId: message ? messageIdOf(key) : (command.workflowRunId ?? `wfr_${key}`),
    createdAt: context.now,
    dialect: command.dialect,
    workflowUrl: command.workflowUrl,
    callerIp: command.callerIp,
    origin: command.origin ?? null,
    settings: message ? { ...command.settings, message: withNotBefore(message, first.dueAt, context.now) } : command.settings,
    status: 'active',
    known: 1,
    journalLength: 0,
    journalBytes: 0,
    quietAt: -1,
    version: 0,
    tasks: new Map([[ADVANCE_SLOT, first]]),
    keptEvents: [],
    failureFunction: false,
  };
  const { deduplicationId, instanceId } = command;
  const guards: StoreGuard[] = [];
  const writes: StoreWrite[] = [
    { kind: 'create-run', run, input: command.payload },
    ...putTasks(run),
    ...countStart(run, command.admittedAt ?? null, context),
    ...flowControlWrites(run, context),
    ...queueWrites(run),
  ];
  // A newly generated id is unique, so only a caller's id needs the check.
  if (command.workflowRunId !== null && !message) guards.push(freeRunId(run));
  if (deduplicationId !== null) {
    guards.unshift({ kind: 'not-duplicate', instanceId, deduplicationId, now: context.now });
    const expiresAt = context.now + LIMITS.deduplicationWindowMs;
    writes.push({ kind: 'remember-deduplication', instanceId, deduplicationId, runKey: key, expiresAt });
  }
  return { run, unit: { guards, writes } };
}

/** A validated request to resume or restart a failed run. */
export interface RecoverRequest {
  readonly kind: 'resume' | 'restart';
  readonly dlqId: string;
  readonly overrides: Overrides;
  readonly workflowRunId: string | null;
  /** Time of the admission; see `StartCommand.admittedAt`. */
  readonly admittedAt?: number | null;
}

/**
 * Returns an open task of a failed run, due again. Attempts start over; sleeps and waits keep their time. An
 * invocation is due immediately, because its run may have ended in the meantime.
 */
function reopenTask(task: Task, now: number, delayMs: number, context: DecisionContext): Task {
  const messageId = newId('msg', context);
  switch (task.kind) {
    case 'sleep':
      return { ...task, messageId, dueAt: task.wakeAt };
    case 'wait':
      return { ...task, messageId, dueAt: task.deadlineAt };
    case 'notify':
    case 'invoke':
      return { ...task, messageId, dueAt: now + delayMs };
    default:
      return { ...task, messageId, retried: 0, dueAt: now + delayMs };
  }
}

/**
 * Creates a new run from a dead letter. Taking the entry and creating the run are one unit, guarded by the presence
 * of the entry. Of two concurrent callers, one creates a run, and the other is informed that the entry no longer
 * exists.
 */
export function recoverRun(failed: Run, request: RecoverRequest, context: DecisionContext): StartedRun | 'no-flow-control-key' {
  const { overrides, dlqId } = request;
  const { message: messageSettings } = failed.settings;
  // A message has no journal to resume from.
  const kind = messageSettings ? 'restart' : request.kind;
  const settings = recoveredSettings(failed.settings, overrides);
  if (settings === 'no-flow-control-key') return settings;
  const delayMs = overrides.delayMs ?? 0;
  const started = startRun(
    {
      instanceId: failed.instanceId,
      dialect: failed.dialect,
      workflowUrl: failed.workflowUrl,
      payload: { body: new Uint8Array(), contentType: null, forwardHeaders: {} },
      settings,
      callerIp: failed.callerIp,
      workflowRunId: request.workflowRunId,
      notBefore: context.now + delayMs,
      deduplicationId: null,
    },
    context,
  );
  const openTasks = [...failed.tasks.values()]
    .filter(({ slot }) => slot !== CALLBACK_SLOT)
    .map((task) => reopenTask(task, context.now, delayMs, context));
  const resumed: Partial<Run> =
    kind === 'restart'
      ? {}
      : {
          known: failed.known,
          ...(failed.ahead ? { ahead: failed.ahead } : {}),
          journalLength: failed.journalLength,
          journalBytes: failed.journalBytes,
          // Without open tasks, the code must still be called. The first task of a new run does that.
          quietAt: openTasks.length === 0 || failed.tasks.has(ADVANCE_SLOT) ? -1 : failed.journalLength,
          tasks: openTasks.length === 0 ? started.run.tasks : new Map(openTasks.map((task) => [task.slot, task])),
          keptEvents: failed.keptEvents,
          failureFunction: failed.failureFunction,
        };
  const run: Run = {
    ...started.run,
    ...resumed,
    origin: {
      kind,
      runKey: failed.key,
      workflowRunId: failed.workflowRunId,
      workflowCreatedAt: failed.createdAt,
      dlqId,
    },
  };
  const guards: StoreGuard[] = [{ kind: 'dead-letters-present', instanceId: run.instanceId, dlqIds: [dlqId] }];
  if (request.workflowRunId !== null && !messageSettings) guards.push(freeRunId(run));
  const writes: StoreWrite[] = [{ kind: 'create-run', run, input: { copyOf: failed.key } }];
  if (kind === 'resume') {
    writes.push({ kind: 'copy-journal', fromRunKey: failed.key, toRunKey: run.key });
    for (const event of run.keptEvents) writes.push({ kind: 'keep-event', runKey: run.key, event });
    if (run.failureFunction) writes.push({ kind: 'note-failure-function', runKey: run.key });
  }
  writes.push(...putTasks(run), ...countStart(run, request.admittedAt ?? null, context));
  writes.push(...flowControlWrites(run, context), ...queueWrites(run));
  writes.push({
    kind: 'take-dead-letter',
    instanceId: run.instanceId,
    dlqId,
    became: { kind, runKey: run.key, at: context.now },
  });
  return { run, unit: { guards, writes } };
}
