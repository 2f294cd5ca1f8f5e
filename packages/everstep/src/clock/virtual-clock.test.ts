import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { SimulatedClock } from './testing/simulated-clock.js';
import { createVirtualClock, type VirtualClockOptions } from './virtual-clock.js';

const START_MS = 1_000_000;
const DAY_MS = 86_400_000;

function harness(options: Partial<VirtualClockOptions> = {}) {
  const base = new SimulatedClock(START_MS);
  const quiet = async () => {};
  const clock = createVirtualClock({ base, quiet, maxInstants: 1_000, quietTimeoutMs: 5_000, ...options });
  /** Runs turns of the event loop until the promise is settled. The base clock does not advance. */
  async function drive<Value>(promise: Promise<Value>): Promise<Value> {
    let open = true;
    const settled = promise.finally(() => {
      open = false;
    });
    settled.catch(() => {});
    while (open) {
      base.runTurn();
      await nextTurn();
    }
    return settled;
  }
  /** Events with their times, relative to the start. */
  const events: (readonly [what: string, atMs: number])[] = [];
  const note = (what: string) => events.push([what, clock.now() - START_MS]);
  return { base, clock, drive, events, note };
}

/** Work that a test starts and ends manually. */
function manualWork() {
  let open = 0;
  let waiting: (() => void)[] = [];
  return {
    begin: () => {
      open++;
      return () => {
        open--;
        if (open > 0) return;
        for (const resolve of waiting) resolve();
        waiting = [];
      };
    },
    quiet: () => (open === 0 ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve))),
  };
}

test('time runs with the base clock', () => {
  const { base, clock, events, note } = harness();
  clock.setTimer(START_MS + 20, () => note('second'));
  clock.setTimer(START_MS + 10, () => note('first'));
  assert.ok(base.advance());
  assert.ok(base.advance());
  assert.deepEqual(events, [
    ['first', 10],
    ['second', 20],
  ]);
  assert.equal(base.advance(), false, 'nothing is left to wait for');
});

test('a move ends at its target, given as a duration or as a point in time', async () => {
  const { clock, drive } = harness();
  assert.deepEqual(await drive(clock.move({ byMs: 7 * DAY_MS })), { kind: 'moved', now: START_MS + 7 * DAY_MS, fired: 0 });
  const atMs = START_MS + 30 * DAY_MS;
  assert.deepEqual(await drive(clock.move({ atMs })), { kind: 'moved', now: atMs, fired: 0 });
  assert.equal(clock.now(), atMs);
});

test('work that becomes due runs in order, each at its own time, and so does the work that it causes', async () => {
  const { clock, drive, events, note } = harness();
  const setRepeatedTimer = (name: string, everyMs: number, count: number) => {
    if (count === 0) return;
    clock.setTimer(clock.now() + everyMs, () => {
      note(name);
      setRepeatedTimer(name, everyMs, count - 1);
    });
  };
  setRepeatedTimer('three', 3 * DAY_MS, 2);
  setRepeatedTimer('two', 2 * DAY_MS, 3);
  clock.setTimer(START_MS + 8 * DAY_MS, () => note('late'));
  const moved = await drive(clock.move({ byMs: 7 * DAY_MS }));
  assert.deepEqual(
    events.map(([what, atMs]) => [what, atMs / DAY_MS]),
    [
      ['two', 2],
      ['three', 3],
      ['two', 4],
      ['three', 6],
      ['two', 6],
    ],
  );
  assert.deepEqual(moved, { kind: 'moved', now: START_MS + 7 * DAY_MS, fired: 5 });
});

test('timers in any order fire by their times', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: -5, max: 50 }), { maxLength: 30 }), async (times) => {
      const { clock, drive } = harness();
      const fired: number[] = [];
      times.forEach((time, index) => {
        const cancel = clock.setTimer(START_MS + time, () => fired.push(time));
        if (index % 5 === 4) cancel();
      });
      const expected = times.filter((_, index) => index % 5 !== 4).sort((a, b) => a - b);
      await drive(clock.move({ byMs: 40 }));
      assert.deepEqual(
        fired,
        expected.filter((time) => time <= 40),
      );
    }),
    { numRuns: 50 },
  );
});

test('time does not advance before the server is quiet', async () => {
  const work = manualWork();
  const { clock, drive, events, note } = harness({ quiet: work.quiet });
  let end = () => {};
  clock.setTimer(START_MS + DAY_MS, () => {
    note('delivered');
    end = work.begin();
  });
  clock.setTimer(START_MS + 2 * DAY_MS, () => note('later'));
  const move = clock.move({ byMs: 3 * DAY_MS });
  for (let turn = 0; turn < 10; turn++) await drive(nextTurn());
  assert.deepEqual(events, [['delivered', DAY_MS]]);
  // The delivery sets this timer at its own time, so it fires before timers that were due later.
  clock.setTimer(clock.now() + 1_000, () => note('next'));
  end();
  await drive(move);
  assert.deepEqual(events, [
    ['delivered', DAY_MS],
    ['next', DAY_MS + 1_000],
    ['later', 2 * DAY_MS],
  ]);
});

test('work in progress is completed before the first move', async () => {
  const work = manualWork();
  const { clock, drive } = harness({ quiet: work.quiet });
  const end = work.begin();
  const move = clock.move({ byMs: DAY_MS });
  for (let turn = 0; turn < 10; turn++) await drive(nextTurn());
  assert.equal(clock.now(), START_MS);
  end();
  await drive(move);
  assert.equal(clock.now(), START_MS + DAY_MS);
});

test('while the server works, time advances with the base clock', async () => {
  const work = manualWork();
  const { base, clock, drive, events, note } = harness({ quiet: work.quiet });
  let end = () => {};
  clock.setTimer(START_MS + DAY_MS, () => {
    end = work.begin();
    clock.setTimer(clock.now() + 10, () => {
      note('polled again');
      end();
    });
  });
  const move = clock.move({ byMs: DAY_MS });
  for (let turn = 0; turn < 10; turn++) await drive(nextTurn());
  assert.deepEqual(events, []);
  assert.ok(base.advance());
  assert.deepEqual(await drive(move), { kind: 'moved', now: START_MS + DAY_MS + 10, fired: 2 });
  assert.deepEqual(events, [['polled again', DAY_MS + 10]]);
});

test('a move ends with a reason if the server does not become quiet, and the next move continues from there', async () => {
  const work = manualWork();
  const { base, clock, drive } = harness({ quiet: work.quiet });
  let end = () => {};
  clock.setTimer(START_MS + DAY_MS, () => {
    end = work.begin();
  });
  const move = clock.move({ byMs: 2 * DAY_MS });
  for (let turn = 0; turn < 10; turn++) await drive(nextTurn());
  assert.ok(base.advance(), 'the timeout has passed');
  assert.deepEqual(await drive(move), { kind: 'not-quiet', now: START_MS + DAY_MS + 5_000, fired: 1, waitedMs: 5_000 });
  end();
  const again = await drive(clock.move({ atMs: START_MS + 2 * DAY_MS }));
  assert.deepEqual(again, { kind: 'moved', now: START_MS + 2 * DAY_MS, fired: 0 });
});

test('concurrent moves run one after the other', async () => {
  const { clock, drive, events, note } = harness();
  clock.setTimer(START_MS + DAY_MS, () => note('first day'));
  clock.setTimer(START_MS + 2 * DAY_MS, () => note('second day'));
  const [first, second] = await drive(Promise.all([clock.move({ byMs: DAY_MS }), clock.move({ byMs: DAY_MS })]));
  assert.deepEqual(first, { kind: 'moved', now: START_MS + DAY_MS, fired: 1 });
  assert.deepEqual(second, { kind: 'moved', now: START_MS + 2 * DAY_MS, fired: 1 });
  assert.deepEqual(
    events.map(([what]) => what),
    ['first day', 'second day'],
  );
});

test('a move to a time in the past is rejected', async () => {
  const { clock, drive } = harness();
  assert.deepEqual(await drive(clock.move({ atMs: START_MS - 1 })), { kind: 'in-the-past', now: START_MS });
  assert.equal(clock.now(), START_MS);
});

test('a move by 0 completes due work', async () => {
  const { clock, drive, events, note } = harness();
  clock.setTimer(START_MS, () => note('due'));
  clock.setTimer(START_MS + 1, () => note('not due'));
  assert.deepEqual(await drive(clock.move({ byMs: 0 })), { kind: 'moved', now: START_MS, fired: 1 });
  assert.deepEqual(events, [['due', 0]]);
});

test('a move over more instants than allowed stops at the last allowed instant', async () => {
  const { clock, drive, events, note } = harness({ maxInstants: 3 });
  for (let day = 1; day <= 5; day++) clock.setTimer(START_MS + day * DAY_MS, () => note(`day ${day}`));
  const stopped = await drive(clock.move({ byMs: 10 * DAY_MS }));
  assert.deepEqual(stopped, { kind: 'too-many-instants', now: START_MS + 3 * DAY_MS, fired: 3, instants: 3 });
  const rest = await drive(clock.move({ byMs: 7 * DAY_MS }));
  assert.deepEqual(rest, { kind: 'moved', now: START_MS + 10 * DAY_MS, fired: 2 });
  assert.equal(events.length, 5);
});

test('a move is aborted when its caller disconnects', async () => {
  const work = manualWork();
  const { clock, drive } = harness({ quiet: work.quiet });
  const end = work.begin();
  const controller = new AbortController();
  const move = clock.move({ byMs: DAY_MS }, controller.signal);
  await drive(nextTurn());
  controller.abort();
  assert.deepEqual(await drive(move), { kind: 'canceled', now: START_MS, fired: 0 });
  end();
});

test('a move that fails does not stop the next one', async () => {
  let fails = true;
  const quiet = async () => {
    if (fails) throw new Error('the store is gone');
  };
  const { clock, drive } = harness({ quiet });
  await assert.rejects(drive(clock.move({ byMs: DAY_MS })), /the store is gone/);
  fails = false;
  assert.equal((await drive(clock.move({ byMs: DAY_MS }))).kind, 'moved');
});

test('periodic maintenance happens once in a move, and at its usual times otherwise', async () => {
  const { base, clock, drive, events, note } = harness();
  const sweep = () => {
    clock.upkeep.setTimer(clock.upkeep.now() + 300_000, () => {
      note('sweep');
      sweep();
    });
  };
  sweep();
  clock.setTimer(START_MS + DAY_MS, () => note('task'));
  const moved = await drive(clock.move({ byMs: 2 * DAY_MS }));
  assert.deepEqual(moved, { kind: 'moved', now: START_MS + 2 * DAY_MS, fired: 1 });
  assert.ok(base.advance());
  assert.deepEqual(events, [
    ['task', DAY_MS],
    ['sweep', 2 * DAY_MS],
    ['sweep', 2 * DAY_MS + 300_000],
  ]);
});

test('a timer that another one cancels at the same instant does not fire', async () => {
  const { clock, drive, events, note } = harness();
  clock.setTimer(START_MS + 5, () => {
    note('one');
    cancel();
  });
  const cancel = clock.setTimer(START_MS + 5, () => note('other'));
  assert.deepEqual(await drive(clock.move({ byMs: 10 })), { kind: 'moved', now: START_MS + 10, fired: 1 });
  assert.deepEqual(events, [['one', 5]]);
});

test('a move by 0 is never in the past, even if time passes between two readings of the clock', async () => {
  const { base, drive } = harness();
  let readings = 0;
  const running = {
    now: () => base.now() + readings++,
    setTimer: (atMs: number, fire: () => void) => base.setTimer(atMs, fire),
    endOfTurn: (fire: () => void) => base.endOfTurn(fire),
  };
  const clock = createVirtualClock({ base: running, quiet: async () => {}, maxInstants: 10, quietTimeoutMs: 5_000 });
  const { kind } = await drive(clock.move({ byMs: 0 }));
  assert.equal(kind, 'moved');
});
