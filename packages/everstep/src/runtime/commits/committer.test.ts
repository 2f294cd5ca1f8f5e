import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemClock } from '../../clock/system-clock.js';
import type { CommitResult, CommitUnit } from '../../engine/writes.js';
import { PartialCommitError } from '../../ports/stores/commit-store.js';
import type { Store } from '../../ports/stores/store.js';
import { ServerUnavailableError, StoreRefusesWritesError, StoreUnavailableError } from '../../ports/stores/store-unavailable.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { ManualClock, settle } from '../runtime.fixture.js';
import { Committer } from './committer.js';

const APPLIED: CommitResult = { kind: 'applied' };
const UNIT: CommitUnit = { guards: [], writes: [] };
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('units submitted while a batch was being written are lost with it, because they can depend on it', {
  timeout: 5_000,
}, async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const batches: { units: number; fail: () => void; pass: () => void }[] = [];
  const slow: Store = {
    ...store,
    commit: (units) =>
      new Promise<readonly CommitResult[]>((resolve, reject) => {
        batches.push({
          units: units.length,
          fail: () => reject(new Error('the disk is full')),
          pass: () => resolve(units.map(() => ({ kind: 'applied' }))),
        });
      }),
  };
  const committer = new Committer(slow, createSystemClock());
  const lost: string[] = [];
  const first = committer.submit(UNIT, () => lost.push('first'));
  await turn();
  await turn();
  const second = committer.submit(UNIT, () => lost.push('second'));
  await turn();
  batches[0]?.fail();
  await assert.rejects(first, /disk is full/);
  await assert.rejects(second, /disk is full/);
  assert.deepEqual(lost, ['first', 'second']);
  const third = committer.submit(UNIT);
  await turn();
  await turn();
  assert.deepEqual(
    batches.map(({ units }) => units),
    [1, 1],
  );
  batches[1]?.pass();
  assert.deepEqual(await third, { kind: 'applied' });
  await committer.settled();
  await store.close();
});

test('if the store asks for it, the first batch waits for more units: up to a number, a time, or until everything must be written', {
  timeout: 5_000,
}, async () => {
  const batches: number[] = [];
  const asked: number[] = [];
  let gatherMs = 10;
  const clock = new ManualClock();
  const gathering = {
    concurrentBatches: {
      max: 3,
      minUnits: 3,
      gatherMs: (recentUnits: number) => {
        asked.push(recentUnits);
        return gatherMs;
      },
    },
    commit: async (units: readonly CommitUnit[]) => {
      batches.push(units.length);
      return units.map(() => ({ kind: 'applied' as const }));
    },
  };
  const committer = new Committer(gathering, clock);
  const submit = (count: number) => Promise.all(Array.from({ length: count }, () => committer.submit(UNIT)));
  const few = submit(2);
  await settle();
  clock.move(9);
  await settle();
  assert.deepEqual(batches, [], 'more units may follow');
  clock.move(1);
  await few;
  assert.deepEqual(batches, [2], 'the units have waited long enough');
  await submit(3);
  assert.deepEqual(batches, [2, 3], 'there are enough units');
  const last = submit(1);
  await committer.settled();
  await last;
  assert.deepEqual(batches, [2, 3, 1], 'no unit is waiting');
  gatherMs = 0;
  await submit(1);
  assert.deepEqual(batches, [2, 3, 1, 1], 'waiting brings no benefit');
  clock.move(100);
  await settle();
  assert.equal(batches.length, 4);
  asked.length = 0;
  for (let batch = 0; batch < 40; batch++) await submit(2);
  await submit(1);
  assert.ok(Math.abs((asked.at(-1) ?? 0) - 2) < 0.1, 'it receives the recent number of units per batch');
});

test('a unit that cannot be written is lost alone, with the later decisions on its run', { timeout: 5_000 }, async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const of = (runKey: string): CommitUnit => ({ guards: [{ kind: 'run-active', runKey }], writes: [] });
  const faulty = of('faulty');
  const written: string[] = [];
  const refusing: Store = {
    ...store,
    commit: async (units) => {
      if (units.includes(faulty)) throw new Error('a step was recorded twice');
      for (const { guards } of units) for (const guard of guards) if (guard.kind === 'run-active') written.push(guard.runKey);
      return units.map(() => ({ kind: 'applied' }));
    },
  };
  const committer = new Committer(refusing, createSystemClock());
  const lost: string[] = [];
  const submit = (unit: CommitUnit, name: string) =>
    committer
      .submit(unit, () => lost.push(name))
      .then(
        () => 'written',
        () => 'lost',
      );
  const outcomes = await Promise.all([
    submit(of('a'), 'a'),
    submit(faulty, 'faulty'),
    submit(of('faulty'), 'after'),
    submit(of('b'), 'b'),
  ]);
  assert.deepEqual(outcomes, ['written', 'lost', 'lost', 'written']);
  assert.deepEqual(lost, ['faulty', 'after']);
  assert.deepEqual(written, ['a', 'b']);
  await store.close();
});

test('a unit that was written although its response was lost does not count as refused', {
  timeout: 5_000,
}, async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  let commits = 0;
  const forgetful: Store = {
    ...store,
    commit: async (units) => {
      if (++commits === 1) throw new Error('the response was lost');
      return units.map(() => ({ kind: 'run-not-active' }));
    },
  };
  const committer = new Committer(forgetful, createSystemClock());
  await Promise.all([
    assert.rejects(committer.submit(UNIT), /response was lost/),
    assert.rejects(committer.submit(UNIT), /response was lost/),
  ]);
  await store.close();
});

test('a batch whose outcome is unknown is not written again', { timeout: 5_000 }, async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  let commits = 0;
  const forgetful: Store = {
    ...store,
    commit: async (units) => {
      const results = await store.commit(units);
      if (++commits === 1) throw new StoreUnavailableError('the connection was lost at COMMIT');
      return results;
    },
  };
  const committer = new Committer(forgetful, createSystemClock());
  const lost: string[] = [];
  const counted = (name: string): Promise<CommitResult> =>
    committer.submit(
      { guards: [], writes: [{ kind: 'count-messages', instanceId: 'qi_counted', messages: 1, at: Date.now() }] },
      () => lost.push(name),
    );
  await Promise.all([assert.rejects(counted('a'), /lost at COMMIT/), assert.rejects(counted('b'), /lost at COMMIT/)]);
  const usage = await store.accounts.usage({ instanceId: 'qi_counted', fromMonth: '0000-01' });
  assert.deepEqual(
    { commits, lost, messages: usage.map(({ messages }) => messages) },
    { commits: 1, lost: ['a', 'b'], messages: [2] },
  );
  await store.close();
});

test('each error is reported before it is acted on, including that of a unit written separately', {
  timeout: 5_000,
}, async () => {
  const errors = [new Error('a step was recorded twice'), new StoreRefusesWritesError('disk full')];
  let commits = 0;
  const store: Pick<Store, 'commit'> = {
    commit: async () => {
      throw errors[commits++];
    },
  };
  const reported: unknown[] = [];
  const committer = new Committer(store, createSystemClock(), undefined, (error) => reported.push(error));
  const seen: unknown[][] = [];
  const submit = () => committer.submit(UNIT, () => seen.push([...reported])).catch(() => {});
  await Promise.all([submit(), submit()]);
  assert.deepEqual(seen, [errors, errors]);
});

/** A store that takes several batches at once. The test decides when each one ends. */
function slowStore(max: number, minUnits = 1) {
  const batches: { readonly runs: readonly string[]; readonly pass: () => void; readonly fail: () => void }[] = [];
  const store: Pick<Store, 'commit' | 'concurrentBatches'> = {
    concurrentBatches: { max, minUnits },
    commit: (units) =>
      new Promise((resolve, reject) => {
        batches.push({
          runs: units.flatMap(({ guards }) => guards.flatMap((guard) => (guard.kind === 'run-active' ? [guard.runKey] : []))),
          pass: () => resolve(units.map(() => ({ kind: 'applied' }))),
          fail: () => reject(new Error('the connection was lost')),
        });
      }),
  };
  return { store, batches };
}

const decidedOn = (runKey: string, ...writes: CommitUnit['writes']): CommitUnit => ({
  guards: [{ kind: 'run-active', runKey }],
  writes,
});
const runsOf = (batches: readonly { readonly runs: readonly string[] }[]) => batches.map(({ runs }) => runs.join(' '));

test('concurrent batches contain units of different runs, and those of one run keep their order', async () => {
  const { store, batches } = slowStore(2);
  const committer = new Committer(store, createSystemClock());
  const results: Promise<CommitResult>[] = [];
  const submit = (unit: CommitUnit) => results.push(committer.submit(unit));
  submit(decidedOn('a'));
  await turn();
  submit(decidedOn('a'));
  submit(decidedOn('b'));
  // This unit has the conflict key of a, whose second unit waits, so it waits as well.
  submit(decidedOn('c', { kind: 'wake-invoker', childRunKey: 'a', at: 1 }));
  submit(decidedOn('c'));
  submit(decidedOn('d'));
  await turn();
  await turn();
  assert.deepEqual(runsOf(batches), ['a', 'b d']);
  submit(decidedOn('e'));
  await turn();
  await turn();
  assert.equal(batches.length, 2, 'no more batches than the store benefits from');
  batches[0]?.pass();
  await turn();
  await turn();
  assert.deepEqual(runsOf(batches), ['a', 'b d', 'a c c e']);
  assert.equal(committer.isIdle, false);
  batches[1]?.pass();
  batches[2]?.pass();
  await committer.settled();
  assert.equal(committer.isIdle, true);
  assert.deepEqual(new Set((await Promise.all(results)).map(({ kind }) => kind)), new Set(['applied']));
});

test('another concurrent batch waits until there are enough units', async () => {
  const { store, batches } = slowStore(2, 3);
  const committer = new Committer(store, createSystemClock());
  const results = [committer.submit(decidedOn('a'))];
  await turn();
  for (const runKey of ['b', 'c']) results.push(committer.submit(decidedOn(runKey)));
  await turn();
  await turn();
  assert.deepEqual(runsOf(batches), ['a']);
  results.push(committer.submit(decidedOn('d')));
  await turn();
  await turn();
  assert.deepEqual(runsOf(batches), ['a', 'b c d']);
  for (const { pass } of batches) pass();
  await Promise.all(results);
});

test('units with other common keys keep their order too: ids, keys, queues, schedules and dead letters', async () => {
  const at = 1;
  const instanceId = 'inst_1';
  const pairs: readonly (readonly [CommitUnit, CommitUnit])[] = [
    [
      { guards: [{ kind: 'run-id-free', instanceId, workflowRunId: 'w' }], writes: [] },
      { guards: [{ kind: 'run-id-free', instanceId, workflowRunId: 'w' }], writes: [] },
    ],
    [
      { guards: [{ kind: 'not-duplicate', instanceId, deduplicationId: 'd', now: at }], writes: [] },
      decidedOn('r', { kind: 'remember-deduplication', instanceId, deduplicationId: 'd', runKey: 'r', expiresAt: 2 }),
    ],
    [
      { guards: [], writes: [{ kind: 'set-flow-window', instanceId, key: 'k', window: null }] },
      decidedOn('r', { kind: 'put-flow-control', instanceId, flowControl: { key: 'k', parallelism: 2 } as never, at }),
    ],
    [
      decidedOn('r', { kind: 'register-queue', instanceId, name: 'q', at }),
      { guards: [], writes: [{ kind: 'delete-queue', instanceId, name: 'q' }] },
    ],
    [
      { guards: [{ kind: 'schedule-due', instanceId, scheduleId: 's', nextAt: at }], writes: [] },
      { guards: [], writes: [{ kind: 'delete-schedule', instanceId, scheduleId: 's' }] },
    ],
    [
      { guards: [{ kind: 'dead-letters-present', instanceId, dlqIds: ['x', 'y'] }], writes: [] },
      { guards: [], writes: [{ kind: 'set-failure-function-state', instanceId, dlqId: 'y', state: null }] },
    ],
  ];
  for (const [first, second] of pairs) {
    const { store, batches } = slowStore(3);
    const committer = new Committer(store, createSystemClock());
    const results = [committer.submit(first)];
    await turn();
    results.push(committer.submit(second));
    await turn();
    await turn();
    assert.equal(batches.length, 1, JSON.stringify(second));
    batches[0]?.pass();
    await turn();
    await turn();
    assert.equal(batches.length, 2);
    batches[1]?.pass();
    await Promise.all(results);
  }
});

test('waiting units are lost with a batch, concurrent batches are not', async () => {
  const { store, batches } = slowStore(2);
  const committer = new Committer(store, createSystemClock());
  const outcomeOf = (unit: CommitUnit) =>
    committer.submit(unit).then(
      () => 'written',
      () => 'lost',
    );
  const lost = outcomeOf(decidedOn('a'));
  await turn();
  const beside = outcomeOf(decidedOn('b'));
  const after = outcomeOf(decidedOn('a'));
  await turn();
  await turn();
  assert.deepEqual(runsOf(batches), ['a', 'b']);
  batches[0]?.fail();
  await turn();
  batches[1]?.pass();
  assert.deepEqual(await Promise.all([lost, beside, after]), ['lost', 'written', 'lost']);
});

test('if one of several servers fails, only its units and those that can depend on them are lost', async () => {
  const down = new ServerUnavailableError('db:5432', 'simulated');
  const batches: { readonly runs: readonly string[]; readonly end: () => void }[] = [];
  const store: Pick<Store, 'commit' | 'concurrentBatches'> = {
    concurrentBatches: { max: 2, minUnits: 9 },
    commit: (units) =>
      new Promise((resolve, reject) => {
        const runs = units.map(({ guards }) => guards.map((guard) => (guard.kind === 'run-active' ? guard.runKey : '')).join(''));
        const outcomes = runs.map((run) => (run === 'a' ? ({ kind: 'failed', error: down } as const) : APPLIED));
        const end = () =>
          runs.includes('a') ? reject(new PartialCommitError(outcomes, down)) : resolve(units.map(() => APPLIED));
        batches.push({ runs, end });
      }),
  };
  const failures: unknown[] = [];
  const committer = new Committer(store, createSystemClock(), [], (error) => failures.push(error));
  const outcomeOf = (unit: CommitUnit) =>
    committer.submit(unit).then(
      () => 'written',
      (error) => (error === down ? 'lost' : error),
    );
  const first = [outcomeOf(decidedOn('a')), outcomeOf(decidedOn('b'))];
  await turn();
  await turn();
  const waiting = [outcomeOf(decidedOn('a')), outcomeOf(decidedOn('b')), outcomeOf(decidedOn('c'))];
  await turn();
  batches[0]?.end();
  assert.deepEqual(await Promise.all(first), ['lost', 'written']);
  await turn();
  await turn();
  batches[1]?.end();
  assert.deepEqual(await Promise.all(waiting), ['lost', 'written', 'written']);
  assert.deepEqual(
    [failures, batches.map(({ runs }) => runs)],
    [
      [down],
      [
        ['a', 'b'],
        ['b', 'c'],
      ],
    ],
  );
});

for (const concurrentBatches of [undefined, { max: 2, minUnits: 9 }]) {
  const mode = concurrentBatches ? 'concurrent batches' : 'one batch at a time';
  test(`with ${mode}, a unit that cannot be encoded is lost with the waiting units that can depend on it, and no others`, async () => {
    const fail: (() => void)[] = [];
    const written: string[] = [];
    const store: Pick<Store, 'commit' | 'concurrentBatches'> = {
      ...(concurrentBatches ? { concurrentBatches } : {}),
      commit: (units) =>
        new Promise((resolve, reject) => {
          const runs = units.flatMap(({ guards }) =>
            guards.flatMap((guard) => (guard.kind === 'run-active' ? [guard.runKey] : [])),
          );
          if (runs.includes('long')) fail.push(() => reject(new RangeError('Invalid string length')));
          else {
            written.push(...runs);
            resolve(units.map(() => APPLIED));
          }
        }),
    };
    const committer = new Committer(store, createSystemClock());
    const outcomeOf = (unit: CommitUnit) =>
      committer.submit(unit).then(
        () => 'written',
        () => 'lost',
      );
    const long = outcomeOf(decidedOn('long'));
    await turn();
    await turn();
    const waiting = [
      outcomeOf(decidedOn('b')),
      outcomeOf(decidedOn('c', { kind: 'wake-invoker', childRunKey: 'long', at: 1 })),
      outcomeOf(decidedOn('c')),
      outcomeOf(decidedOn('d')),
    ];
    await turn();
    fail[0]?.();
    assert.equal(await long, 'lost');
    assert.deepEqual(await Promise.all(waiting), ['written', 'lost', 'lost', 'written']);
    assert.deepEqual(written, ['b', 'd']);
  });
}
