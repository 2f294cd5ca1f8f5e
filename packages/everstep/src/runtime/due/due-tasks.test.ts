/** Due tasks of one account while another has very many, and tasks that cannot be handled. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ownersOf } from '../../fairness/owners.fixture.js';
import type { DueTask, Store } from '../../ports/stores/store.js';
import { ALWAYS_OPEN, type StoreWritesState } from '../../ports/stores/store-writes.js';
import { ReadyQueue } from '../dispatch/slots/ready-queue.js';
import { ManualClock, quiet, settle } from '../runtime.fixture.js';
import { DueTasks } from './due-tasks.js';

const HOSTILE = 'hostile1';
const QUIET = 'quiet1';
const MANY = 50_000;
const SLOTS = 512;

const dueTask = (instanceId: string, n: number, dueAt: number, more: Partial<DueTask> = {}): DueTask => ({
  ...{ instanceId, dueAt, slot: 0, runKey: `${instanceId}-${String(n).padStart(6, '0')}`, kind: 'step' },
  ...{ workflowUrl: 'http://app', flowControlKey: null, runVersion: 0 },
  ...more,
});

/** Tasks in the order of their due times. With several nodes, a claimed task is not read again. */
class Tasks implements Pick<Store, 'dueTasks' | 'dueInstances' | 'nextDueAt'> {
  readonly all: DueTask[] = [];
  private readonly claimed = new Set<DueTask>();

  async dueTasks({ before, after, limit, instanceId }: Parameters<Store['dueTasks']>[0]) {
    const isBehind = ({ dueAt, runKey }: DueTask) =>
      !after || dueAt > after.dueAt || (dueAt === after.dueAt && runKey > after.runKey);
    return this.firstOf(limit, (task) => task.dueAt <= before && isBehind(task), instanceId);
  }
  async dueInstances({ from, before }: { readonly from: number; readonly before: number }) {
    const due = this.all.filter((task) => !this.claimed.has(task) && task.dueAt >= from && task.dueAt <= before);
    return [...new Set(due.map(({ instanceId }) => instanceId))];
  }
  async nextDueAt({ after }: { readonly after: number }) {
    return this.all.find(({ dueAt }) => dueAt > after)?.dueAt ?? null;
  }
  readonly claims = {
    claimDue: (query: { readonly before: number; readonly limit: number; readonly instanceId?: string }) =>
      this.claim(query, ({ queue }) => queue === undefined),
    claimQueued: (query: { readonly before: number; readonly limit: number; readonly instanceId?: string }) =>
      this.claim(query, ({ queue }) => queue !== undefined),
  };
  private async claim(
    { before, limit, instanceId }: { readonly before: number; readonly limit: number; readonly instanceId?: string },
    isWanted: (task: DueTask) => boolean,
  ) {
    const page = this.firstOf(limit, (task) => task.dueAt <= before && !this.claimed.has(task) && isWanted(task), instanceId);
    for (const task of page) this.claimed.add(task);
    return page;
  }
  private firstOf(limit: number, isWanted: (task: DueTask) => boolean, instanceId?: string): readonly DueTask[] {
    const found: DueTask[] = [];
    for (const task of this.all) {
      if (instanceId !== undefined && task.instanceId !== instanceId) continue;
      if (isWanted(task) && found.push(task) >= limit) break;
    }
    return found;
  }
}

function harness(kind: 'alone' | 'node') {
  const clock = new ManualClock();
  const tasks = new Tasks();
  const owners = ownersOf(HOSTILE, QUIET);
  const queue = new ReadyQueue({ maxInFlight: SLOTS, maxInFlightPerHost: SLOTS, owners });
  const taken: DueTask[] = [];
  const undecided: (() => void)[] = [];
  const due = new DueTasks({
    ...{ store: tasks, clock, log: quiet, writes: ALWAYS_OPEN, owners },
    cluster: kind === 'node' ? tasks.claims : null,
    handler: {
      backlog: queue,
      async handleDue(task, deciding) {
        taken.push(task);
        const { instanceId, runKey, slot } = task;
        const limits = { instanceId, flowControlKey: null, origin: 'http://app' };
        if (task.kind === 'sleep') deciding(new Promise((resolve) => undecided.push(resolve)));
        else queue.add({ runKey, slot, limits }, 'continuing', 0);
      },
      onMessageInOrder: () => assert.fail('no message was deferred'),
    },
  });
  const hostile = (more: Partial<DueTask> = {}) => {
    for (let n = 0; n < MANY; n++) tasks.all.push(dueTask(HOSTILE, n, clock.now(), more));
  };
  const takenOf = (instanceId: string) => taken.filter((task) => task.instanceId === instanceId).length;
  return { clock, tasks, queue, due, hostile, takenOf, undecided };
}

for (const kind of ['alone', 'node'] as const) {
  describe(`due tasks of a process that is ${kind === 'alone' ? 'alone on its store' : 'one of several nodes'}`, () => {
    test('the task of a quiet instance is handled immediately beside an instance with 50,000 due deliveries', async () => {
      const { clock, tasks, due, hostile, takenOf } = harness(kind);
      hostile();
      tasks.all.push(dueTask(QUIET, 1, clock.now()), dueTask(QUIET, 2, clock.now() + 1_000));
      const started = due.start();
      await settle();
      assert.equal(takenOf(QUIET), 1);
      clock.move(1_000);
      await settle();
      assert.equal(takenOf(QUIET), 2, 'also one that becomes due while the others are read');
      await started;
      assert.ok(takenOf(HOSTILE) <= 10_500, `an account has at most half of the backlog: ${takenOf(HOSTILE)}`);
      await due.stop();
    });

    test('the sleep of a quiet instance ends immediately beside an instance whose 50,000 sleeps end', async () => {
      const { clock, tasks, due, hostile, takenOf, undecided } = harness(kind);
      hostile({ kind: 'sleep' });
      tasks.all.push(dueTask(QUIET, 1, clock.now(), { kind: 'sleep' }));
      void due.start();
      await settle();
      assert.equal(takenOf(QUIET), 1);
      const first = takenOf(HOSTILE);
      assert.ok(first <= 600, 'no more tasks of the other instance are read until some are written');
      for (const decided of undecided.splice(0)) decided();
      await settle();
      assert.ok(takenOf(HOSTILE) > first);
      await due.stop();
    });

    test('an instance whose backlog is full is read again when half of it is done', async () => {
      const { due, queue, hostile, takenOf } = harness(kind);
      hostile();
      await due.start();
      const first = takenOf(HOSTILE);
      queue.drain(
        () => Number.POSITIVE_INFINITY,
        (delivery) => {
          queue.done(delivery);
          due.resume(HOSTILE);
        },
      );
      await settle();
      assert.ok(takenOf(HOSTILE) > first, `${first} were taken, then ${takenOf(HOSTILE)}`);
      await due.stop();
    });
  });
}

test('messages of a queue are claimed in order, however many there are', async () => {
  const { tasks, due, hostile, queue } = harness('node');
  hostile({ queue: 'q' });
  tasks.all.splice(3_000);
  const order: string[] = [];
  const add = queue.add.bind(queue);
  queue.add = (delivery, urgency, since) => {
    order.push(delivery.runKey);
    return add(delivery, urgency, since);
  };
  await due.start();
  assert.deepEqual(order, [...order].sort());
  assert.ok(order.length >= 500);
  await due.stop();
});

describe('a due task that cannot be handled', () => {
  /** Returns tasks of which the first one cannot be handled. */
  function failing(writes: StoreWritesState = ALWAYS_OPEN) {
    const clock = new ManualClock();
    const tasks = new Tasks();
    for (let n = 0; n < 20; n++) tasks.all.push(dueTask(QUIET, n, clock.now(), { kind: 'sleep' }));
    const bench = { isBroken: true, attempts: 0, handled: [] as string[], errors: [] as unknown[] };
    const due = new DueTasks({
      ...{ store: tasks, clock, writes },
      log: { ...quiet, error: (fields, event) => bench.errors.push({ ...fields, event }) },
      handler: {
        backlog: new ReadyQueue({ maxInFlight: SLOTS, maxInFlightPerHost: SLOTS, owners: ownersOf(QUIET) }),
        async handleDue({ runKey }) {
          if (runKey === tasks.all[0]?.runKey) bench.attempts++;
          if (bench.isBroken && runKey === tasks.all[0]?.runKey) throw new Error('cannot be read');
          bench.handled.push(runKey);
        },
        onMessageInOrder: () => assert.fail('no message was deferred'),
      },
    });
    const defers = () => {
      const limits = { instanceId: QUIET, flowControlKey: null, origin: 'http://app', queue: 'q' };
      return due.defer({ runKey: 'new', slot: 0, limits }, clock.now());
    };
    return { clock, tasks, due, bench, defers };
  }

  test('does not delay the others, and is retried alone, with increasing delays', async () => {
    const { clock, due, bench, defers } = failing();
    await due.start();
    assert.equal(bench.handled.length, 19);
    assert.equal(defers(), false, 'new messages of queues are not deferred');
    const runKey = `${QUIET}-000000`;
    const event = { event: 'due task failed, retrying', error: 'Error: cannot be read', instanceId: QUIET, runKey };
    assert.deepEqual(bench.errors, [{ ...event, retryAfterMs: 1_000 }]);
    for (const [ms, attempts] of [
      [999, 1],
      [1, 2],
      [1_999, 2],
      [1, 3],
    ] as const) {
      clock.move(ms);
      await settle();
      assert.equal(bench.attempts, attempts);
    }
    assert.equal(bench.errors.length, 3);
    bench.isBroken = false;
    clock.move(4_000);
    await settle();
    assert.equal(bench.handled.length, 20);
    clock.move(600_000);
    await settle();
    assert.deepEqual([bench.attempts, bench.handled.length], [4, 20]);
    await due.stop();
  });

  test('is handled with all others when they are read again', async () => {
    const { clock, due, bench } = failing();
    await due.start();
    bench.isBroken = false;
    due.restartNow();
    await settle();
    assert.deepEqual([bench.attempts, bench.handled.length], [2, 39]);
    clock.move(600_000);
    await settle();
    assert.equal(bench.attempts, 2);
    await due.stop();
  });

  test('still waits for its retry when all others are read again after a fault', async () => {
    const { clock, due, bench } = failing();
    await due.start();
    for (const [attempts, handled] of [
      [2, 38],
      [2, 57],
      [3, 57],
    ] as const) {
      if (handled > bench.handled.length) due.restart();
      clock.move(1_000);
      await settle();
      assert.deepEqual([bench.attempts, bench.handled.length], [attempts, handled]);
    }
    await due.stop();
  });

  test('ends the scan if the store is unavailable', async () => {
    const writes = {
      isOpen: true,
      isOpenFor: () => writes.isOpen,
      reportFailure: () => {
        writes.isOpen = false;
        return true;
      },
    };
    const { due, bench } = failing(writes);
    await due.start();
    assert.equal(bench.handled.length, 9, 'those that were handled concurrently');
    bench.isBroken = false;
    writes.isOpen = true;
    due.restartNow();
    await settle();
    assert.deepEqual([bench.handled.length, bench.errors.length], [29, 0]);
    await due.stop();
  });
});
