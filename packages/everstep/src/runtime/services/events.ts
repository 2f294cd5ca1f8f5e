/** Notifies the runs that wait for an event, each exactly once. An event for a single run that does not wait yet is stored. */
import type { EventContent, NotifyOutcome as NotifyStepOutcome } from '@everstep/sdk/protocol';
import type { DecisionContext } from '../../engine/ids.js';
import { newKey } from '../../engine/ids.js';
import type { Decision } from '../../engine/runs/decision.js';
import { ADVANCE_SLOT, type Run, type Task } from '../../engine/runs/run.js';
import { exceedsEventLimits } from '../../engine/runs/waits.js';
import type { EventStore } from '../../ports/stores/event-store.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { WaiterRecord } from '../../ports/stores/store.js';
import type { Traces } from '../../ports/traces.js';
import type { EventService, NotifiedRun, NotifyCommand, NotifyOutcome, WebhookId } from '../interface/events.js';
import type { Decisions } from '../runs/decisions.js';
import type { CachedRun } from '../runs/run-cache.js';

/** Maximum number of waits per read, and of runs that are notified at the same time. */
const PAGE_SIZE = 500;

type NotifyTask = Extract<Task, { kind: 'notify' }>;

export interface EventsOptions {
  readonly store: RunStore & EventStore;
  readonly decisions: Decisions;
  readonly context: () => DecisionContext;
  readonly isDeleted: (instanceId: string) => boolean;
  readonly traces: Pick<Traces, 'contextOfNotification'>;
}

/** Returns the id of the message that makes the code of a notified run continue. */
const continuationMessageId = (decision: Decision): string | undefined => decision.run.tasks.get(ADVANCE_SLOT)?.messageId;

function waiterOf(run: Run, task: Extract<Task, { kind: 'wait' }>, eventId: string): WaiterRecord {
  return {
    eventId,
    runKey: run.key,
    slot: task.slot,
    workflowRunId: run.workflowRunId,
    workflowCreatedAt: run.createdAt,
    workflowUrl: run.workflowUrl,
    dialect: run.dialect,
    stepName: task.name,
    deadlineAt: task.deadlineAt,
    since: task.createdAt,
  };
}

/** Returns the key of the run that created the webhook. */
const runKeyInEventId = (eventId: string): string => eventId.slice(eventId.indexOf('.') + 1);

export class Events implements EventService {
  private readonly options: EventsOptions;
  /** Message ids of notify steps in progress. Their tasks are due in the store until they are done. */
  private readonly inProgress = new Set<string>();

  constructor(options: EventsOptions) {
    this.options = options;
  }

  async notify(command: NotifyCommand): Promise<NotifyOutcome> {
    if (command.workflowRunId === null) return { kind: 'notified', notified: await this.notifyAll(command) };
    const { instanceId, workflowRunId } = command;
    const run = await this.options.store.findRun({ instanceId, workflowRunId });
    if (!run) return { kind: 'run-not-found' };
    return this.receive(run.key, command.eventId, command.content);
  }

  async instanceOfWebhook({ eventId, of }: WebhookId): Promise<string | null> {
    const { store, isDeleted } = this.options;
    const runKey = await this.runKeyOfWebhook({ eventId, of });
    if (!(await store.hasWebhook({ runKey, eventId }))) return null;
    const instanceId = (await store.findRun({ runKey }))?.instanceId;
    return instanceId === undefined || isDeleted(instanceId) ? null : instanceId;
  }

  /** Returns the key of the run that created the webhook, or a key that no run has. */
  private async runKeyOfWebhook({ eventId, of }: WebhookId): Promise<string> {
    return of ? ((await this.options.store.findRun(of))?.key ?? '') : runKeyInEventId(eventId);
  }

  /** Delivers the request as an event to the run that created the webhook, or to the run that resumed it. */
  async callWebhook({
    eventId,
    content,
    of,
  }: WebhookId & { readonly content: EventContent }): Promise<'taken' | 'not-found' | 'too-many-kept'> {
    const { store } = this.options;
    let runKey = await this.runKeyOfWebhook({ eventId, of });
    if (!(await store.hasWebhook({ runKey, eventId }))) return 'not-found';
    for (;;) {
      const recoveredAs = (await store.findRun({ runKey }))?.recoveredAs;
      if (recoveredAs?.kind !== 'resume') break;
      runKey = recoveredAs.runKey;
    }
    const outcome = await this.receive(runKey, eventId, content);
    switch (outcome.kind) {
      case 'notified':
      case 'kept':
        return 'taken';
      case 'too-many-kept':
        return 'too-many-kept';
      default:
        return 'not-found';
    }
  }

  /** Executes a notify step. Runs that were notified before a crash no longer wait, so they are not notified twice. */
  async executeNotify(entry: CachedRun, task: NotifyTask): Promise<void> {
    if (this.inProgress.has(task.messageId)) return;
    this.inProgress.add(task.messageId);
    try {
      await this.notifyAndRecord(entry, task);
    } finally {
      this.inProgress.delete(task.messageId);
    }
  }

  private async notifyAndRecord(entry: CachedRun, task: NotifyTask): Promise<void> {
    const { instanceId } = entry.run;
    const { slot, messageId, eventId, workflowRunId, content } = task;
    const trace = this.options.traces.contextOfNotification(entry.run, messageId);
    const tracedContent = trace ? { ...content, trace } : content;
    const notifyOutcome = await this.notify({ instanceId, eventId, workflowRunId, content: tracedContent });
    const notifiedRuns = notifyOutcome.kind === 'notified' ? notifyOutcome.notified : [];
    const outcome: NotifyStepOutcome = {
      notified: notifiedRuns.map(({ waiter, messageId }) => ({
        messageId,
        workflowRunId: waiter.workflowRunId,
        workflowUrl: waiter.workflowUrl,
      })),
      kept: notifyOutcome.kind === 'kept',
    };
    await this.options.decisions.decideOn(entry.run.key, { kind: 'notify-done', slot, messageId, outcome });
  }

  private async notifyAll(command: NotifyCommand): Promise<readonly NotifiedRun[]> {
    const { eventId, content } = command;
    const waiters = await this.waitersOf(command);
    const notifiedRuns: NotifiedRun[] = [];
    for (let from = 0; from < waiters.length; from += PAGE_SIZE) {
      const decisions = await Promise.all(
        waiters.slice(from, from + PAGE_SIZE).map(async (waiter) => {
          const event = { kind: 'notified', slot: waiter.slot, eventId, content } as const;
          return { waiter, decision: await this.options.decisions.decideOn(waiter.runKey, event) };
        }),
      );
      for (const { waiter, decision } of decisions) {
        if (decision) notifiedRuns.push({ waiter, messageId: continuationMessageId(decision) ?? waiter.runKey });
      }
    }
    return notifiedRuns;
  }

  /** Reads all waits before the first run is notified. Otherwise a run that immediately waits again would be found forever. */
  private async waitersOf({ instanceId, eventId }: NotifyCommand): Promise<readonly WaiterRecord[]> {
    const waiters: WaiterRecord[] = [];
    for (;;) {
      const after = waiters.at(-1) ?? null;
      const page = await this.options.store.listWaiters({ instanceId, eventId, after, limit: PAGE_SIZE });
      waiters.push(...page);
      if (page.length < PAGE_SIZE) return waiters;
    }
  }

  private async receive(runKey: string, eventId: string, content: EventContent): Promise<NotifyOutcome> {
    const { decisions, context, store } = this.options;
    const decisionContext = context();
    const event = { eventKey: `evt_${newKey(decisionContext)}`, eventId, content, receivedAt: decisionContext.now };
    const waiters: WaiterRecord[] = [];
    const inspect = (run: Run): void => {
      // This can be called again with a later state.
      waiters.length = 0;
      for (const task of run.tasks.values()) {
        if (task.kind === 'wait' && task.dueAt !== null && task.eventIds.includes(eventId))
          waiters.push(waiterOf(run, task, eventId));
      }
    };
    const decision = await decisions.decideOn(runKey, { kind: 'event-received', event }, { inspect });
    if (decision) {
      if (waiters.length === 0) return { kind: 'kept', messageId: event.eventKey };
      const messageId = continuationMessageId(decision) ?? event.eventKey;
      return { kind: 'notified', notified: waiters.map((waiter) => ({ waiter, messageId })) };
    }
    const run = await store.loadRun({ runKey });
    if (!run) return { kind: 'run-not-found' };
    return run.status === 'active' && exceedsEventLimits([...run.keptEvents, event])
      ? { kind: 'too-many-kept' }
      : { kind: 'run-not-active' };
  }
}
