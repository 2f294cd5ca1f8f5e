/** A store that refuses writes for a while. Meanwhile there are no deliveries, and nothing is executed twice because of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../ports/log.js';
import type { StoreServers } from '../../ports/stores/commit-store.js';
import type { Store } from '../../ports/stores/store.js';
import { ServerUnavailableError, StoreRefusesWritesError, StoreUnavailableError } from '../../ports/stores/store-unavailable.js';
import {
  type Bench,
  endOf,
  inARow,
  ManualClock,
  progress,
  quiet,
  ScriptedCaller,
  ScriptedSender,
  SETTINGS,
  settle,
  withRuntime,
} from '../runtime.fixture.js';
import { StoreWrites } from './store-writes.js';

/** Random bytes that give the middle of the jitter. */
const random = { bytes: (count: number) => new Uint8Array(count).fill(128) };

/** A store whose writes a test can refuse. */
class RefusingStore {
  refuses = false;
  /** Commits and probes that were refused. */
  refused = 0;
  readonly wrap = (store: Store): Store => {
    const check = (): void => {
      if (!this.refuses) return;
      this.refused++;
      throw new StoreRefusesWritesError('disk full');
    };
    return {
      ...store,
      commit: async (units) => {
        check();
        return store.commit(units);
      },
      probeWrites: async () => {
        check();
        return store.probeWrites();
      },
    };
  };
}

const RUN_IN_TEST = { workflowRunId: 'wfr_test' };

async function passTime(bench: Bench, ms: number, stepMs = 500): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    bench.clock.move(stepMs);
    await settle();
  }
}

test('a response that arrives while the store rejects writes is recorded when it accepts them again', async () => {
  const faulty = new RefusingStore();
  let respond = (): void => {};
  const flow = inARow(2);
  const caller = new ScriptedCaller(async (call) => {
    await new Promise<void>((resolve) => {
      respond = resolve;
    });
    return flow(call);
  });
  await withRuntime(
    caller,
    async (bench) => {
      const started = await bench.trigger(RUN_IN_TEST);
      await settle();
      assert.equal(caller.calls.length, 1);
      faulty.refuses = true;
      respond();
      await settle();
      await passTime(bench, 60_000);
      assert.equal(caller.calls.length, 1, 'nothing is delivered during the outage');
      assert.ok(faulty.refused < 60, `the store refused ${faulty.refused} writes in a minute`);
      await assert.rejects(bench.trigger({ workflowRunId: 'wfr_other' }), StoreUnavailableError);
      await assert.rejects(bench.runtime.runs.cancel({ instanceId: 'qi_1', ...RUN_IN_TEST }), StoreUnavailableError);
      faulty.refuses = false;
      await passTime(bench, 2_000);
      assert.equal(caller.calls.length, 2, 'the next step follows');
      respond();
      await settle();
      assert.equal((await endOf(bench, started.run))?.status, 'succeeded');
      const executed = caller.calls.map(({ request }) => `${request.messageId} ${request.retried}`);
      assert.equal(new Set(executed).size, executed.length, 'no attempt is delivered twice');
    },
    { wrap: faulty.wrap },
  );
});

test('parallel steps that are in flight when the store starts to refuse writes finish, and are executed once', async () => {
  const faulty = new RefusingStore();
  const pendingReplies: (() => void)[] = [];
  const caller = new ScriptedCaller(async ({ request }) => {
    const { target, journal } = request;
    if (target === null && journal.length === 3) return progress(request, { end: { kind: 'finished', result: '3' } });
    if (target === null) {
      const planned = [1, 2, 3].map((stepId) => ({ stepId, name: `s${stepId}`, type: 'Run' as const }));
      return progress(request, journal.length === 0 ? { planned } : {});
    }
    await new Promise<void>((resolve) => pendingReplies.push(resolve));
    return progress(request, { done: [{ stepId: target, name: `s${target}`, type: 'Run', out: '1' }], advanced: false });
  });
  await withRuntime(
    caller,
    async (bench) => {
      const started = await bench.trigger(RUN_IN_TEST);
      await settle();
      assert.equal(pendingReplies.length, 3);
      faulty.refuses = true;
      pendingReplies[0]?.();
      await settle();
      pendingReplies[1]?.();
      await passTime(bench, 10_000);
      pendingReplies[2]?.();
      await passTime(bench, 10_000);
      faulty.refuses = false;
      await passTime(bench, 4_000);
      assert.equal(pendingReplies.length, 3, 'each was executed once');
      assert.equal((await endOf(bench, started.run))?.status, 'succeeded');
    },
    { wrap: faulty.wrap },
  );
});

test('an attempt that failed while the store rejects writes counts among the retries', async () => {
  const faulty = new RefusingStore();
  let fail = (): void => {};
  const caller = new ScriptedCaller(async ({ request }) => {
    await new Promise<void>((resolve) => {
      fail = resolve;
    });
    return {
      ...{ protocol: 1, kind: 'failed', base: request.journal.length, done: [] },
      ...{ error: { name: 'Error', message: 'no' }, retry: { kind: 'backoff' } },
    };
  });
  await withRuntime(
    caller,
    async (bench) => {
      const settings = { ...SETTINGS, maxRetries: 1, retryDelay: '1000' };
      const started = await bench.trigger({ ...RUN_IN_TEST, settings });
      await settle();
      faulty.refuses = true;
      fail();
      await passTime(bench, 20_000);
      assert.equal(caller.calls.length, 1);
      faulty.refuses = false;
      await passTime(bench, 5_000);
      assert.equal(caller.calls.length, 2);
      fail();
      await passTime(bench, 5_000);
      assert.equal(caller.calls.length, 2, 'there is one retry, whatever the store did');
      assert.equal((await endOf(bench, started.run))?.status, 'failed');
    },
    { wrap: faulty.wrap },
  );
});

test('tasks that become due while the store rejects writes are executed when it accepts them again', async () => {
  const faulty = new RefusingStore();
  const caller = new ScriptedCaller(({ request }) =>
    request.journal.length === 0
      ? progress(request, { planned: [{ stepId: 1, name: 'nap', type: 'SleepFor', sleepMs: 5_000 }] })
      : progress(request, { end: { kind: 'finished', result: '1' } }),
  );
  await withRuntime(
    caller,
    async (bench) => {
      const started = await bench.trigger(RUN_IN_TEST);
      await settle();
      faulty.refuses = true;
      // A commit is refused.
      await assert.rejects(bench.trigger({ workflowRunId: 'wfr_other' }), StoreUnavailableError);
      await passTime(bench, 30_000);
      assert.equal(caller.calls.length, 1);
      faulty.refuses = false;
      await passTime(bench, 4_000);
      assert.equal((await endOf(bench, started.run))?.status, 'succeeded');
      assert.equal(caller.calls.length, 2);
    },
    { wrap: faulty.wrap },
  );
});

test('a plain message whose response could not be recorded is not sent again', async () => {
  const faulty = new RefusingStore();
  let finish = (): void => {};
  const sender = new ScriptedSender(async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return { kind: 'response', status: 200, headers: {}, body: new Uint8Array() };
  });
  await withRuntime(
    new ScriptedCaller(() => assert.fail('no step is called')),
    async (bench) => {
      await bench.trigger({ ...RUN_IN_TEST, settings: { ...SETTINGS, message: { method: 'POST' } } });
      await settle();
      faulty.refuses = true;
      finish();
      await passTime(bench, 20_000);
      faulty.refuses = false;
      await passTime(bench, 4_000);
      assert.equal(sender.sent.length, 1);
      assert.equal(await bench.store.nextDueAt({ after: 0 }), null, 'and is done');
    },
    { wrap: faulty.wrap, sender },
  );
});

/** Creates only the state, on a simulated store. */
function alone(probe: () => Promise<void> = async () => {}, servers?: StoreServers) {
  const clock = new ManualClock();
  const logged: string[] = [];
  const note = (_fields: unknown, event?: string) => void logged.push(event ?? '');
  const log: Log = { ...quiet, info: note, warn: note, error: note };
  let probes = 0;
  const store = {
    probeWrites: async () => {
      probes++;
      return probe();
    },
    ...(servers ? { servers } : {}),
  };
  const writes = new StoreWrites({ store, clock, random, log });
  return { writes, clock, logged, probes: () => probes };
}

const refused = () => new StoreRefusesWritesError('disk full');

test('probes have growing delays of up to two seconds, and the start and end are logged once', async () => {
  let full = true;
  const { writes, clock, logged, probes } = alone(async () => {
    if (full) throw refused();
  });
  assert.equal(writes.reportFailure(new Error('a faulty unit')), false);
  assert.ok(writes.isOpen);
  let opened = 0;
  writes.onOpen(() => opened++);
  for (let n = 0; n < 5; n++) assert.equal(writes.reportFailure(refused()), true);
  assert.equal(writes.refusal, 'the store rejects writes: disk full');
  const at: number[] = [];
  for (let ms = 0; ms <= 10_000; ms += 25) {
    const before = probes();
    clock.move(25);
    await settle();
    if (probes() > before) at.push(ms);
  }
  const delays = at.slice(1).map((each, index) => each - (at[index] ?? 0));
  assert.ok(
    delays.every((delay, index) => delay >= (delays[index - 1] ?? 0) - 25),
    `delays grow: ${delays.join(' ')}`,
  );
  assert.ok(Math.max(...delays) <= 2_000, `delays have a limit: ${delays.join(' ')}`);
  full = false;
  clock.move(2_000);
  await settle();
  assert.deepEqual([writes.isOpen, writes.refusal, opened], [true, null, 1]);
  assert.deepEqual(logged, [
    'store unavailable for writes, deliveries stopped',
    'store available for writes again, deliveries resumed',
  ]);
});

test('kept results are recorded before deliveries start', async () => {
  const { writes, clock } = alone();
  let full = true;
  const order: string[] = [];
  writes.onOpen(() => order.push('open'));
  const recorded = writes.persist('an answer', async () => {
    if (full) throw refused();
    order.push('recorded');
    return 1;
  });
  await settle();
  clock.move(2_000);
  await settle();
  assert.ok(!writes.isOpen, 'the probe passes, but the response is refused');
  full = false;
  clock.move(2_000);
  await settle();
  assert.equal(await recorded, 1);
  assert.deepEqual(order, ['recorded', 'open']);
});

test('a request with a result waits until it is recorded, and fails with the reason if that takes too long', async () => {
  const { writes, clock } = alone();
  let full = true;
  const record = async () => {
    if (full) throw refused();
    return 'recorded';
  };
  const soon = writes.persistWithin(10_000, 'a result', record);
  await settle();
  full = false;
  clock.move(2_000);
  await settle();
  assert.equal(await soon, 'recorded');
  full = true;
  let count = 0;
  const late = assert.rejects(
    writes.persistWithin(10_000, 'a result', async () => {
      const result = await record();
      count++;
      return result;
    }),
    StoreRefusesWritesError,
  );
  for (let n = 0; n < 3; n++) {
    await settle();
    clock.move(4_000);
  }
  await late;
  full = false;
  await settle();
  clock.move(4_000);
  await settle();
  assert.equal(count, 1, 'it is recorded nevertheless');
});

test('results of up to 64 MiB in total are kept, and one that is always refused does not stop the others for long', async () => {
  const { writes, clock } = alone();
  const never = async (): Promise<number> => {
    throw refused();
  };
  const large = new Uint8Array(40 * 1024 * 1024);
  const first = writes.persist(large, never);
  await settle();
  assert.equal(await writes.persist(large, never), null, 'no room');
  for (let n = 0; n < 10; n++) {
    clock.move(2_000);
    await settle();
  }
  assert.equal(await first, null);
  clock.move(2_000);
  await settle();
  assert.ok(writes.isOpen);
  await assert.rejects(
    writes.persist(1, async () => assert.fail('a faulty unit')),
    /a faulty unit/,
  );
  const last = writes.persist(1, never);
  await settle();
  writes.stop();
  assert.equal(await last, null, 'nothing is kept after the end');
});

test('a server that is down closes the store for its instances only, until what was kept for them is recorded', async () => {
  let isBack = (): void => {};
  let back = new Promise<void>((resolve) => {
    isBack = resolve;
  });
  const servers: StoreServers = { serverOf: (id) => (id === 'qi_there' ? 'db:1' : 'db:2'), whenAvailable: () => back };
  const { writes, logged, probes } = alone(undefined, servers);
  const order: string[] = [];
  writes.onOpen(() => order.push('open'));
  let isDown = true;
  const recorded = writes.persist('an answer', async () => {
    if (isDown) throw new ServerUnavailableError('db:1', 'simulated');
    order.push(writes.isOpenFor('qi_there') ? 'recorded while open' : 'recorded');
    return 1;
  });
  await settle();
  assert.deepEqual([writes.isOpen, writes.isOpenFor('qi_there'), writes.isOpenFor('qi_here')], [true, false, true]);
  // It goes away again immediately.
  const first = isBack;
  back = new Promise<void>((resolve) => {
    isBack = resolve;
  });
  first();
  await settle();
  assert.deepEqual([writes.isOpenFor('qi_there'), order], [false, []]);
  isDown = false;
  isBack();
  assert.equal(await recorded, 1);
  await settle();
  assert.deepEqual([writes.isOpenFor('qi_there'), order, probes()], [true, ['recorded', 'open'], 0]);
  assert.deepEqual(logged, [
    'database server unavailable, deliveries of its queue instances stopped',
    'database server available again, deliveries of its queue instances resumed',
  ]);
});
