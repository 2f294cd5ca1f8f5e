/** Creates runs: from a trigger, or from a dead letter. Keeps invariants 6 and 7. */
import { LIMITS } from '../../config/limits.js';
import { type DecisionContext, messageIdOf, newId, newKey } from '../ids.js';
import { countStart } from '../limits/metering.js';
import type { CommitUnit, StoreGuard, StoreWrite } from '../writes.js';
import {
  ADVANCE_SLOT,
  CALLBACK_SLOT,
  type DialectName,
  type FlowControl,
  type MessageSettings,
  type Run,
  type RunOrigin,
  type RunPayload,
  type RunSettings,
  type Task,
} from './run.js';
import { type Overrides, overridesLimits, recoveredSettings } from './settings.js';

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
   * Time when the run was admitted, Unix ms. The run counts for this day, or for the day on which it starts if this is absent
   * or null.
   */
  readonly admittedAt?: number | null;
  /** Origin of the run, if it was not started by a trigger. */
  readonly origin?: RunOrigin;
  /** Key of the new run, if an invocation has assigned one. If absent, a new key is generated. */
  readonly key?: string;
  /** See `StartedRun.keepsLimits`. */
  readonly keepsLimits?: boolean;
}

/** A new run, and the unit that creates it. */
export interface StartedRun {
  readonly run: Run;
  readonly unit: CommitUnit;
  /**
   * Whether the limits of the flow control key stay as they are: a run that continues another one has the limits that were set
   * when that one was triggered, and the key may have other limits since.
   */
  readonly keepsLimits: boolean;
}

/** Returns the limits that a new run sets; without limits, it leaves those of the key unchanged. Null if it has no key. */
export function limitsSetBy({ run, keepsLimits }: Pick<StartedRun, 'run' | 'keepsLimits'>): FlowControl | null {
  const { flowControl } = run.settings;
  return flowControl && keepsLimits ? { key: flowControl.key } : flowControl;
}

function flowControlWrites(started: Pick<StartedRun, 'run' | 'keepsLimits'>, context: DecisionContext): readonly StoreWrite[] {
  const flowControl = limitsSetBy(started);
  if (flowControl === null) return [];
  return [{ kind: 'put-flow-control', instanceId: started.run.instanceId, flowControl, at: context.now }];
}

const putTasks = (run: Run): readonly StoreWrite[] =>
  [...run.tasks.values()].map((task) => ({ kind: 'put-task', runKey: run.key, task }));

const runIdFreeGuard = (run: Run): StoreGuard => ({
  kind: 'run-id-free',
  instanceId: run.instanceId,
  workflowRunId: run.workflowRunId,
});

function setNotBefore({ notBefore: _before, ...message }: MessageSettings, dueAt: number, now: number): MessageSettings {
  return dueAt > now ? { ...message, notBefore: dueAt } : message;
}

function queueWrites({ instanceId, settings, createdAt: at }: Run): readonly StoreWrite[] {
  const name = settings.message?.queue;
  return name === undefined ? [] : [{ kind: 'register-queue', instanceId, name, at }];
}

/** Creates a new run with one task: the first call to the endpoint, or the delivery of the message. */
export function startRun(command: StartCommand, context: DecisionContext): StartedRun {
  const key = command.key ?? newKey(context);
  const { message } = command.settings;
  const firstTask = {
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
    settings: message ? { ...command.settings, message: setNotBefore(message, firstTask.dueAt, context.now) } : command.settings,
    status: 'active',
    nextStepId: 1,
    journalLength: 0,
    journalBytes: 0,
    replayedLength: -1,
    version: 0,
    tasks: new Map([[ADVANCE_SLOT, firstTask]]),
    keptEvents: [],
    hasFailureFunction: false,
  };
  const { deduplicationId, instanceId, keepsLimits = false } = command;
  const guards: StoreGuard[] = [];
  const writes: StoreWrite[] = [
    { kind: 'create-run', run, input: command.payload },
    ...putTasks(run),
    ...countStart(run, command.admittedAt ?? null, context),
    ...flowControlWrites({ run, keepsLimits }, context),
    ...queueWrites(run),
  ];
  // A newly generated id is unique, so only a caller's id needs the check.
  if (command.workflowRunId !== null && !message) guards.push(runIdFreeGuard(run));
  if (deduplicationId !== null) {
    guards.unshift({ kind: 'not-duplicate', instanceId, deduplicationId, now: context.now });
    const expiresAt = context.now + LIMITS.deduplicationWindowMs;
    writes.push({ kind: 'remember-deduplication', instanceId, deduplicationId, runKey: key, expiresAt });
  }
  return { run, unit: { guards, writes }, keepsLimits };
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
 * Returns an open task of a failed run with a new due time. Attempts start over; sleeps and waits keep their time. An
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
 * Creates a new run from a dead letter. Removing the entry and creating the run are one unit, guarded by the presence
 * of the entry. Of two concurrent callers, one creates a run, and the other learns that the entry no longer
 * exists.
 */
export function recoverRun(
  failedRun: Run,
  request: RecoverRequest,
  context: DecisionContext,
): StartedRun | 'no-flow-control-key' {
  const { overrides, dlqId } = request;
  const { message: messageSettings } = failedRun.settings;
  // A message has no journal to resume from.
  const kind = messageSettings ? 'restart' : request.kind;
  const settings = recoveredSettings(failedRun.settings, overrides);
  if (settings === 'no-flow-control-key') return settings;
  const delayMs = overrides.delayMs ?? 0;
  const startedRun = startRun(
    {
      instanceId: failedRun.instanceId,
      dialect: failedRun.dialect,
      workflowUrl: failedRun.workflowUrl,
      payload: { body: new Uint8Array(), contentType: null, forwardHeaders: {} },
      settings,
      callerIp: failedRun.callerIp,
      workflowRunId: request.workflowRunId,
      notBefore: context.now + delayMs,
      deduplicationId: null,
    },
    context,
  );
  const openTasks = [...failedRun.tasks.values()]
    .filter(({ slot }) => slot !== CALLBACK_SLOT)
    .map((task) => reopenTask(task, context.now, delayMs, context));
  const resumedState: Partial<Run> =
    kind === 'restart'
      ? {}
      : {
          nextStepId: failedRun.nextStepId,
          ...(failedRun.ahead ? { ahead: failedRun.ahead } : {}),
          journalLength: failedRun.journalLength,
          journalBytes: failedRun.journalBytes,
          // Without open tasks, the code must still be called. The first task of a new run does that.
          replayedLength: openTasks.length === 0 || failedRun.tasks.has(ADVANCE_SLOT) ? -1 : failedRun.journalLength,
          tasks: openTasks.length === 0 ? startedRun.run.tasks : new Map(openTasks.map((task) => [task.slot, task])),
          keptEvents: failedRun.keptEvents,
          hasFailureFunction: failedRun.hasFailureFunction,
        };
  const run: Run = {
    ...startedRun.run,
    ...resumedState,
    origin: {
      kind,
      runKey: failedRun.key,
      workflowRunId: failedRun.workflowRunId,
      workflowCreatedAt: failedRun.createdAt,
      dlqId,
    },
  };
  const guards: StoreGuard[] = [{ kind: 'dead-letters-present', instanceId: run.instanceId, dlqIds: [dlqId] }];
  if (request.workflowRunId !== null && !messageSettings) guards.push(runIdFreeGuard(run));
  const writes: StoreWrite[] = [{ kind: 'create-run', run, input: { copyOf: failedRun.key } }];
  if (kind === 'resume') {
    writes.push({ kind: 'copy-journal', fromRunKey: failedRun.key, toRunKey: run.key });
    for (const event of run.keptEvents) writes.push({ kind: 'keep-event', runKey: run.key, event });
    if (run.hasFailureFunction) writes.push({ kind: 'note-failure-function', runKey: run.key });
  }
  writes.push(...putTasks(run), ...countStart(run, request.admittedAt ?? null, context));
  const keepsLimits = !overridesLimits(failedRun.settings, overrides);
  writes.push(...flowControlWrites({ run, keepsLimits }, context), ...queueWrites(run));
  writes.push({
    kind: 'take-dead-letter',
    instanceId: run.instanceId,
    dlqId,
    recoveredAs: { kind, runKey: run.key, at: context.now },
  });
  return { run, unit: { guards, writes }, keepsLimits };
}
