/** Explains why a run waits: for each pending task, what must happen before it continues. */
import { PART_LIMITS } from '../../config/limits.js';
import { runKeyOfMessage } from '../../engine/ids.js';
import { callbackRetryRule } from '../../engine/messages/callback.js';
import { CALLBACK_SLOT, type RunSettings, type Task } from '../../engine/runs/run.js';
import { stepTypeOf } from '../../engine/runs/step-type.js';
import { readAttempts } from '../../ports/stores/history-parts.js';
import type { HistoryStore, RunRecord, RunStore } from '../../ports/stores/store.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import { originOf } from '../dispatch/origins.js';
import type { ExplainedTask, Explanation, WaitReason } from '../services/workflow-service.js';

/** A run with pending tasks. */
export interface PendingRun {
  readonly run: RunRecord;
  /** Errors of the last attempts, by message id. */
  readonly failures: ReadonlyMap<string, string>;
}

export interface ExplainContext {
  readonly store: RunStore & HistoryStore;
  /** Reports what holds back a task in this process. */
  readonly dispatcher: Pick<Dispatcher, 'gates' | 'isInFlight' | 'noSlotReason'>;
  /** Time of the explanation, Unix ms. */
  readonly now: number;
}

function urlOf(task: Task, { run }: PendingRun): string {
  const { workflowUrl, settings } = run;
  if (task.kind === 'call') return task.call.url;
  return task.kind === 'callback' ? (settings.failureCallback?.url ?? workflowUrl) : workflowUrl;
}

function maxRetriesOf(task: Task, settings: RunSettings): number {
  if (task.kind === 'call') return task.call.retries ?? 0;
  return task.kind === 'callback' ? callbackRetryRule(settings).maxRetries : settings.maxRetries;
}

/** Returns the reasons why a task that is performed by a delivery waits. */
async function deliveryReasons(
  task: Extract<Task, { readonly retried: number }>,
  dueAt: number,
  pendingRun: PendingRun,
  { dispatcher, now }: Omit<ExplainContext, 'store'>,
): Promise<readonly WaitReason[]> {
  const { run, failures } = pendingRun;
  const ref = { runKey: run.key, slot: task.slot };
  const reasons: WaitReason[] = [];
  if (task.retried > 0) {
    reasons.push({
      kind: 'retry',
      retry: task.retried,
      maxRetries: maxRetriesOf(task, run.settings),
      at: dueAt,
      error: failures.get(task.messageId) ?? null,
    });
  } else if (dueAt > now) reasons.push({ kind: 'not-before', at: dueAt });
  if (dueAt > now) {
    const holdReason = await dispatcher.gates.holdReason(run.instanceId, originOf(urlOf(task, pendingRun)));
    return holdReason ? [...reasons, holdReason] : reasons;
  }
  if (dispatcher.isInFlight(ref)) return [...reasons, { kind: 'in-flight', url: urlOf(task, pendingRun) }];
  const gateReasons = dispatcher.gates.reasons(ref);
  if (gateReasons.length > 0) return [...reasons, ...gateReasons];
  const because = dispatcher.noSlotReason(ref);
  // The delivery had passed the gates when the last worker disconnected.
  const noWorkerReason =
    because === 'workers' ? await dispatcher.gates.holdReason(run.instanceId, originOf(urlOf(task, pendingRun))) : null;
  if (noWorkerReason) return [...reasons, noWorkerReason];
  return [...reasons, { kind: 'queued', ...(because ? { because } : {}) }];
}

/** Returns the conditions of a task, in the order in which they must be met. */
export async function reasonsOf(
  task: Task,
  pendingRun: PendingRun,
  context: Omit<ExplainContext, 'store'>,
): Promise<readonly WaitReason[]> {
  if (task.kind === 'invoke') {
    const { childWorkflowRunId, childCreatedAt } = task;
    return [{ kind: 'waiting-for-run', workflowRunId: childWorkflowRunId, workflowCreatedAt: childCreatedAt }];
  }
  if (task.dueAt === null) return [];
  switch (task.kind) {
    case 'sleep':
      return [{ kind: 'sleeping', until: task.wakeAt }];
    case 'wait':
      return [{ kind: 'waiting-for-event', eventIds: task.eventIds, until: task.deadlineAt }];
    case 'notify':
      return [{ kind: 'queued' }];
    default:
      return deliveryReasons(task, task.dueAt, pendingRun, context);
  }
}

async function explainTask(task: Task, pendingRun: PendingRun, context: ExplainContext): Promise<ExplainedTask> {
  const reasons = await reasonsOf(task, pendingRun, context);
  if (task.kind === 'advance') return { what: 'workflow', reasons };
  if (task.kind === 'message') return { what: 'message', reasons };
  if (task.kind === 'callback') return { what: 'failure-callback', reasons };
  return { what: 'step', stepId: task.slot, stepName: task.name, stepType: stepTypeOf(task), reasons };
}

/** Resolves with the run of a plain message; null if the instance has no such message. */
async function findMessageRun(
  store: RunStore & HistoryStore,
  { instanceId, workflowRunId }: { readonly instanceId: string; readonly workflowRunId: string },
  runKey: string,
): Promise<RunRecord | null> {
  const run = await store.findRun({ runKey });
  return run?.instanceId === instanceId && run.workflowRunId === workflowRunId ? run : null;
}

/** Resolves with the errors of the last attempts of tasks that are retried, by message id. */
async function readLastFailures(
  store: RunStore & HistoryStore,
  { key }: RunRecord,
  tasks: readonly Task[],
): Promise<ReadonlyMap<string, string>> {
  const failures = new Map<string, string>();
  const retriedMessageIds = new Set(tasks.flatMap((task) => ('retried' in task && task.retried > 0 ? [task.messageId] : [])));
  if (retriedMessageIds.size === 0) return failures;
  for await (const attempts of readAttempts(store, { runKey: key, bounds: PART_LIMITS }))
    for (const { messageId, message } of attempts) if (retriedMessageIds.has(messageId)) failures.set(messageId, message);
  return failures;
}

export async function explainRun(
  context: ExplainContext,
  query: { readonly instanceId: string; readonly workflowRunId: string; readonly createdAt?: number },
): Promise<Explanation | null> {
  const messageRunKey = runKeyOfMessage(query.workflowRunId);
  const run =
    (await context.store.findRun(query)) ??
    (messageRunKey === null ? null : await findMessageRun(context.store, query, messageRunKey));
  const history = run && (await context.store.runHistory({ runKey: run.key, bounds: PART_LIMITS, maxOutBytes: 0 }));
  if (!history) return null;
  const isActive = history.run.status === 'active';
  // Open tasks of a run that has ended are not pending, except its failure callback.
  const tasks = history.tasks.filter(({ slot, dueAt }) => isActive || (slot === CALLBACK_SLOT && dueAt !== null));
  const pendingRun = { run: history.run, failures: await readLastFailures(context.store, history.run, tasks) };
  return {
    run: history.run,
    tasks: await Promise.all(tasks.map((task) => explainTask(task, pendingRun, context))),
    ...(isActive && history.next.tasks !== null ? { shortened: true } : {}),
  };
}
