/**
 * One live execution of a workflow function: which steps it asked for, which
 * of them wait for their result, and how far the journal has been applied.
 *
 * Invariants
 * 1. Positions are given in the order of asking, from 1, and never again.
 * 2. A result is given to the code only when the code is quiet, one at a time,
 *    in journal order. So what has been asked for is a function of the applied
 *    entries alone.
 * 3. At most one applied entry is unconfirmed (`optimistic`), and it is the last.
 * 4. No exchange begins before the entries that a request relies on are known to be those that were applied: by the entries
 *    themselves where they were sent, and by their digest where they were not.
 * 5. Only the holder of the turn gives results to the code.
 *
 * An execution that nobody refers to any more is garbage: its promises never settle.
 */

import { JournalMismatchError, NonRetryableError } from '../errors.js';
import {
  type DigestedEntry,
  EMPTY_JOURNAL_DIGEST,
  extendJournalDigest,
  type JournalEntry,
  type PlannedStep,
  type StepRequest,
} from '../protocol.js';
import { microtasksDrained, nextTurn } from './quiet.js';

export interface AskedStep {
  readonly plan: PlannedStep;
  /** Present exactly when the step is one to run here. */
  readonly action?: () => unknown;
  /** Gives the code the recorded result, or what reading it threw. */
  readonly settle: (recorded: unknown) => void;
  /** True from the decision to run the action until its outcome has been dealt with. */
  executing: boolean;
}

/** What a step is to the code that asks for it. */
export interface AskOptions<T> {
  /** Run here to get the result; absent where the service gets it. */
  readonly action?: () => unknown;
  /** Makes what the code is given of what was recorded. What it throws, the step rejects with: the same on every replay. */
  readonly read?: (recorded: unknown) => T;
}

export type Settlement =
  | { readonly kind: 'finished'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'canceled' };

/** After so many entries a replay lets others have a turn. */
const ENTRIES_PER_TURN = 500;
/**
 * How long a replay waits for a recorded step that the code has not asked for
 * while it waits for other steps: it may be about to, behind an await that is no step.
 */
const LATE_ASK_MS = 1_000;

const describe = (step: { readonly type: string; readonly name: string }) => `${step.type} ${JSON.stringify(step.name)}`;

const HOW_IT_HAPPENS =
  'The code before a recorded step must not change while runs are under way, and must do the same on every replay ' +
  '(no clocks, randomness or other awaits than steps between parallel steps).';

function settleBy<T>(read: (recorded: unknown) => T, resolve: (result: T) => void, reject: (error: unknown) => void) {
  return (recorded: unknown): void => {
    try {
      resolve(read(recorded));
    } catch (error) {
      reject(error);
    }
  };
}

export class Execution {
  /** No other execution anywhere has it. */
  readonly name: string;
  /** Steps asked for and not resolved, by position. */
  readonly pending = new Map<number, AskedStep>();
  /** Messages whose exchange is under way on this execution. */
  readonly exchanges = new Set<string>();
  /** Positions given so far. */
  asked = 0;
  /** The last applied entry is a result of this worker, and the service has not shown that it recorded it. */
  optimistic = false;
  settlement: Settlement | null = null;
  /** Set when the execution no longer stands for its run; what is under way on it ends without effect on others. */
  dropped = false;
  started = false;
  /** Digests of the journal by its length, up to what was applied. */
  private readonly digests = [EMPTY_JOURNAL_DIGEST];
  private taken = false;
  private readonly queue: (() => void)[] = [];
  private stirred: (() => void) | null = null;
  private insideStep: string | null = null;

  constructor(name: string) {
    this.name = name;
  }

  /** Entries of the journal given to the code so far. */
  get applied(): number {
    return this.digests.length - 1;
  }

  /** Takes the turn; false when the execution was dropped before the turn came. */
  async takeTurn(): Promise<boolean> {
    while (this.taken && !this.dropped) await new Promise<void>((resolve) => this.queue.push(resolve));
    if (this.dropped) return false;
    this.taken = true;
    return true;
  }

  passTurn(): void {
    this.taken = false;
    this.queue.shift()?.();
  }

  drop(): void {
    this.dropped = true;
    for (const wake of this.queue.splice(0)) wake();
  }

  /**
   * Starts the workflow function. It is quiet after `untilQuiet`. No closure here may capture `body`: it leads
   * to the request with the whole journal, and would be kept as long as the execution.
   */
  start(body: () => unknown): void {
    this.started = true;
    let running: Promise<unknown>;
    try {
      running = Promise.resolve(body());
    } catch (error) {
      running = Promise.reject(error);
    }
    running.then(
      (result) => this.settle({ kind: 'finished', result }),
      (error: unknown) => this.settle({ kind: 'failed', error }),
    );
  }

  settle(settlement: Settlement): void {
    this.settlement ??= settlement;
    this.stirred?.();
  }

  /** Gives the next position to a step that the code asks for. */
  ask<T>(planAt: (stepId: number) => PlannedStep, { action, read }: AskOptions<T> = {}): Promise<T> {
    if (this.insideStep !== null) {
      throw new NonRetryableError(`step ${JSON.stringify(this.insideStep)} asks for another step: steps cannot be nested`);
    }
    const plan = planAt(++this.asked);
    const asked = new Promise<T>((resolve, reject) => {
      this.pending.set(plan.stepId, {
        plan,
        ...(action ? { action } : {}),
        settle: read ? settleBy(read, resolve, reject) : (resolve as (recorded: unknown) => void),
        executing: false,
      });
      this.stirred?.();
    });
    // The code may come to await it later; until then nobody handles what reading throws.
    if (read) asked.catch(() => {});
    return asked;
  }

  /** Resolves when the code is quiet and either has ended or waits for steps. An await that is no step is waited for. */
  async untilQuiet(): Promise<void> {
    await microtasksDrained();
    while (this.settlement === null && this.pending.size === 0) {
      await this.nextStir();
      await microtasksDrained();
    }
  }

  /** Resolves when the code asks for a step or ends; at the latest after `limitMs`, when given. Only the holder of the turn waits. */
  private nextStir(limitMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.stirred = null;
        resolve();
      };
      const timer = limitMs === undefined ? undefined : setTimeout(wake, limitMs);
      this.stirred = wake;
    });
  }

  /** True once the code has asked for the step at this position. Waits a moment for code that may be about to. */
  async hasAsked(stepId: number): Promise<boolean> {
    const until = Date.now() + LATE_ASK_MS;
    while (this.asked < stepId && this.settlement === null) {
      const leftMs = until - Date.now();
      if (leftMs <= 0) return false;
      await this.nextStir(leftMs);
      await microtasksDrained();
    }
    return this.asked >= stepId;
  }

  /**
   * Compares what was applied with what a request says of the journal. A request without a digest comes from a service that
   * does not know digests: it says nothing of the entries that it did not send.
   * `behind`: entries that were not sent are missing here, or cannot be compared. `refuted`: others were recorded than applied.
   */
  compare(journal: StepRequest['journal']): 'fits' | 'behind' | 'refuted' {
    const { applied, digests, optimistic } = this;
    const { from, digest, length, entries } = journal;
    if (applied < from) return 'behind';
    if (digest !== undefined && digests[from] !== digest) return 'refuted';
    if (optimistic && applied > length) return 'refuted';
    if (optimistic && applied === from && digest === undefined) return 'behind';
    for (let index = from; index < Math.min(applied, length); index++) {
      const [before, entry] = [digests[index], entries[index - from]];
      if (before === undefined || !entry || extendJournalDigest(before, entry) !== digests[index + 1]) return 'refuted';
    }
    this.optimistic = false;
    return 'fits';
  }

  /**
   * Gives the code what it has not been given of the journal. Throws
   * JournalMismatchError; stops early, without throwing, when the code fails
   * before it asks for a recorded step.
   */
  async apply(journal: StepRequest['journal']): Promise<void> {
    while (this.applied < journal.length) {
      const entry = journal.entries[this.applied - journal.from];
      if (!entry) throw new JournalMismatchError(`entry ${this.applied} of the journal was not sent`);
      const step = await this.findAsked(entry);
      if (!step) return;
      this.give(step, entry);
      if (this.applied % ENTRIES_PER_TURN === 0) await nextTurn();
      await this.untilQuiet();
    }
  }

  /** Gives a result that the service has not recorded yet, and lets the code run on. */
  async applyOptimistically(step: AskedStep, out: string | undefined): Promise<void> {
    this.optimistic = true;
    this.give(step, { stepId: step.plan.stepId, out });
    await this.untilQuiet();
  }

  private give(step: AskedStep, entry: DigestedEntry): void {
    const { stepId, out } = entry;
    this.pending.delete(stepId);
    this.digests.push(extendJournalDigest(this.digests[this.applied] ?? EMPTY_JOURNAL_DIGEST, entry));
    step.settle(out === undefined ? undefined : JSON.parse(out));
  }

  private async findAsked(entry: JournalEntry): Promise<AskedStep | null> {
    let step = this.pending.get(entry.stepId);
    if (!step) {
      if (await this.hasAsked(entry.stepId)) step = this.pending.get(entry.stepId);
      if (!step) {
        if (this.settlement?.kind === 'failed') return null;
        throw new JournalMismatchError(
          `${this.whyNotAsked(entry.stepId, `is recorded as ${describe(entry)}`)} ${HOW_IT_HAPPENS}`,
        );
      }
    }
    if (step.plan.name !== entry.name || step.plan.type !== entry.type) {
      throw new JournalMismatchError(
        `Step ${entry.stepId} is recorded as ${describe(entry)}, but the workflow now asks for ${describe(step.plan)} there. ${HOW_IT_HAPPENS}`,
      );
    }
    return step;
  }

  private whyNotAsked(stepId: number, isWhat: string): string {
    if (stepId <= this.asked) return `Step ${stepId} ${isWhat}, a second time.`;
    const instead =
      this.settlement?.kind === 'finished'
        ? 'the workflow now returns before it asks for it'
        : this.settlement?.kind === 'canceled'
          ? 'the workflow now cancels the run before it asks for it'
          : `the workflow now waits for ${[...this.pending.values()]
              .slice(0, 3)
              .map((step) => `${describe(step.plan)} (step ${step.plan.stepId})`)
              .join(', ')} and does not ask for it`;
    return `Step ${stepId} ${isWhat}, but ${instead}.`;
  }

  /** Throws JournalMismatchError unless the code has asked for all that the service knows of. False when the code failed before. */
  async requireAsked(stepId: number): Promise<boolean> {
    if (this.asked >= stepId || (await this.hasAsked(stepId))) return true;
    if (this.settlement?.kind === 'failed') return false;
    throw new JournalMismatchError(`${this.whyNotAsked(stepId, 'is planned')} ${HOW_IT_HAPPENS}`);
  }

  /** Runs the action of a step. Rejects with what it throws. */
  async execute(step: AskedStep): Promise<unknown> {
    let result: unknown;
    this.insideStep = step.plan.name;
    try {
      result = step.action?.();
    } finally {
      this.insideStep = null;
    }
    return result;
  }

  /** Steps at positions from `known` on that wait for their result. */
  plannedFrom(known: number): PlannedStep[] {
    const planned: PlannedStep[] = [];
    for (let stepId = known; stepId <= this.asked; stepId++) {
      const step = this.pending.get(stepId);
      if (step) planned.push(step.plan);
    }
    return planned;
  }
}
