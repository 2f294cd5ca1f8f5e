/**
 * Starts the runs that steps invoke. The task of the step is due until the run is created, and then waits without a due time.
 * It becomes due again in the unit that ends the run. A scan therefore finds it after a crash at any point. Keeps invariant 12.
 */
import type { InvokeOutcome, InvokeSpec } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { DecisionContext } from '../../engine/ids.js';
import { incrementDailyCount } from '../../engine/limits/metering.js';
import type { Run, RunPayload, RunTrace, Task } from '../../engine/runs/run.js';
import { settingsFrom } from '../../engine/runs/settings.js';
import { type StartCommand, startRun } from '../../engine/runs/start.js';
import { withFullResult } from '../../ports/stores/history-parts.js';
import type { HistoryStore } from '../../ports/stores/history-store.js';
import type { InstanceLimits, RunAdmission, RunRefusal } from '../../ports/stores/instance-limits.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { FullRunRecord } from '../../ports/stores/store.js';
import type { Traces } from '../../ports/traces.js';
import { decodeBody } from '../dispatch/requests/encoded-body.js';
import type { Decisions } from '../runs/decisions.js';
import type { CachedRun } from '../runs/run-cache.js';

type InvokeTask = Extract<Task, { kind: 'invoke' }>;

export interface InvocationsOptions {
  readonly store: RunStore & Pick<HistoryStore, 'loadResult'>;
  readonly decisions: Decisions;
  readonly limits: Pick<InstanceLimits, 'admitRuns' | 'releaseRuns' | 'recount'>;
  readonly context: () => DecisionContext;
  readonly traces: Pick<Traces, 'contextOfInvokedRun'>;
  /** Drives a durable run. */
  readonly drive: (run: Run, payload: RunPayload) => void;
}

function payloadOf(spec: InvokeSpec): RunPayload {
  return {
    body: spec.body ? decodeBody(spec.body) : new Uint8Array(),
    contentType: spec.contentType ?? null,
    forwardHeaders: spec.headers,
  };
}

/** Returns the error code that the API returns for a rejected trigger. */
const codeOf = ({ kind }: RunRefusal) => (kind === 'daily-limit' ? 'daily-limit-reached' : kind);

/** Returns the command that starts the invoked run. */
function startCommandOf(
  parent: Run,
  task: InvokeTask,
  spec: InvokeSpec,
  { at: admittedAt }: RunAdmission,
  trace: RunTrace | undefined,
): StartCommand {
  return {
    instanceId: parent.instanceId,
    dialect: parent.dialect,
    workflowUrl: spec.workflowUrl,
    payload: payloadOf(spec),
    settings: settingsFrom({
      maxRetries: spec.retries ?? LIMITS.defaultRetries,
      retryDelay: spec.retryDelay ?? null,
      deliveryTimeoutMs: spec.timeoutMs ?? LIMITS.defaultDeliveryTimeoutMs,
      labels: spec.labels ?? [],
      flowControl: spec.flowControl ?? null,
      failureCallback: spec.failureCallback ?? null,
      steps: parent.settings.steps && { ...parent.settings.steps, introduced: true },
      // Data that is redacted in a run is also redacted in the run that it invokes.
      redact: parent.settings.redact,
      trace,
      message: undefined,
    }),
    callerIp: parent.callerIp,
    workflowRunId: spec.workflowRunId ?? null,
    notBefore: null,
    deduplicationId: null,
    key: task.childRunKey,
    admittedAt,
    origin: {
      kind: 'invoke',
      runKey: parent.key,
      workflowRunId: parent.workflowRunId,
      workflowCreatedAt: parent.createdAt,
      stepId: task.slot,
      stepName: task.name,
      depth: parent.origin?.kind === 'invoke' ? parent.origin.depth + 1 : 1,
    },
  };
}

function outcomeOf(child: FullRunRecord): InvokeOutcome | null {
  const reference = { workflowRunId: child.workflowRunId, workflowCreatedAt: child.createdAt };
  switch (child.status) {
    case 'succeeded':
      return { ...reference, state: 'succeeded', ...(child.result === null ? {} : { result: child.result }) };
    case 'failed':
      return { ...reference, state: 'failed', error: child.error ?? 'the run failed' };
    case 'canceled':
      return { ...reference, state: 'canceled' };
    case 'active':
      return null;
  }
}

export class Invocations {
  private readonly options: InvocationsOptions;
  /** Keys of runs that are being created. The tasks that invoke them are due in the store until then. */
  private readonly runKeysBeingCreated = new Set<string>();

  constructor(options: InvocationsOptions) {
    this.options = options;
  }

  /** Handles a due task: creates its run, or records the end of the run. */
  async handleTask(entry: CachedRun, task: InvokeTask): Promise<void> {
    const { store } = this.options;
    const record = await store.findRun({ runKey: task.childRunKey });
    if (!record && task.invoke !== null) return this.startOnce(entry, task, task.invoke);
    const child = record && (await withFullResult(store, record));
    const outcome = child
      ? outcomeOf(child)
      : this.failedOutcome(task, 'the invoked run was removed before its end was recorded');
    // While the run is active, there is nothing to do. This method is called again when the run ends.
    if (outcome) await this.recordEnd(entry.run.key, task, outcome);
  }

  /** Called when an invoked run has ended. */
  async childEnded(childRunKey: string): Promise<void> {
    const { store, decisions } = this.options;
    const invoker = await store.findInvoker({ childRunKey });
    const openTask = invoker && (await decisions.openTask(invoker.runKey, invoker.slot));
    if (openTask?.task.kind === 'invoke') await this.handleTask(openTask.entry, openTask.task);
  }

  private async startOnce(entry: CachedRun, task: InvokeTask, spec: InvokeSpec): Promise<void> {
    if (this.runKeysBeingCreated.has(task.childRunKey)) return;
    this.runKeysBeingCreated.add(task.childRunKey);
    try {
      await this.start(entry, task, spec);
    } finally {
      this.runKeysBeingCreated.delete(task.childRunKey);
    }
  }

  private async start(entry: CachedRun, task: InvokeTask, spec: InvokeSpec): Promise<void> {
    const { limits, traces } = this.options;
    const { instanceId } = entry.run;
    const admission = await limits.admitRuns(instanceId, 1);
    if (admission.kind !== 'admitted') return this.refuse(entry.run, task, admission);
    try {
      const command = startCommandOf(entry.run, task, spec, admission, traces.contextOfInvokedRun(entry.run, task.messageId));
      if (!(await this.startAdmitted(entry, task, command))) limits.releaseRuns(instanceId, 1, admission);
    } catch (error) {
      limits.recount(instanceId);
      throw error;
    }
  }

  /** Records a rejected trigger as the result of the step, which the code of the workflow handles. */
  private async refuse(parent: Run, task: InvokeTask, refusal: RunRefusal): Promise<void> {
    const { decisions, context } = this.options;
    const code = codeOf(refusal);
    const message = `the workflow was not started: ${refusal.message} (${code})`;
    await this.recordEnd(parent.key, task, this.failedOutcome(task, message));
    await decisions.commit({ guards: [], writes: [incrementDailyCount(parent.instanceId, `step-${code}`, context())] });
  }

  /** Starts the run of an admitted invocation. Returns false if no run was started. */
  private async startAdmitted(entry: CachedRun, task: InvokeTask, command: StartCommand): Promise<boolean> {
    const { decisions, context, drive } = this.options;
    const parent = entry.run;
    const { run, unit } = startRun(command, context());
    const openGuard = { kind: 'task-open', runKey: parent.key, slot: task.slot, messageId: task.messageId } as const;
    const result = await decisions.commit({ ...unit, guards: [openGuard, ...unit.guards] });
    if (result.kind === 'run-id-taken') {
      const message = `a run with the id ${task.childWorkflowRunId} is active already`;
      await this.recordEnd(parent.key, task, this.failedOutcome(task, message));
    }
    if (result.kind !== 'applied') return false;
    const { slot, messageId } = task;
    try {
      // Must be recorded before the child is delivered, so that it does not overwrite the end of the child.
      await decisions.decideOn(parent.key, { kind: 'invoke-started', slot, messageId, createdAt: run.createdAt });
    } finally {
      drive(run, command.payload);
    }
    return true;
  }

  private failedOutcome(task: InvokeTask, error: string): InvokeOutcome {
    return { workflowRunId: task.childWorkflowRunId, workflowCreatedAt: task.childCreatedAt, state: 'failed', error };
  }

  private async recordEnd(runKey: string, { slot, messageId }: InvokeTask, outcome: InvokeOutcome): Promise<void> {
    await this.options.decisions.decideOn(runKey, { kind: 'invoke-ended', slot, messageId, outcome });
  }
}
