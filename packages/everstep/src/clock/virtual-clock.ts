/**
 * A clock that runs with another clock and can be advanced ahead of it. It keeps running between moves, so a slow
 * endpoint or a short wait behaves as with the real clock.
 */
import type { Clock } from '../ports/clock.js';
import type { MoveOutcome, MoveTarget, VirtualTime } from '../ports/virtual-time.js';
import { TimerQueue } from './timer-queue.js';

/** Dependencies of a virtual clock. */
export interface VirtualClockOptions {
  /** Clock that the virtual clock runs with. */
  readonly base: Clock;
  /**
   * Resolves when the server is quiet: no delivery is in flight or waits for a slot, and no write or scan of due
   * tasks is in progress. Work that waits for its time does not count. Timers start work without awaiting it; that work
   * must be visible here from the moment the timer fires.
   */
  readonly quiet: () => Promise<void>;
  /** Maximum number of instants processed in one move. */
  readonly maxInstants: number;
  /** Maximum time for the server to become quiet, on the base clock. */
  readonly quietTimeoutMs: number;
}

/** A clock that can be advanced manually. */
export interface VirtualClock extends Clock, VirtualTime {
  /**
   * A clock with the same time for periodic maintenance. A move does not stop at its timers. Those that became due during a
   * move fire once, at its end.
   */
  readonly upkeep: Clock;
}

type WaitResult = 'quiet' | 'late' | 'canceled';

/** Returns a function that adds timers to a queue. `arm` is called after each change. */
function createSetTimer(timers: TimerQueue, arm: () => void): Clock['setTimer'] {
  return (atMs, fire) => {
    const cancelTimer = timers.add(atMs, fire);
    arm();
    return () => {
      cancelTimer();
      arm();
    };
  };
}

/** Waits until the server is quiet, up to the timeout. */
async function waitUntilQuiet(
  { base, quiet, quietTimeoutMs }: Pick<VirtualClockOptions, 'base' | 'quiet' | 'quietTimeoutMs'>,
  signal: AbortSignal | undefined,
): Promise<WaitResult> {
  if (signal?.aborted) return 'canceled';
  let cancelWait = (): void => {};
  let cancel = (): void => {};
  const interruption = new Promise<WaitResult>((resolve) => {
    cancel = base.setTimer(base.now() + quietTimeoutMs, () => resolve('late'));
    cancelWait = () => resolve('canceled');
    signal?.addEventListener('abort', cancelWait);
  });
  // Work can be passed on between turns of the event loop. The server is quiet only if it is quiet before and
  // after one.
  const becomeQuiet = async (): Promise<WaitResult> => {
    await quiet();
    await new Promise<void>((resolve) => base.endOfTurn(resolve));
    await quiet();
    return 'quiet';
  };
  try {
    return await Promise.race([becomeQuiet(), interruption]);
  } finally {
    cancel();
    signal?.removeEventListener('abort', cancelWait);
  }
}

export function createVirtualClock(options: VirtualClockOptions): VirtualClock {
  const { base, maxInstants, quietTimeoutMs } = options;
  /** Milliseconds by which this clock is ahead of the base. */
  let aheadMs = 0;
  const timers = new TimerQueue();
  const upkeepTimers = new TimerQueue();
  let isMoving = false;
  /** Number of timers that became due in the current move. */
  let firedCount = 0;
  let armedFor = Number.POSITIVE_INFINITY;
  let disarm = (): void => {};
  let lastMove: Promise<unknown> = Promise.resolve();

  const now = (): number => base.now() + aheadMs;

  /** Arms one timer of the base clock for the first of these timers. */
  function arm(): void {
    const nextAt = isMoving ? timers.nextAt : Math.min(timers.nextAt, upkeepTimers.nextAt);
    const at = nextAt - aheadMs;
    if (at === armedFor) return;
    disarm();
    armedFor = at;
    disarm = Number.isFinite(at) ? base.setTimer(at, onBaseTimer) : () => {};
  }

  /** Fires timers that became due without a move. */
  function onBaseTimer(): void {
    armedFor = Number.POSITIVE_INFINITY;
    firedCount += timers.fireUntil(now());
    if (!isMoving) upkeepTimers.fireUntil(now());
    arm();
  }

  const stoppedOutcome = (waitResult: Exclude<WaitResult, 'quiet'>): MoveOutcome =>
    waitResult === 'late'
      ? { kind: 'not-quiet', now: now(), fired: firedCount, waitedMs: quietTimeoutMs }
      : { kind: 'canceled', now: now(), fired: firedCount };

  async function moveTo(toMs: number, signal: AbortSignal | undefined): Promise<MoveOutcome> {
    for (let instants = 0; ; instants++) {
      const waitResult = await waitUntilQuiet(options, signal);
      if (waitResult !== 'quiet') return stoppedOutcome(waitResult);
      const at = timers.nextAt;
      if (at > toMs) break;
      if (instants === maxInstants) return { kind: 'too-many-instants', now: now(), fired: firedCount, instants };
      aheadMs += Math.max(0, at - now());
      firedCount += timers.fireUntil(at);
      arm();
    }
    aheadMs += Math.max(0, toMs - now());
    upkeepTimers.fireUntil(now());
    arm();
    const waitResult = await waitUntilQuiet(options, signal);
    return waitResult === 'quiet' ? { kind: 'moved', now: now(), fired: firedCount } : stoppedOutcome(waitResult);
  }

  async function startMove(target: MoveTarget, signal: AbortSignal | undefined): Promise<MoveOutcome> {
    // The clock is read once, because the next reading may be a millisecond later.
    const from = now();
    const toMs = 'byMs' in target ? from + target.byMs : target.atMs;
    if (toMs < from) return { kind: 'in-the-past', now: from };
    isMoving = true;
    firedCount = 0;
    try {
      return await moveTo(toMs, signal);
    } finally {
      isMoving = false;
      arm();
    }
  }

  const endOfTurn: Clock['endOfTurn'] = (fire) => base.endOfTurn(fire);
  return {
    now,
    setTimer: createSetTimer(timers, arm),
    endOfTurn,
    upkeep: { now, setTimer: createSetTimer(upkeepTimers, arm), endOfTurn },
    move(target, signal) {
      const move = lastMove.then(() => startMove(target, signal));
      lastMove = move.catch(() => {});
      return move;
    },
  };
}
