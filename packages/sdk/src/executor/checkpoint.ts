/**
 * The results of one request. With a checkpoint, the request also executes the steps that follow the first one, within the
 * limits of the app and of the server. The server records all results from one reply.
 */
import type { ExchangeHooks } from '../hooks/exchange-hooks.js';
import type { CheckpointLimits, PlannedStep, RunEnd, StepRequest, StepResult } from '../protocol.js';

/** How many steps in a row are recorded together. */
export interface CheckpointOptions {
  /**
   * Maximum number of steps that are recorded together. A crash repeats at most that many. With 1, each step is recorded
   * separately.
   */
  readonly maxSteps: number;
  /**
   * Time in milliseconds since the request arrived, after which no further step starts before the results are recorded. A
   * running step is not interrupted. Default: 100.
   */
  readonly maxMs?: number;
}

/** Validated options, and the clock that `maxMs` refers to, in milliseconds. */
export interface Checkpoint extends Required<CheckpointOptions> {
  readonly now: () => number;
}

const DEFAULT_MAX_MS = 100;
const now = () => performance.now();

/**
 * Validates the options. Returns null if each step is recorded separately.
 *
 * @throws {RangeError} If an option is invalid.
 */
export function checkpointOf(options: CheckpointOptions | undefined): Checkpoint | null {
  if (options === undefined) return null;
  const { maxSteps, maxMs = DEFAULT_MAX_MS } = options;
  if (!(Number.isSafeInteger(maxSteps) && maxSteps >= 1))
    throw new RangeError(`checkpoint.maxSteps must be a whole number of at least 1, not ${maxSteps}`);
  if (!(Number.isFinite(maxMs) && maxMs > 0))
    throw new RangeError(`checkpoint.maxMs must be a number greater than 0, not ${maxMs}`);
  return { maxSteps, maxMs, now };
}

/** Options for handling one request. */
export interface ExchangeOptions {
  /** Null or absent if the workflow has no hooks. */
  readonly hooks?: ExchangeHooks | null;
  /**
   * Returns true once the server no longer waits for the reply, for example because the run was canceled. Then no further step
   * starts. Absent if the transport cannot detect this.
   */
  readonly isAbandoned?: (() => boolean) | undefined;
}

/** The results of one request, in the order of their execution. */
export class ExchangeResults {
  readonly done: StepResult[] = [];
  /** Null if the workflow has no hooks. */
  readonly hooks: ExchangeHooks | null;
  /** Null if the reply contains at most one result. */
  private readonly checkpoint: Checkpoint | null;
  private readonly limits: CheckpointLimits;
  private readonly isAbandoned: () => boolean;
  private readonly startedAt: number;
  private charCount = 0;

  /** Call it when the request arrives. */
  constructor(
    checkpoint: Checkpoint | null,
    { checkpoint: limits }: Pick<StepRequest, 'checkpoint'>,
    { hooks = null, isAbandoned = () => false }: ExchangeOptions = {},
  ) {
    this.hooks = hooks;
    this.isAbandoned = isAbandoned;
    this.checkpoint = limits ? checkpoint : null;
    this.limits = limits ?? { maxSteps: 1, maxChars: 0 };
    this.startedAt = this.checkpoint?.now() ?? 0;
  }

  /** Time since the request arrived, in milliseconds; 0 without a checkpoint. */
  get elapsedMs(): number {
    return this.checkpoint ? this.checkpoint.now() - this.startedAt : 0;
  }

  /** Adds the result of a step that started `startOffsetMs` after the request arrived. */
  add({ stepId, name, type }: PlannedStep, out: string | undefined, startOffsetMs: number): void {
    this.charCount += name.length + (out?.length ?? 0);
    // The time can go backwards if a test replaces the clock.
    const from = Math.max(0, Math.round(startOffsetMs));
    const to = Math.max(from, Math.round(this.elapsedMs));
    this.done.push({
      ...{ stepId, name, type },
      ...(out === undefined ? {} : { out }),
      ...(this.checkpoint ? { ranMs: [from, to] } : {}),
    });
  }

  /** Whether another step may be executed before these results are recorded. */
  get canContinue(): boolean {
    const { checkpoint, limits, done, charCount } = this;
    if (!checkpoint || this.isAbandoned()) return false;
    return (
      done.length < Math.min(checkpoint.maxSteps, limits.maxSteps) &&
      charCount < limits.maxChars &&
      this.elapsedMs < checkpoint.maxMs
    );
  }

  /** Returns whether the planned steps or the result of the run fit into the reply. If not, the server requests them again. */
  hasRoomFor(planned: readonly PlannedStep[], end: RunEnd | undefined): boolean {
    if (this.done.length < 2) return true;
    const resultLength = end?.kind === 'finished' ? (end.result?.length ?? 0) : 0;
    return resultLength + JSON.stringify(planned).length <= this.limits.maxChars;
  }
}
