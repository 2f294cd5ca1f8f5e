/**
 * One live execution of a workflow function: the steps that it has requested, the steps that wait for their result,
 * and how much of the journal has been applied.
 *
 * Invariants
 * 1. Positions are assigned in the order of requests, starting at 1, and never reused.
 * 2. The code receives a result only when it is quiet, one result at a time, in journal order. The requested steps
 *    are therefore a function of the applied entries alone.
 * 3. Unconfirmed entries (`unconfirmedCount`) are results of one request, and the last applied ones.
 * 4. A request is handled only after the entries that it relies on are known to match the applied ones.
 *    Entries that were sent are compared directly, the others by their digest.
 * 5. Only the holder of the turn delivers results to the code.
 *
 * An execution without references can be garbage-collected: its promises never settle.
 * Keeps invariant 4 of ARCHITECTURE.md.
 */

import { DecryptionError, JournalMismatchError, NonRetryableError } from '../errors.js';
import {
  type DigestedEntry,
  EMPTY_JOURNAL_DIGEST,
  extendJournalDigest,
  type JournalEntry,
  type PlannedStep,
  type StepRequest,
} from '../protocol.js';
import { microtasksDrained, nextTurn } from './quiet.js';
import { createActionScope, type StepScope } from './step-scope.js';

/** A step that the code has requested and that is not resolved. */
export interface RequestedStep {
  readonly plan: PlannedStep;
  /** Present exactly when the endpoint runs the step. */
  readonly action?: () => unknown;
  /** Resolves the step with the recorded result, or rejects it with the error of reading the result. */
  readonly settle: (recorded: unknown) => void;
  /** True from the decision to run the action until its outcome has been handled. */
  isExecuting: boolean;
  /** Called when the run is canceled while the action runs. Absent if the action does not run. */
  onCancel?: () => void;
}

/** An action that runs. What it leaves open, such as a connection, references this object, but not the execution. */
interface RunningAction {
  /** Null once the action has ended. */
  step: RequestedStep | null;
}

/** How a requested step is executed, and how its result is read. */
export interface StepOptions<T> {
  /** Produces the result of the step here; absent if the server produces it. */
  readonly action?: () => unknown;
  /**
   * Converts the recorded result to what the code receives. If it throws, the step rejects with that error, on every replay. A
   * DecryptionError can be temporary, so it does not reach the code: `apply` throws it.
   */
  readonly read?: (recorded: unknown) => T;
}

/** How the code of a run ended. */
export type Settlement =
  | { readonly kind: 'finished'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'canceled' };

/** Number of entries after which a replay yields to other work. */
const ENTRIES_PER_TURN = 500;
/**
 * How long a replay waits for a recorded step that the code has not requested, while the code waits for other steps.
 * The code may be about to request it after an await that is not a step.
 */
const LATE_REQUEST_MS = 1_000;

const { callingAction, runAsAction } = createActionScope<RunningAction>();

const describeStep = (step: { readonly type: string; readonly name: string }) => `${step.type} ${JSON.stringify(step.name)}`;

const DETERMINISM_RULES =
  'Code before a recorded step must not change while runs are in progress, and must do the same on every replay ' +
  '(between parallel steps: no clock, no randomness, and no await except steps).';

function createSettler<T>(read: (recorded: unknown) => T, resolve: (result: T) => void, reject: (error: unknown) => void) {
  return (recorded: unknown): void => {
    try {
      resolve(read(recorded));
    } catch (error) {
      if (error instanceof DecryptionError) throw error;
      reject(error);
    }
  };
}

/** One live execution of a workflow function. See the invariants above. */
export class Execution {
  /** Unique name of this execution. */
  readonly name: string;
  /** Steps that are requested but not resolved, by position. */
  readonly pending = new Map<number, RequestedStep>();
  /** Ids of messages whose request is in progress on this execution. */
  readonly openMessageIds = new Set<string>();
  /** Number of positions assigned so far. */
  requestedCount = 0;
  /**
   * Number of applied entries at the end that are results of this worker, and that the server has not confirmed to have
   * recorded.
   */
  unconfirmedCount = 0;
  settlement: Settlement | null = null;
  /** True once the execution no longer represents its run. Its work in progress then has no effect on other executions. */
  isDropped = false;
  hasStarted = false;
  /** Digests of the journal by its length, up to the applied entries. */
  private readonly digests = [EMPTY_JOURNAL_DIGEST];
  private isTurnTaken = false;
  private readonly turnQueue: (() => void)[] = [];
  private onActivity: (() => void) | null = null;
  private activeStep: PlannedStep | null = null;

  constructor(name: string) {
    this.name = name;
  }

  /** Number of journal entries that the code has received so far. */
  get appliedCount(): number {
    return this.digests.length - 1;
  }

  /** Waits for the turn and takes it. Returns false if the execution was dropped while it waited. */
  async takeTurn(): Promise<boolean> {
    while (this.isTurnTaken && !this.isDropped) await new Promise<void>((resolve) => this.turnQueue.push(resolve));
    if (this.isDropped) return false;
    this.isTurnTaken = true;
    return true;
  }

  /** Gives the turn to the next caller that waits for it. */
  passTurn(): void {
    this.isTurnTaken = false;
    this.turnQueue.shift()?.();
  }

  /** Marks the execution as dropped and wakes all callers that wait for the turn. */
  drop(): void {
    this.isDropped = true;
    for (const wake of this.turnQueue.splice(0)) wake();
  }

  /**
   * Starts the workflow function. The code is quiet once `untilQuiet` resolves. No closure here may capture `runCode`: it
   * references the request with the whole journal, which would stay in memory as long as the execution.
   */
  start(runCode: () => unknown): void {
    this.hasStarted = true;
    let codePromise: Promise<unknown>;
    try {
      codePromise = Promise.resolve(runCode());
    } catch (error) {
      codePromise = Promise.reject(error);
    }
    codePromise.then(
      (result) => this.settle({ kind: 'finished', result }),
      (error: unknown) => this.settle({ kind: 'failed', error }),
    );
  }

  /** Records how the code ended. Only the first call has an effect. */
  settle(settlement: Settlement): void {
    this.settlement ??= settlement;
    this.onActivity?.();
    // The action that canceled the run would otherwise never end.
    if (this.settlement.kind === 'canceled') for (const { onCancel } of this.pending.values()) onCancel?.();
  }

  /** Assigns the next position to a step that the code requests. */
  requestStep<T>(planAt: (stepId: number) => PlannedStep, { action, read }: StepOptions<T> = {}): Promise<T> {
    const outerStep = this.activeStep ?? this.callingStep;
    if (outerStep !== null) {
      throw new NonRetryableError(
        `step ${JSON.stringify(outerStep.name)} requests another step: steps cannot be nested; request the other step after this one`,
      );
    }
    const plan = planAt(++this.requestedCount);
    const stepPromise = new Promise<T>((resolve, reject) => {
      this.pending.set(plan.stepId, {
        plan,
        ...(action ? { action } : {}),
        settle: read ? createSettler(read, resolve, reject) : (resolve as (recorded: unknown) => void),
        isExecuting: false,
      });
      this.onActivity?.();
    });
    // The code may await the promise later. Until then, an error of `read` must not count as unhandled.
    if (read) stepPromise.catch(() => {});
    return stepPromise;
  }

  /** Resolves when the code is quiet and either has ended or waits for steps. Also waits for awaits that are not steps. */
  async untilQuiet(): Promise<void> {
    await microtasksDrained();
    while (this.settlement === null && this.pending.size === 0) {
      await this.nextActivity();
      await microtasksDrained();
    }
  }

  /**
   * Resolves when the code requests a step or ends, or after `limitMs` if it is set. Only the holder of the turn waits
   * here.
   */
  private nextActivity(limitMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.onActivity = null;
        resolve();
      };
      const timer = limitMs === undefined ? undefined : setTimeout(wake, limitMs);
      this.onActivity = wake;
    });
  }

  /**
   * Returns true once the code has requested the step at this position. Waits briefly for code that may be about to
   * request it.
   */
  async hasRequested(stepId: number): Promise<boolean> {
    const deadline = Date.now() + LATE_REQUEST_MS;
    while (this.requestedCount < stepId && this.settlement === null) {
      const remainingMs = deadline - Date.now();
      if (remainingMs <= 0) return false;
      await this.nextActivity(remainingMs);
      await microtasksDrained();
    }
    return this.requestedCount >= stepId;
  }

  /**
   * Compares the applied entries with the journal of a request. A request without a digest comes from a server that
   * does not support digests; it says nothing about the entries that it did not send.
   *
   * The result is `behind` if entries that were not sent are missing here or cannot be compared, and `refuted` if the recorded
   * entries differ from the applied ones.
   */
  compare(journal: StepRequest['journal']): 'fits' | 'behind' | 'refuted' {
    const { appliedCount, digests, unconfirmedCount } = this;
    const { from, digest, length, entries } = journal;
    if (appliedCount < from) return 'behind';
    if (digest !== undefined && digests[from] !== digest) return 'refuted';
    if (unconfirmedCount > 0 && appliedCount > length) return 'refuted';
    if (digest === undefined && from > appliedCount - unconfirmedCount) return 'behind';
    for (let index = from; index < Math.min(appliedCount, length); index++) {
      const [digestBefore, entry] = [digests[index], entries[index - from]];
      if (digestBefore === undefined || !entry || extendJournalDigest(digestBefore, entry) !== digests[index + 1])
        return 'refuted';
    }
    this.unconfirmedCount = 0;
    return 'fits';
  }

  /**
   * Delivers to the code the journal entries that it has not received. Returns early if the code fails before it
   * requests a recorded step. `onReplayed` is called before the code receives each entry.
   *
   * @throws {JournalMismatchError} If the code requests other steps than the recorded ones.
   * @throws {DecryptionError} If a result cannot be decrypted. The execution must not be used afterward.
   */
  async apply(journal: StepRequest['journal'], onReplayed?: (entry: JournalEntry) => void): Promise<void> {
    while (this.appliedCount < journal.length) {
      const entry = journal.entries[this.appliedCount - journal.from];
      if (!entry) throw new JournalMismatchError(`entry ${this.appliedCount} of the journal was not sent`);
      const step = await this.findRequested(entry);
      if (!step) return;
      onReplayed?.(entry);
      this.deliver(step, entry);
      if (this.appliedCount % ENTRIES_PER_TURN === 0) await nextTurn();
      await this.untilQuiet();
    }
  }

  /** Delivers a result that the server has not recorded yet, and lets the code continue. */
  async applyOptimistically(step: RequestedStep, out: string | undefined): Promise<void> {
    this.unconfirmedCount++;
    this.deliver(step, { stepId: step.plan.stepId, out });
    await this.untilQuiet();
  }

  private deliver(step: RequestedStep, entry: DigestedEntry): void {
    const { stepId, out } = entry;
    this.pending.delete(stepId);
    this.digests.push(extendJournalDigest(this.digests[this.appliedCount] ?? EMPTY_JOURNAL_DIGEST, entry));
    step.settle(out === undefined ? undefined : JSON.parse(out));
  }

  private async findRequested(entry: JournalEntry): Promise<RequestedStep | null> {
    let step = this.pending.get(entry.stepId);
    if (!step) {
      if (await this.hasRequested(entry.stepId)) step = this.pending.get(entry.stepId);
      if (!step) {
        if (this.settlement?.kind === 'failed') return null;
        throw new JournalMismatchError(
          `${this.whyNotRequested(entry.stepId, `is recorded as ${describeStep(entry)}`)} ${DETERMINISM_RULES}`,
        );
      }
    }
    if (step.plan.name !== entry.name || step.plan.type !== entry.type) {
      throw new JournalMismatchError(
        `Step ${entry.stepId} is recorded as ${describeStep(entry)}, but the workflow now requests ${describeStep(step.plan)} at this position. ${DETERMINISM_RULES}`,
      );
    }
    return step;
  }

  private whyNotRequested(stepId: number, predicate: string): string {
    if (stepId <= this.requestedCount) return `Step ${stepId} ${predicate} twice.`;
    const behavior =
      this.settlement?.kind === 'finished'
        ? 'the workflow now returns before it requests it'
        : this.settlement?.kind === 'canceled'
          ? 'the workflow now cancels the run before it requests it'
          : `the workflow now waits for ${[...this.pending.values()]
              .slice(0, 3)
              .map((step) => `${describeStep(step.plan)} (step ${step.plan.stepId})`)
              .join(', ')} and does not request it`;
    return `Step ${stepId} ${predicate}, but ${behavior}.`;
  }

  /**
   * Verifies that the code has requested the steps up to `stepId`, which the server knows. Returns false if the code failed first.
   *
   * @throws {JournalMismatchError} If the code has not requested a known step.
   */
  async requireRequested(stepId: number): Promise<boolean> {
    if (this.requestedCount >= stepId || (await this.hasRequested(stepId))) return true;
    if (this.settlement?.kind === 'failed') return false;
    throw new JournalMismatchError(`${this.whyNotRequested(stepId, 'is planned')} ${DETERMINISM_RULES}`);
  }

  /**
   * The step whose code is running; null if it cannot be determined. Until the first await of a step it is always known, and
   * afterward only while no other step runs.
   */
  get currentStep(): PlannedStep | null {
    if (this.activeStep) return this.activeStep;
    const runningSteps = [...this.pending.values()].filter(({ isExecuting }) => isExecuting);
    return runningSteps.length === 1 ? (runningSteps[0]?.plan ?? null) : null;
  }

  /** The step whose action calls this, also after an await; null if there is none, or the runtime cannot determine it. */
  private get callingStep(): PlannedStep | null {
    const step = callingAction()?.step;
    return step && this.pending.get(step.plan.stepId) === step ? step.plan : null;
  }

  /**
   * Runs the action of a step, in the scope of its request. Rejects with the error that it throws. Resolves with null if the run
   * is canceled before the action ends.
   */
  async execute(step: RequestedStep, scope: StepScope | null): Promise<{ readonly result: unknown } | null> {
    const { plan, action } = step;
    if (this.isCanceled) return null;
    const cancellation = new Promise<null>((resolve) => {
      step.onCancel = () => resolve(null);
    });
    const running: RunningAction = { step };
    const run = () => (scope && action ? scope(action) : action?.());
    try {
      const end = Promise.resolve(this.runAction(plan, () => runAsAction(running, run)));
      return await Promise.race([cancellation, end.then((result) => ({ result }))]);
    } catch (error) {
      // The action canceled the run and threw before its first await.
      if (this.isCanceled) return null;
      throw error;
    } finally {
      running.step = null;
      delete step.onCancel;
    }
  }

  private get isCanceled(): boolean {
    return this.settlement?.kind === 'canceled';
  }

  private runAction(plan: PlannedStep, run: () => unknown): unknown {
    this.activeStep = plan;
    try {
      return run();
    } finally {
      this.activeStep = null;
    }
  }

  /** Returns the steps at position `known` and later that wait for their results. */
  plannedFrom(known: number): PlannedStep[] {
    const planned: PlannedStep[] = [];
    for (let stepId = known; stepId <= this.requestedCount; stepId++) {
      const step = this.pending.get(stepId);
      if (step) planned.push(step.plan);
    }
    return planned;
  }
}
