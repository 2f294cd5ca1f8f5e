/**
 * Observes the starts of one key from outside, like an endpoint that counts them. While a change is in progress, it is
 * unknown whether it applies. The observer then tracks all possible states; a start that fits none of them is wrong.
 */
import type { FlowControlState } from '../../engine/runs/run.js';
import type { Start } from './gates.fixture.js';

export type KnownLimits = Pick<FlowControlState, 'parallelism' | 'rate' | 'periodMs' | 'paused'>;

interface Possibility {
  readonly limits: KnownLimits;
  readonly window: { readonly startedAt: number; readonly starts: readonly Start[] } | null;
  /** Whether the change in progress applies. */
  readonly isChanged: boolean;
}

type Change = { readonly kind: 'limits'; readonly limits: KnownLimits } | { readonly kind: 'reset' };

const hasEnded = ({ limits, window }: Possibility, at: number): boolean =>
  window === null || limits.periodMs === null || at >= window.startedAt + limits.periodMs;

export class LimitsObserver {
  private possibilities: readonly Possibility[] = [
    { limits: { parallelism: null, rate: null, periodMs: null, paused: false }, window: null, isChanged: false },
  ];
  private change: Change | null = null;

  /** The latest requested limits. */
  limits: KnownLimits = { parallelism: null, rate: null, periodMs: null, paused: false };

  /** Notes that the change may apply from now on. Call the returned function when it does. */
  changing(change: Change): (at: number) => void {
    this.change = change;
    if (change.kind === 'limits') this.limits = change.limits;
    return (at) => {
      this.branch(at);
      this.change = null;
      this.possibilities = this.possibilities
        .filter(({ isChanged }) => isChanged)
        .map((possibility) => ({ ...possibility, isChanged: false }));
    };
  }

  /**
   * Notes a crash of the process. The next process knows the stored window, which contains at least the starts that were made.
   * Returns what is wrong with the window, or null.
   */
  crashed(storedWindow: FlowControlState['window'], at: number): string | null {
    const isWrong = this.possibilities.every((possibility) => {
      const countedStarts = possibility.window?.starts.filter((start) => start.at >= (storedWindow?.startedAt ?? 0)) ?? [];
      return (
        possibility.limits.rate !== null && !hasEnded(possibility, at) && countedStarts.length > (storedWindow?.granted ?? 0)
      );
    });
    this.possibilities = this.possibilities.map((possibility) => {
      const starts = possibility.window?.starts.filter((start) => start.at >= (storedWindow?.startedAt ?? 0)) ?? [];
      return { ...possibility, window: storedWindow && { startedAt: storedWindow.startedAt, starts } };
    });
    return isWrong ? `fewer starts are stored than were made: ${JSON.stringify(storedWindow)}` : null;
  }

  /** Notes that a delivery of this key has started and is in flight. Returns what is wrong with that, or null. */
  started(start: Start, inFlight: number): string | null {
    this.branch(start.at);
    const before = this.possibilities;
    const after = before.flatMap((possibility) => this.statesAfter(possibility, start, inFlight));
    if (after.length === 0) return `${start.runKey} broke a limit: ${JSON.stringify({ at: start.at, inFlight, before })}`;
    this.possibilities = after;
    return null;
  }

  notMade(start: Start): void {
    this.possibilities = this.possibilities.map((possibility) => {
      const starts = possibility.window?.starts.filter((other) => other !== start) ?? [];
      return { ...possibility, window: possibility.window && starts.length > 0 ? { ...possibility.window, starts } : null };
    });
  }

  private statesAfter(possibility: Possibility, start: Start, inFlight: number): Possibility[] {
    const { parallelism, rate, paused } = possibility.limits;
    if (paused || (parallelism !== null && inFlight > parallelism)) return [];
    if (rate === null) return [{ ...possibility, window: null }];
    if (possibility.window === null || hasEnded(possibility, start.at))
      return [{ ...possibility, window: { startedAt: start.at, starts: [start] } }];
    if (possibility.window.starts.length >= rate) return [];
    return [{ ...possibility, window: { ...possibility.window, starts: [...possibility.window.starts, start] } }];
  }

  /** Adds the states in which the change applies by now. */
  private branch(at: number): void {
    const { change } = this;
    if (!change) return;
    const changedPossibilities = this.possibilities.flatMap((possibility): Possibility[] => {
      if (possibility.isChanged) return [];
      if (change.kind === 'reset') return [{ ...possibility, window: null, isChanged: true }];
      // Starts that no rate counted are in no window, and a window that has ended is not extended.
      const window =
        change.limits.rate === null || possibility.limits.rate === null || hasEnded(possibility, at) ? null : possibility.window;
      return [{ limits: change.limits, window, isChanged: true }];
    });
    this.possibilities = [...this.possibilities, ...changedPossibilities];
  }
}
