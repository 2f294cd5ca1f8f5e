/**
 * Chooses the size of the steps of background work by their duration, and the pauses between them.
 *
 * Background work shares a process and a disk with runs that users wait for. The duration of a step with a fixed size depends
 * on its rows, the machine and the load. A step with a fixed duration delays each run by a known amount.
 */

export interface StepPaceOptions {
  /** Target duration of a step. */
  readonly stepMs: number;
  /** Number of items of the smallest step. In a smaller one, the transaction would cost more than the items. */
  readonly minItems: number;
  readonly maxItems: number;
  /** Length of a pause as a multiple of the step before it. */
  readonly pauseRatio: number;
  readonly maxPauseMs: number;
}

/** A step is at most this factor larger or smaller than the previous one. */
const MAX_CHANGE = 2;

export class StepPace {
  private readonly options: StepPaceOptions;
  /** Maximum number of items of the next step, with fractions. */
  private stepItems: number;

  constructor(options: StepPaceOptions) {
    this.options = options;
    this.stepItems = options.minItems;
  }

  /** Maximum number of items of the next step. */
  get items(): number {
    return Math.floor(this.stepItems);
  }

  /** Adjusts the size of the next step after a step of `durationMs`. */
  stepTook(durationMs: number): void {
    const { stepMs, minItems, maxItems } = this.options;
    const change = durationMs > 0 ? stepMs / durationMs : MAX_CHANGE;
    const boundedChange = Math.min(MAX_CHANGE, Math.max(1 / MAX_CHANGE, change));
    this.stepItems = Math.min(maxItems, Math.max(minItems, this.stepItems * boundedChange));
  }

  /** Returns the pause after a step of `durationMs`. If `isLate`, work must catch up, so pauses are only as long as steps. */
  pauseMs(durationMs: number, isLate: boolean): number {
    const { pauseRatio, maxPauseMs } = this.options;
    return Math.min(maxPauseMs, durationMs * (isLate ? 1 : pauseRatio));
  }
}
