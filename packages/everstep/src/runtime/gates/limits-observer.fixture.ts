/**
 * Observes the starts of one key from outside, like an endpoint that counts them. While a change is in progress, it is
 * unknown whether it applies. The observer then tracks all possible states; a start that fits none of them is wrong.
 */
import type { FlowControlState } from '../../engine/runs/run.js';
import type { Start } from './gates.fixture.js';

export type KnownLimits = Pick<FlowControlState, 'parallelism' | 'rate' | 'periodMs' | 'paused'>;

interface Possibility {
  readonly limits: KnownLimits;
  readonly window: { readonly begin: number; readonly starts: readonly Start[] } | null;
  /** Whether the change in progress applies. */
  readonly changed: boolean;
}

type Change = { readonly kind: 'limits'; readonly limits: KnownLimits } | { readonly kind: 'reset' };

const hasEnded = ({ limits, window }: Possibility, at: number): boolean =>
  window === null || limits.periodMs === null || at >= window.begin + limits.periodMs;

export class LimitsObserver {
  private possible: readonly Possibility[] = [
    { limits: { parallelism: null, rate: null, periodMs: null, paused: false }, window: null, changed: false },
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
      this.possible = this.possible.filter(({ changed }) => changed).map((one) => ({ ...one, changed: false }));
    };
  }

  /**
   * Notes a crash of the process. The next process knows the stored window, which contains at least the starts that were made.
   * Returns what is wrong with the window, or null.
   */
  crashed(kept: FlowControlState['window'], at: number): string | null {
    const wrong = this.possible.every((one) => {
      const seen = one.window?.starts.filter((start) => start.at >= (kept?.startedAt ?? 0)) ?? [];
      return one.limits.rate !== null && !hasEnded(one, at) && seen.length > (kept?.granted ?? 0);
    });
    this.possible = this.possible.map((one) => {
      const starts = one.window?.starts.filter((start) => start.at >= (kept?.startedAt ?? 0)) ?? [];
      return { ...one, window: kept && { begin: kept.startedAt, starts } };
    });
    return wrong ? `fewer starts are stored than were made: ${JSON.stringify(kept)}` : null;
  }

  /** Notes that a delivery of this key has started and is in flight. Returns what is wrong with that, or null. */
  started(start: Start, inFlight: number): string | null {
    this.branch(start.at);
    const before = this.possible;
    const after = before.flatMap((one) => this.after(one, start, inFlight));
    if (after.length === 0) return `${start.runKey} broke a limit: ${JSON.stringify({ at: start.at, inFlight, before })}`;
    this.possible = after;
    return null;
  }

  notMade(start: Start): void {
    this.possible = this.possible.map((one) => {
      const starts = one.window?.starts.filter((other) => other !== start) ?? [];
      return { ...one, window: one.window && starts.length > 0 ? { ...one.window, starts } : null };
    });
  }

  private after(one: Possibility, start: Start, inFlight: number): Possibility[] {
    const { parallelism, rate, paused } = one.limits;
    if (paused || (parallelism !== null && inFlight > parallelism)) return [];
    if (rate === null) return [{ ...one, window: null }];
    if (one.window === null || hasEnded(one, start.at)) return [{ ...one, window: { begin: start.at, starts: [start] } }];
    if (one.window.starts.length >= rate) return [];
    return [{ ...one, window: { ...one.window, starts: [...one.window.starts, start] } }];
  }

  /** Adds the states in which the change applies by now. */
  private branch(at: number): void {
    const { change } = this;
    if (!change) return;
    const changed = this.possible.flatMap((one): Possibility[] => {
      if (one.changed) return [];
      if (change.kind === 'reset') return [{ ...one, window: null, changed: true }];
      // Starts that no rate counted are in no window, and a window that has ended is not extended.
      const window = change.limits.rate === null || one.limits.rate === null || hasEnded(one, at) ? null : one.window;
      return [{ limits: change.limits, window, changed: true }];
    });
    this.possible = [...this.possible, ...changed];
  }
}
