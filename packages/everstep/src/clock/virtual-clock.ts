/**
 * A clock that runs with another one, and can be moved ahead of it. It does
 * not stand still in between: an endpoint that is slow, or a queue that waits
 * a moment, go on as they do with the real clock.
 */
import type { Clock } from '../ports/clock.js';
import type { MoveOutcome, MoveTarget, VirtualTime } from '../ports/virtual-time.js';
import { Timetable } from './timetable.js';

export interface VirtualClockOptions {
  /** The clock that it runs with. */
  readonly base: Clock;
  /**
   * Resolves when the service is quiet: nothing is delivered or waits for a place, nothing is being written or read to
   * find what is due. What waits for its time to come does not count. Timers call work into being without waiting for it,
   * so it must be known to this from the moment the timer fires.
   */
  readonly quiet: () => Promise<void>;
  /** So many instants at most are worked off in one move. */
  readonly maxInstants: number;
  /** How long the service may take to become quiet, on the base clock. */
  readonly quietTimeoutMs: number;
}

export interface VirtualClock extends Clock, VirtualTime {
  /**
   * The same time, for upkeep that comes round every few minutes: a move does not stop at its timers. Those that fell due
   * on the way fire once, at its end.
   */
  readonly upkeep: Clock;
}

type Pause = 'quiet' | 'late' | 'given-up';

export function createVirtualClock({ base, quiet, maxInstants, quietTimeoutMs }: VirtualClockOptions): VirtualClock {
  /** How far this clock is ahead of the base. */
  let aheadMs = 0;
  const timers = new Timetable();
  const upkeepTimers = new Timetable();
  let moving = false;
  /** Timers that fell due in the present move. */
  let fired = 0;
  let armedFor = Number.POSITIVE_INFINITY;
  let disarm = (): void => {};
  let moves: Promise<unknown> = Promise.resolve();

  const now = (): number => base.now() + aheadMs;

  /** One timer of the base stands for the first of ours. */
  function arm(): void {
    const nextAt = moving ? timers.nextAt : Math.min(timers.nextAt, upkeepTimers.nextAt);
    const at = nextAt - aheadMs;
    if (at === armedFor) return;
    disarm();
    armedFor = at;
    disarm = Number.isFinite(at) ? base.setTimer(at, flow) : () => {};
  }

  /** Time came to the first timer by itself. */
  function flow(): void {
    armedFor = Number.POSITIVE_INFINITY;
    fired += timers.fireUntil(now());
    if (!moving) upkeepTimers.fireUntil(now());
    arm();
  }

  function timerIn(timetable: Timetable): Clock['setTimer'] {
    return (atMs, fire) => {
      const takeBack = timetable.add(atMs, fire);
      arm();
      return () => {
        takeBack();
        arm();
      };
    };
  }

  function jump(toMs: number): void {
    aheadMs += Math.max(0, toMs - now());
  }

  /** Waits until the service is quiet, for a bounded time. */
  async function pause(signal: AbortSignal | undefined): Promise<Pause> {
    if (signal?.aborted) return 'given-up';
    let giveUp = (): void => {};
    let cancel = (): void => {};
    const interrupted = new Promise<Pause>((resolve) => {
      cancel = base.setTimer(base.now() + quietTimeoutMs, () => resolve('late'));
      giveUp = () => resolve('given-up');
      signal?.addEventListener('abort', giveUp);
    });
    // Work is handed on between turns of the event loop: quiet is what is quiet on both sides of one.
    const becameQuiet = async (): Promise<Pause> => {
      await quiet();
      await new Promise<void>((resolve) => base.endOfTurn(resolve));
      await quiet();
      return 'quiet';
    };
    try {
      return await Promise.race([becameQuiet(), interrupted]);
    } finally {
      cancel();
      signal?.removeEventListener('abort', giveUp);
    }
  }

  const stopped = (pause: Exclude<Pause, 'quiet'>): MoveOutcome =>
    pause === 'late'
      ? { kind: 'not-quiet', now: now(), fired, waitedMs: quietTimeoutMs }
      : { kind: 'given-up', now: now(), fired };

  async function moveTo(toMs: number, signal: AbortSignal | undefined): Promise<MoveOutcome> {
    for (let instants = 0; ; instants++) {
      const paused = await pause(signal);
      if (paused !== 'quiet') return stopped(paused);
      const at = timers.nextAt;
      if (at > toMs) break;
      if (instants === maxInstants) return { kind: 'too-many-instants', now: now(), fired, instants };
      jump(at);
      fired += timers.fireUntil(at);
      arm();
    }
    jump(toMs);
    upkeepTimers.fireUntil(now());
    arm();
    const paused = await pause(signal);
    return paused === 'quiet' ? { kind: 'moved', now: now(), fired } : stopped(paused);
  }

  async function begin(target: MoveTarget, signal: AbortSignal | undefined): Promise<MoveOutcome> {
    // Looked at once: the next look may be a millisecond later.
    const from = now();
    const toMs = 'byMs' in target ? from + target.byMs : target.atMs;
    if (toMs < from) return { kind: 'in-the-past', now: from };
    moving = true;
    fired = 0;
    try {
      return await moveTo(toMs, signal);
    } finally {
      moving = false;
      arm();
    }
  }

  const endOfTurn: Clock['endOfTurn'] = (fire) => base.endOfTurn(fire);
  return {
    now,
    setTimer: timerIn(timers),
    endOfTurn,
    upkeep: { now, setTimer: timerIn(upkeepTimers), endOfTurn },
    move(target, signal) {
      const move = moves.then(() => begin(target, signal));
      moves = move.catch(() => {});
      return move;
    },
  };
}
