/** Reads whether the conditions of alert rules currently hold. Rules about failures are evaluated from events instead. */
import type { AlertCondition, AlertRule, EventCondition } from '../../engine/alerts/alert-settings.js';
import type { Finding } from '../../engine/alerts/evaluation.js';
import { MINUTE_MS, startOfMinute } from '../../engine/insights/counts.js';
import type { InsightStore } from '../../ports/stores/insights/insight-store.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { ScheduleStore } from '../../ports/stores/schedule-store.js';
import type { WorkerPresence } from '../../ports/workers.js';
import type { FlowControlService } from '../interface/flow-control.js';

/** Maximum number of subjects of a rule in one round. */
const MAX_SUBJECTS = 20;
/** Maximum number of messages of a queue that are read in one round. */
const MAX_QUEUED_MESSAGES = 100;
const SECOND_MS = 1_000;
const ALL_WORKFLOWS = 'all workflows';

/** Spending of an instance in the current month, in dollars. A budget of 0 means no limit. */
export interface BudgetShare {
  readonly month: string;
  readonly spent: number;
  readonly budget: number;
}

/** A period in which the store rejected writes. Times are Unix ms. */
export interface StoreTrouble {
  readonly from: number;
  readonly to: number;
}

export interface ConditionReaderOptions {
  readonly store: Pick<RunStore, 'listRuns'> & Pick<ScheduleStore, 'dueSchedules'> & { readonly insights: InsightStore };
  readonly flowControl: Pick<FlowControlService, 'find' | 'waitList'>;
  readonly workers: Pick<WorkerPresence, 'missingSince'>;
  /** Returns the spending of an instance; null if the instance does not exist. */
  readonly budgetOf: (instanceId: string) => Promise<BudgetShare | null>;
}

/** A rule that checks the current state. */
export interface StateRule extends AlertRule {
  readonly condition: Exclude<AlertCondition, EventCondition>;
}

type ConditionOf<Kind extends AlertCondition['kind']> = Extract<AlertCondition, { readonly kind: Kind }>;

interface EvaluationContext {
  readonly instanceId: string;
  /** Time of the round, Unix ms. */
  readonly now: number;
  readonly trouble: StoreTrouble | null;
}

const durationText = (ms: number): string =>
  ms < 2 * MINUTE_MS ? `${Math.round(ms / SECOND_MS)} s` : `${Math.round(ms / MINUTE_MS)} min`;

export class ConditionReader {
  private readonly options: ConditionReaderOptions;

  constructor(options: ConditionReaderOptions) {
    this.options = options;
  }

  /** Returns what the rule finds, one finding for each subject. */
  async read({ condition, createdAt }: StateRule, context: EvaluationContext): Promise<readonly Finding[]> {
    switch (condition.kind) {
      case 'failure-rate':
        return this.checkFailureRate(condition, context);
      case 'pending-age':
        return this.checkPendingAge(condition, context);
      case 'schedule-missed':
        return this.findMissedSchedules(condition, context);
      case 'run-age':
        return this.findOldRun(condition, context);
      case 'no-worker':
        return this.findMissingWorker(condition, context);
      case 'budget':
        return this.checkBudget(condition, context);
      case 'store-trouble':
        return checkStoreTrouble(createdAt, context);
    }
  }

  private async checkFailureRate(
    condition: ConditionOf<'failure-rate'>,
    { instanceId, now }: EvaluationContext,
  ): Promise<readonly Finding[]> {
    const { workflowUrl, percent, windowMs, minRuns } = condition;
    const currentMinute = startOfMinute(now);
    // The window includes the current, incomplete minute, so that it is never shorter than the rule specifies.
    const time = { from: currentMinute - Math.ceil(windowMs / MINUTE_MS) * MINUTE_MS, to: currentMinute + MINUTE_MS };
    const subject = workflowUrl === undefined ? 'runs' : { workflow: workflowUrl };
    let [failedRuns, endedRuns] = [0, 0];
    for (const { counts } of await this.options.store.insights.series({ instanceId, subject, period: 'minute', ...time })) {
      failedRuns += counts.failed;
      endedRuns += counts.failed + counts.succeeded;
    }
    if (endedRuns < minRuns || failedRuns * 100 < endedRuns * percent) return [];
    const workflowName = workflowUrl ?? ALL_WORKFLOWS;
    const failedPercent = Math.round((failedRuns * 100) / endedRuns);
    const summary = `${failedPercent}% of the runs of ${workflowName} failed in the last ${durationText(windowMs)} (${failedRuns} of ${endedRuns}).`;
    return [{ subject: workflowName, at: now, details: { summary, ...(workflowUrl === undefined ? {} : { workflowUrl }) } }];
  }

  private async checkPendingAge(
    condition: ConditionOf<'pending-age'>,
    { instanceId, now }: EvaluationContext,
  ): Promise<readonly Finding[]> {
    const { queue, flowControlKey, maxAgeMs } = condition;
    const since =
      queue === undefined
        ? await this.findWaitingSinceInKey(instanceId, flowControlKey ?? '')
        : await this.findWaitingSinceInQueue(instanceId, queue, now - maxAgeMs);
    if (since === null || now - since < maxAgeMs) return [];
    const [subject, waiterKind] =
      queue === undefined ? [`flow control key ${flowControlKey}`, 'delivery'] : [`queue ${queue}`, 'message'];
    const summary = `The oldest ${waiterKind} of the ${subject} has waited for ${durationText(now - since)}.`;
    return [{ subject, at: now, details: { summary } }];
  }

  /** Returns the time since which the first delivery of the key has waited, Unix ms; null if there is none. */
  private async findWaitingSinceInKey(instanceId: string, key: string): Promise<number | null> {
    const { flowControl } = this.options;
    // The state of a key is cheap to read. On a node without the gates, its wait list can require a scan of due tasks.
    const status = await flowControl.find({ instanceId, key });
    if (!status || status.waiting === 0) return null;
    const waitList = await flowControl.waitList({ instanceId, key, limit: 1 });
    return waitList?.waiting[0]?.since ?? null;
  }

  /**
   * Returns the time since which the oldest message of the queue has waited, Unix ms; null if there is none. Messages that were
   * created after `until` (Unix ms) are not read, because they cannot be old enough.
   */
  private async findWaitingSinceInQueue(instanceId: string, queue: string, until: number): Promise<number | null> {
    const { items } = await this.options.store.listRuns({
      instanceId,
      filter: { kind: 'message', queues: [queue], statuses: ['active'], toDate: until },
      ...{ order: 'oldest-first', after: null, horizon: null, limit: MAX_QUEUED_MESSAGES },
    });
    if (items.length === 0) return null;
    return Math.min(...items.map(({ createdAt, settings }) => Math.max(createdAt, settings.message?.notBefore ?? 0)));
  }

  private async findMissedSchedules(
    { forMs }: ConditionOf<'schedule-missed'>,
    { instanceId, now }: EvaluationContext,
  ): Promise<readonly Finding[]> {
    const overdueSchedules = await this.options.store.dueSchedules({ instanceId, before: now - forMs, limit: MAX_SUBJECTS });
    return overdueSchedules.map(({ scheduleId, workflowUrl }) => {
      const summary = `The schedule ${scheduleId} is late by more than ${durationText(forMs)}.`;
      return { subject: scheduleId, at: now, details: { summary, workflowUrl } };
    });
  }

  private async findOldRun(
    condition: ConditionOf<'run-age'>,
    { instanceId, now }: EvaluationContext,
  ): Promise<readonly Finding[]> {
    const { workflowUrl, label, maxAgeMs } = condition;
    const { items } = await this.options.store.listRuns({
      instanceId,
      filter: {
        statuses: ['active'],
        toDate: now - maxAgeMs,
        ...(workflowUrl === undefined ? {} : { workflowUrls: [workflowUrl] }),
        ...(label === undefined ? {} : { labels: [label] }),
      },
      ...{ order: 'oldest-first', after: null, horizon: null, limit: 1 },
    });
    const [oldestRun] = items;
    if (!oldestRun) return [];
    const { workflowRunId, workflowUrl: url } = oldestRun;
    const summary = `A run of ${url} has been active for more than ${durationText(maxAgeMs)}.`;
    return [{ subject: workflowUrl ?? ALL_WORKFLOWS, at: now, details: { summary, workflowUrl: url, workflowRunId } }];
  }

  private findMissingWorker(
    { workflowUrl, forMs }: ConditionOf<'no-worker'>,
    { instanceId, now }: EvaluationContext,
  ): readonly Finding[] {
    const since = this.options.workers.missingSince(instanceId, workflowUrl);
    if (since === null) return [];
    const summary = `No connected worker has served ${workflowUrl} for ${durationText(forMs)}.`;
    // A process does not know since when the worker was missing before its start, so an open alert ends only with a worker.
    return [{ subject: workflowUrl, at: now, details: { summary, workflowUrl }, isTooRecent: now - since < forMs }];
  }

  private async checkBudget(
    { percent }: ConditionOf<'budget'>,
    { instanceId, now }: EvaluationContext,
  ): Promise<readonly Finding[]> {
    const share = await this.options.budgetOf(instanceId);
    if (!share || share.budget <= 0 || share.spent * 100 < share.budget * percent) return [];
    const summary = `At least ${percent}% of the budget of ${share.month} is spent.`;
    return [{ subject: share.month, at: now, details: { summary } }];
  }
}

function checkStoreTrouble(ruleCreatedAt: number, { trouble }: EvaluationContext): readonly Finding[] {
  if (!trouble || trouble.to < ruleCreatedAt) return [];
  const { from, to } = trouble;
  const summary = `The store rejected writes for ${durationText(to - from)}, from ${new Date(from).toISOString()}.`;
  return [{ subject: 'store', at: to, details: { summary } }];
}
