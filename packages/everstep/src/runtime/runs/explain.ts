/** Why a run is where it is: for each thing it owes, what has to come true before it goes on. */
import { PART } from '../../config/limits.js';
import { runKeyOfMessage } from '../../engine/ids.js';
import { callbackRetryRule } from '../../engine/messages/callback.js';
import { CALLBACK_SLOT, type RunSettings, type Task } from '../../engine/runs/run.js';
import { stepTypeOf } from '../../engine/runs/step-type.js';
import { attemptsOf } from '../../ports/stores/history-parts.js';
import type { HistoryStore, RunRecord, RunStore } from '../../ports/stores/store.js';
import type { DeliveryRef } from '../gates/delivery.js';
import type { ExplainedTask, Explanation, QueuedBecause, WaitReason } from '../services/workflow-service.js';

/** What the driver knows of a task that the store does not. */
export interface LiveState {
  /** What holds it back at the gates; empty when nothing does. */
  reasons(ticket: DeliveryRef): readonly WaitReason[];
  isInFlight(ticket: DeliveryRef): boolean;
  /** Why it waits for a slot; null when it does not, or not here. */
  queuedBecause(ticket: DeliveryRef): QueuedBecause | null;
  /** Why what is not due yet will not go when it is; null when its destination is not held. */
  heldAt(instanceId: string, url: string): Promise<WaitReason | null>;
}

/** Of a run. */
interface Owed {
  readonly run: RunRecord;
  /** Why the last attempt of a message failed, by the message. */
  readonly failures: ReadonlyMap<string, string>;
}

interface Question {
  readonly store: RunStore & HistoryStore;
  readonly live: LiveState;
  /** Unix ms. */
  readonly now: number;
}

function urlOf(task: Task, { run }: Owed): string {
  const { workflowUrl, settings } = run;
  if (task.kind === 'call') return task.call.url;
  return task.kind === 'callback' ? (settings.failureCallback?.url ?? workflowUrl) : workflowUrl;
}

function maxRetriesOf(task: Task, settings: RunSettings): number {
  if (task.kind === 'call') return task.call.retries ?? 0;
  return task.kind === 'callback' ? callbackRetryRule(settings).maxRetries : settings.maxRetries;
}

/** Of a task that is delivered to somebody. */
async function deliveryReasons(
  task: Extract<Task, { readonly retried: number }>,
  dueAt: number,
  owed: Owed,
  { live, now }: Question,
): Promise<readonly WaitReason[]> {
  const { run, failures } = owed;
  const ticket = { runKey: run.key, slot: task.slot };
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
    const held = await live.heldAt(run.instanceId, urlOf(task, owed));
    return held ? [...reasons, held] : reasons;
  }
  if (live.isInFlight(ticket)) return [...reasons, { kind: 'in-flight', url: urlOf(task, owed) }];
  const held = live.reasons(ticket);
  if (held.length > 0) return [...reasons, ...held];
  const because = live.queuedBecause(ticket);
  return [...reasons, { kind: 'queued', ...(because ? { because } : {}) }];
}

async function reasonsOf(task: Task, owed: Owed, question: Question): Promise<readonly WaitReason[]> {
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
      return deliveryReasons(task, task.dueAt, owed, question);
  }
}

async function explainTask(task: Task, owed: Owed, question: Question): Promise<ExplainedTask> {
  const reasons = await reasonsOf(task, owed, question);
  if (task.kind === 'advance') return { what: 'workflow', reasons };
  if (task.kind === 'message') return { what: 'message', reasons };
  if (task.kind === 'callback') return { what: 'failure-callback', reasons };
  return { what: 'step', stepId: task.slot, stepName: task.name, stepType: stepTypeOf(task), reasons };
}

async function messageOf(
  store: RunStore & HistoryStore,
  { instanceId, workflowRunId }: { readonly instanceId: string; readonly workflowRunId: string },
  runKey: string,
): Promise<RunRecord | null> {
  const run = await store.findRun({ runKey });
  return run?.instanceId === instanceId && run.workflowRunId === workflowRunId ? run : null;
}

/** Why the last attempt failed of those tasks that are tried again, by their messages. */
async function lastFailures(
  store: RunStore & HistoryStore,
  { key }: RunRecord,
  tasks: readonly Task[],
): Promise<ReadonlyMap<string, string>> {
  const failures = new Map<string, string>();
  const retried = new Set(tasks.flatMap((task) => ('retried' in task && task.retried > 0 ? [task.messageId] : [])));
  if (retried.size === 0) return failures;
  for await (const attempts of attemptsOf(store, { runKey: key, bounds: PART }))
    for (const { messageId, message } of attempts) if (retried.has(messageId)) failures.set(messageId, message);
  return failures;
}

export async function explainRun(
  question: Question,
  query: { readonly instanceId: string; readonly workflowRunId: string; readonly createdAt?: number },
): Promise<Explanation | null> {
  const message = runKeyOfMessage(query.workflowRunId);
  const run =
    (await question.store.findRun(query)) ?? (message === null ? null : await messageOf(question.store, query, message));
  const history = run && (await question.store.runHistory({ runKey: run.key, bounds: PART, maxOutBytes: 0 }));
  if (!history) return null;
  const active = history.run.status === 'active';
  // What a run that has ended left open is owed to nobody, but for the message about its failure.
  const tasks = history.tasks.filter(({ slot, dueAt }) => active || (slot === CALLBACK_SLOT && dueAt !== null));
  const owed = { run: history.run, failures: await lastFailures(question.store, history.run, tasks) };
  return {
    run: history.run,
    tasks: await Promise.all(tasks.map((task) => explainTask(task, owed, question))),
    ...(active && history.next.tasks !== null ? { shortened: true } : {}),
  };
}
