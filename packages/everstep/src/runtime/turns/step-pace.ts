/**
 * Sizes the steps of background work by the time that they take, and says how long to pause between them.
 *
 * The work shares a process and a disk with runs that somebody waits for. A step of a fixed size takes as long as its rows,
 * the machine and its load make it; a step of a fixed time delays each run by a known amount.
 */

export interface StepPaceOptions {
  /** How long a step should take. */
  readonly stepMs: number;
  /** Items of the smallest step: below that, most of a step is the cost of its transaction. */
  readonly minItems: number;
  readonly maxItems: number;
  /** Each pause is so many times as long as the step before it. */
  readonly pauseRatio: number;
  readonly maxPauseMs: number;
}

/** A step is at most so many times as large as the one before it, or as much smaller. */
const MAX_CHANGE = 2;

export class StepPace {
  private readonly options: StepPaceOptions;
  private limit: number;

  constructor(options: StepPaceOptions) {
    this.options = options;
    this.limit = options.minItems;
  }

  /** Number of items that the next step handles at most. */
  get items(): number {
    return Math.floor(this.limit);
  }

  /** Sizes the next step by a step that took `tookMs`. */
  stepTook(tookMs: number): void {
    const { stepMs, minItems, maxItems } = this.options;
    const change = tookMs > 0 ? stepMs / tookMs : MAX_CHANGE;
    const bounded = Math.min(MAX_CHANGE, Math.max(1 / MAX_CHANGE, change));
    this.limit = Math.min(maxItems, Math.max(minItems, this.limit * bounded));
  }

  /** How long to pause after a step that took `tookMs`. `late`: the work must catch up, so it takes half of the time. */
  pauseMs(tookMs: number, late: boolean): number {
    const { pauseRatio, maxPauseMs } = this.options;
    return Math.min(maxPauseMs, tookMs * (late ? 1 : pauseRatio));
  }
}
