/** Handles requests about runs: starts, forks and cancels them, records submissions, and waits for their end. */
import { startRun } from '../../engine/runs/start.js';
import type { Clock } from '../../ports/clock.js';
import type { StepCaller } from '../../ports/step-caller.js';
import type { HistoryStore } from '../../ports/stores/history-store.js';
import type { InstanceLimits } from '../../ports/stores/instance-limits.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { RunRecord, RunReference } from '../../ports/stores/store.js';
import { executeFork, type ForksOptions } from '../forks/forks.js';
import type { StagingOptions } from '../forks/staging.js';
import type { Explanation } from '../interface/explanation.js';
import type {
  CancelOutcome,
  CheckedRun,
  ForkCommand,
  ForkOutcome,
  RunService,
  TriggerCommand,
  TriggerOutcome,
} from '../interface/runs.js';
import { explainRun } from '../runs/explain.js';
import { checkReplays } from '../runs/replay-checks.js';
import type { RunDriver } from '../runs/run-driver.js';
import { referenceOf } from '../runs/run-starts.js';
import { waitsOf } from '../runs/waits.js';

export interface RunsOptions {
  readonly store: ForksOptions['store'] & RunStore & HistoryStore;
  readonly clock: Clock;
  readonly stepCaller: StepCaller;
  readonly limits: InstanceLimits;
  readonly driver: RunDriver;
  readonly slices: StagingOptions['slices'];
}

export class Runs implements RunService {
  private readonly options: RunsOptions;

  constructor(options: RunsOptions) {
    this.options = options;
  }

  async trigger(command: TriggerCommand): Promise<TriggerOutcome> {
    const { driver } = this.options;
    const startedRun = startRun(command, driver.context);
    const result = await driver.decisions.commit(startedRun.unit);
    switch (result.kind) {
      case 'applied':
        driver.drive(startedRun, command.payload);
        return { kind: 'started', run: referenceOf(startedRun) };
      case 'run-id-taken':
      case 'duplicate':
        return { kind: 'deduplicated', run: result.run };
      default:
        throw new Error(`a trigger cannot end as ${result.kind}`);
    }
  }

  fork(command: ForkCommand): Promise<ForkOutcome> {
    const { store, limits, slices, driver } = this.options;
    return executeFork(
      {
        store,
        limits,
        slices,
        commit: (unit) => driver.decisions.commit(unit),
        context: () => driver.context,
        drive: (startedRun, payload) => driver.drive(startedRun, payload),
      },
      command,
    );
  }

  async submit(command: Parameters<RunService['submit']>[0]): ReturnType<RunService['submit']> {
    const { instanceId, workflowRunId, createdAt, submission } = command;
    const isIdentified = createdAt !== undefined;
    const run = await this.options.store.findRun({ instanceId, workflowRunId, ...(isIdentified ? { createdAt } : {}) });
    if (!run) return 'not-found';
    return this.options.driver.submit(run.key, submission, { isIdentified });
  }

  async cancel(command: Parameters<RunService['cancel']>[0]): Promise<CancelOutcome> {
    const run = await this.options.store.findRun(command);
    if (!run) return { kind: 'not-found' };
    return { kind: (await this.options.driver.cancel(run.key)) ? 'canceled' : 'not-active' };
  }

  async cancelAll({ runKeys }: { readonly runKeys: readonly string[] }): Promise<number> {
    const results = await Promise.all(runKeys.map((runKey) => this.options.driver.cancel(runKey)));
    return results.filter(Boolean).length;
  }

  async awaitEnd(query: {
    readonly instanceId: string;
    readonly run: RunReference;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal;
  }): Promise<RunRecord | null> {
    const { store, driver } = this.options;
    const { instanceId, run, timeoutMs, signal } = query;
    // Watch before the check, so that an end between the two is not missed.
    const watch = driver.ends.watch(run.runKey, timeoutMs, signal);
    if (!(await driver.decisions.isActive(run.runKey))) watch.cancel();
    await watch.ended;
    const record = await store.findRun({ runKey: run.runKey });
    return record?.instanceId === instanceId && record.status !== 'active' ? record : null;
  }

  explain(query: Parameters<RunService['explain']>[0]): Promise<Explanation | null> {
    const { store, clock, driver } = this.options;
    return explainRun({ store, now: clock.now(), dispatcher: driver.dispatcher }, query);
  }

  now(): number {
    return this.options.clock.now();
  }

  waits(runs: Parameters<RunService['waits']>[0]): ReturnType<RunService['waits']> {
    const { clock, driver } = this.options;
    return waitsOf({ now: clock.now(), dispatcher: driver.dispatcher }, runs);
  }

  checkReplays(query: { readonly runKeys: readonly string[]; readonly signal: AbortSignal }): Promise<readonly CheckedRun[]> {
    return checkReplays(this.options, query.runKeys, query.signal);
  }
}
