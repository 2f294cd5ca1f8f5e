import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Message, MessageOutcome } from '../../ports/message-sender.js';
import type { DueTask, Store } from '../../ports/stores/store.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import {
  type Bench,
  ManualClock,
  progress,
  publicUrl,
  quiet,
  random,
  ScriptedCaller,
  ScriptedSender,
  SETTINGS,
  settle,
  withRuntime,
} from '../runtime.fixture.js';
import { createRuntime } from '../runtime.js';
import { commandFor, respondWith, textOf } from './plain-messages.fixture.js';

const noSteps = new ScriptedCaller(() => {
  throw new Error('unexpected step');
});
const RETRIED = { ...SETTINGS, maxRetries: 2, retryDelay: '1000' };
const inQueue = (text: string, queue = 'q') => commandFor(text, { queue, settings: RETRIED });
const Q = { instanceId: 'qi_1', name: 'q' };

/** An endpoint whose responses the test sends one at a time. */
class HeldSender extends ScriptedSender {
  readonly out: { readonly text: string; readonly reply: (reply: MessageOutcome) => void }[] = [];
  constructor() {
    super((message: Message) => new Promise((reply) => this.out.push({ text: textOf(message), reply })));
  }
  get texts(): readonly string[] {
    return this.sent.map(textOf);
  }
  async give(text: string, status: number): Promise<void> {
    const index = this.out.findIndex((one) => one.text === text);
    const [held] = this.out.splice(index, 1);
    assert.ok(index >= 0 && held, `${text} is not out`);
    held.reply(respondWith(status));
    await settle();
  }
}

/** Deliveries that are due before all tasks of the store, and take all slots until `end` is called. */
class DueBacklog {
  isDue = false;
  end: () => void = () => {};
  private readonly ended: Promise<null>;
  private readonly tasks: readonly DueTask[];

  constructor(count: number) {
    const task = { instanceId: 'qi_1', workflowUrl: 'http://slow/', kind: 'advance', flowControlKey: null } as const;
    this.tasks = Array.from({ length: count }, (_, n) => ({ ...task, runKey: `slow-${n}`, slot: 0, dueAt: 1, runVersion: 0 }));
    this.ended = new Promise((resolve) => {
      this.end = () => resolve(null);
    });
  }

  before(store: Store): Store {
    return {
      ...store,
      loadRun: (query) => (query.runKey.startsWith('slow-') ? this.ended : store.loadRun(query)),
      dueTasks: async ({ after, limit, ...query }) => {
        const index = this.tasks.findIndex(({ runKey }) => runKey === after?.runKey);
        const tasks = this.isDue && (after === null || index >= 0) ? this.tasks.slice(index + 1, index + 1 + limit) : [];
        if (tasks.length === limit) return tasks;
        const isInStore = tasks.length === 0 && index < 0;
        const stored = await store.dueTasks({ ...query, after: isInStore ? after : null, limit: limit - tasks.length });
        return [...tasks, ...stored];
      },
    };
  }
}

async function withQueue(
  work: (bench: Bench, sender: HeldSender) => Promise<void>,
  wrap?: (store: Store) => Store,
): Promise<void> {
  const sender = new HeldSender();
  const given = async (bench: Bench) => {
    await work(bench, sender);
    for (const { reply } of sender.out) reply(respondWith(200));
  };
  await withRuntime(noSteps, given, wrap ? { sender, wrap } : { sender });
}

describe('a queue', () => {
  test('sends one message at a time by default, in order of arrival', () =>
    withQueue(async ({ runtime }, sender) => {
      await runtime.messages.publish(['1', '2', '3'].map((text) => inQueue(text)));
      await settle();
      assert.deepEqual(sender.texts, ['1']);
      const { lag, parallelism, paused } = (await runtime.queues.find(Q)) ?? {};
      assert.deepEqual([lag, parallelism, paused], [3, 1, false]);
      await sender.give('1', 200);
      await sender.give('2', 200);
      assert.deepEqual(sender.texts, ['1', '2', '3']);
      assert.equal((await runtime.queues.find(Q))?.lag, 1);
    }));

  test('sends the messages of a batch in its order, whether or not they have deduplication ids', () =>
    withQueue(async ({ runtime }, sender) => {
      const deduplicationIds = [null, 'b', null, 'd', null];
      await runtime.messages.publish(deduplicationIds.map((deduplicationId, n) => ({ ...inQueue(`${n}`), deduplicationId })));
      await settle();
      for (const text of ['0', '1', '2', '3', '4']) await sender.give(text, 200);
      assert.deepEqual(sender.texts, ['0', '1', '2', '3', '4']);
    }));

  test('lets no message overtake one that waits for its retry', () =>
    withQueue(async ({ runtime, clock }, sender) => {
      await runtime.messages.publish(['1', '2'].map((text) => inQueue(text)));
      await settle();
      await sender.give('1', 500);
      assert.deepEqual(sender.texts, ['1'], 'the second waits while the first waits for its retry');
      clock.move(1000);
      await settle();
      assert.deepEqual(sender.texts, ['1', '1']);
      await sender.give('1', 200);
      assert.deepEqual(sender.texts, ['1', '1', '2']);
    }));

  test('continues with the next message when one has failed permanently or was canceled', () =>
    withQueue(async ({ runtime }, sender) => {
      const never = { ...SETTINGS, maxRetries: 0 };
      const [, second] = await runtime.messages.publish([
        commandFor('1', { queue: 'q', settings: never }),
        inQueue('2'),
        inQueue('3'),
      ]);
      await settle();
      await sender.give('1', 500);
      assert.deepEqual(sender.texts, ['1', '2']);
      assert.ok(second?.kind === 'published');
      await runtime.messages.cancel({ instanceId: 'qi_1', messageId: second.messages[0]?.messageId ?? '' });
      await settle();
      assert.deepEqual(sender.texts, ['1', '2', '3']);
    }));

  test('applies a new parallelism immediately', () =>
    withQueue(async ({ runtime }, sender) => {
      await runtime.queues.put({ ...Q, parallelism: 2 });
      await runtime.messages.publish(['1', '2', '3', '4'].map((text) => inQueue(text)));
      await settle();
      assert.deepEqual(sender.texts, ['1', '2']);
      await runtime.queues.put({ ...Q, parallelism: 3 });
      await settle();
      assert.deepEqual(sender.texts, ['1', '2', '3']);
      await runtime.queues.put({ ...Q, parallelism: 1 });
      await sender.give('2', 200);
      await sender.give('3', 200);
      assert.deepEqual(sender.texts, ['1', '2', '3'], 'the first still has the only slot');
      await sender.give('1', 200);
      assert.deepEqual(sender.texts, ['1', '2', '3', '4']);
    }));

  test('sends nothing while paused, not even a retry, and then continues in order', () =>
    withQueue(async ({ runtime, clock }, sender) => {
      await runtime.messages.publish(['1', '2'].map((text) => inQueue(text)));
      await settle();
      const paused = await runtime.queues.put({ ...Q, paused: true });
      assert.deepEqual([paused.paused, paused.parallelism], [true, 1]);
      await sender.give('1', 500);
      clock.move(1000);
      await settle();
      assert.deepEqual(sender.texts, ['1']);
      const [first] = (await runtime.messages.list({ instanceId: 'qi_1', filter: {}, after: null, limit: 10 })).items.slice(-1);
      const why = await runtime.runs.explain({ instanceId: 'qi_1', workflowRunId: first?.workflowRunId ?? '' });
      const waits = why?.tasks[0]?.reasons.find(({ kind }) => kind === 'queue');
      assert.deepEqual(waits, { kind: 'queue', queue: 'q', place: 1, waiting: 2, because: 'paused' });
      await runtime.queues.put({ ...Q, paused: false });
      await settle();
      assert.deepEqual(sender.texts, ['1', '1']);
      await sender.give('1', 200);
      assert.deepEqual(sender.texts, ['1', '1', '2']);
    }));

  test('does not block another queue', () =>
    withQueue(async ({ runtime }, sender) => {
      await runtime.messages.publish([inQueue('1'), inQueue('2'), inQueue('other', 'r'), commandFor('free')]);
      await settle();
      assert.deepEqual([...sender.texts].sort(), ['1', 'free', 'other']);
    }));

  test('does not contain a message before its due time', () =>
    withQueue(async ({ runtime, clock }, sender) => {
      await runtime.messages.publish([{ ...inQueue('late'), notBefore: clock.now() + 1000 }, inQueue('now')]);
      await settle();
      assert.deepEqual(sender.texts, ['now']);
      await sender.give('now', 200);
      clock.move(1000);
      await settle();
      assert.deepEqual(sender.texts, ['now', 'late']);
    }));

  test('cancels its messages when it is deleted, and starts again with later ones', () =>
    withQueue(async ({ runtime }, sender) => {
      await runtime.queues.put({ ...Q, paused: true });
      await runtime.messages.publish(['1', '2'].map((text) => inQueue(text)));
      await settle();
      assert.equal(await runtime.queues.delete(Q), true);
      assert.equal(await runtime.queues.delete(Q), false);
      assert.equal(await runtime.queues.find(Q), null);
      await settle();
      assert.deepEqual(sender.texts, []);
      await runtime.messages.publish([inQueue('3')]);
      await settle();
      assert.deepEqual(sender.texts, ['3']);
    }));

  test('sends nothing after an interrupted deletion, which can be repeated', () => {
    let isFailing = false;
    const wrap = (store: Store): Store => ({
      ...store,
      commit: async (units) => {
        if (isFailing && units.some(({ writes }) => writes.some(({ kind }) => kind === 'end-run')))
          throw new Error('the batch was rolled back');
        return store.commit(units);
      },
    });
    return withQueue(async ({ runtime, clock }, sender) => {
      await runtime.messages.publish(['1', '2', '3'].map((text) => inQueue(text)));
      await settle();
      isFailing = true;
      await assert.rejects(runtime.queues.delete(Q), /rolled back/);
      isFailing = false;
      await sender.give('1', 200);
      clock.move(1000);
      await settle();
      assert.deepEqual(sender.texts, ['1']);
      const { lag, paused } = (await runtime.queues.find(Q)) ?? {};
      assert.deepEqual([lag, paused], [2, true]);
      assert.equal(await runtime.queues.delete(Q), true);
      await runtime.messages.publish([inQueue('4')]);
      await settle();
      assert.deepEqual(sender.texts, ['1', '4']);
    }, wrap);
  });

  test('is not paused in memory if only the response to its deletion was lost', () => {
    let isLost = false;
    let publishDuringDeletion: (() => Promise<unknown>) | null = null;
    const wrap = (store: Store): Store => ({
      ...store,
      commit: async (units) => {
        const results = await store.commit(units);
        const isDeletion = units.some(({ writes }) => writes.some(({ kind }) => kind === 'delete-queue'));
        if (isDeletion && isLost) throw new Error('the response was lost');
        return results;
      },
      runHorizon: async (query) => {
        const horizon = await store.runHorizon(query);
        await publishDuringDeletion?.();
        return horizon;
      },
    });
    return withQueue(async ({ runtime }, sender) => {
      await runtime.queues.put(Q);
      isLost = true;
      publishDuringDeletion = async () => {
        await runtime.messages.publish([inQueue('1')]);
        await settle();
        assert.deepEqual(sender.texts, []);
      };
      await assert.rejects(runtime.queues.delete(Q), /response was lost/);
      isLost = false;
      await settle();
      assert.deepEqual(sender.texts, ['1'], 'it was published too late to be canceled');
    }, wrap);
  });

  test('is a new queue after its deletion if messages are published in the meantime', () => {
    let publishDuringDeletion: (() => Promise<unknown>) | null = null;
    const wrap = (store: Store): Store => ({
      ...store,
      runHorizon: async (query) => {
        const horizon = await store.runHorizon(query);
        await publishDuringDeletion?.();
        return horizon;
      },
    });
    return withQueue(async ({ runtime }, sender) => {
      await runtime.queues.put({ ...Q, parallelism: 5 });
      publishDuringDeletion = () => runtime.messages.publish([inQueue('1'), inQueue('2')]);
      assert.equal(await runtime.queues.delete(Q), true);
      await settle();
      const [queue] = await runtime.queues.list({ instanceId: 'qi_1' });
      assert.deepEqual([sender.texts, queue?.parallelism, queue?.paused, queue?.lag], [['1'], 1, false, 2]);
    }, wrap);
  });

  test('continues when the response to the batch that ended its message was lost', () => {
    let lost = false;
    const wrap = (store: Store): Store => ({
      ...store,
      commit: async (units) => {
        const results = await store.commit(units);
        if (lost) throw new Error('the connection was lost');
        return results;
      },
    });
    return withQueue(async ({ runtime, clock }, sender) => {
      await runtime.messages.publish(['1', '2'].map((text) => inQueue(text)));
      await settle();
      lost = true;
      await sender.give('1', 200);
      lost = false;
      clock.move(1000);
      await settle();
      assert.deepEqual(sender.texts, ['1', '2']);
    }, wrap);
  });
});

/** Waits until the endpoint has received so many messages, and the work in progress is done. */
async function untilSent(sender: ScriptedSender, count: number): Promise<void> {
  for (let rounds = 0; rounds < 1_000 && sender.sent.length < count; rounds++) await settle();
  await settle();
}

test('lets no new message overtake older ones that are still read from the store', async () => {
  const sender = new ScriptedSender(() => respondWith(200));
  await withRuntime(
    noSteps,
    async ({ runtime, clock }) => {
      const delayed = Array.from({ length: 600 }, (_, n) => String(n));
      await runtime.messages.publish(delayed.map((text) => ({ ...inQueue(text), notBefore: clock.now() + 1_000 })));
      clock.move(1_001);
      await runtime.messages.publish([inQueue('new')]);
      await untilSent(sender, 601);
      assert.deepEqual(sender.sent.map(textOf), [...delayed, 'new']);
    },
    { sender },
  );
});

test('lets no new message overtake older ones that stay in the store after a restart, because the backlog is full', async () => {
  const sender = new ScriptedSender(() => respondWith(200));
  const backlog = new DueBacklog(20_500);
  await withRuntime(
    noSteps,
    async (bench) => {
      const { clock } = bench;
      await bench.runtime.messages.publish(
        ['1', '2', '3'].map((text, n) => ({ ...inQueue(text), notBefore: clock.now() + 100 + n })),
      );
      backlog.isDue = true;
      await bench.restart();
      try {
        const { messages, runs } = bench.runtime;
        await messages.publish([inQueue('4')]);
        const [canceled] = await messages.publish([inQueue('canceled')]);
        await messages.publish([inQueue('5')]);
        await settle();
        assert.ok(canceled?.kind === 'published');
        const { messageId = '' } = canceled.messages[0] ?? {};
        assert.deepEqual(sender.sent.map(textOf), []);
        const why = await runs.explain({ instanceId: 'qi_1', workflowRunId: messageId });
        assert.deepEqual(why?.tasks[0]?.reasons, [{ kind: 'queued' }]);
        await messages.cancel({ instanceId: 'qi_1', messageId });
        backlog.end();
        await untilSent(sender, 5);
        assert.deepEqual(sender.sent.map(textOf), ['1', '2', '3', '4', '5']);
        assert.equal((await bench.runtime.queues.find(Q))?.lag, 0);
      } finally {
        backlog.end();
      }
    },
    { sender, wrap: (store) => backlog.before(store) },
  );
});

test('sends new messages although a due task of another run cannot be read', async () => {
  const sender = new ScriptedSender(() => respondWith(200));
  const sleeper = new ScriptedCaller(({ request }) =>
    progress(request, { planned: [{ stepId: 1, name: 'nap', type: 'SleepFor', sleepMs: 1_000 }] }),
  );
  let isDamaged = false;
  const loadRun = async (store: Store, query: Parameters<Store['loadRun']>[0]) => {
    const run = await store.loadRun(query);
    if (isDamaged && run?.workflowUrl === 'http://app/flow') throw new Error('the row is damaged');
    return run;
  };
  await withRuntime(
    sleeper,
    async (bench) => {
      await bench.trigger();
      await settle();
      isDamaged = true;
      // The run is no longer in memory.
      await bench.restart();
      bench.clock.move(1_000);
      await settle();
      for (const text of ['1', '2']) {
        await bench.runtime.messages.publish([inQueue(text)]);
        await untilSent(sender, Number(text));
      }
      assert.deepEqual(sender.sent.map(textOf), ['1', '2']);
      isDamaged = false;
      bench.clock.move(60_000);
      await settle();
      assert.equal(sleeper.calls.length, 2, 'the run continues when it can be read');
    },
    { sender, wrap: (store) => ({ ...store, loadRun: (query) => loadRun(store, query) }) },
  );
});

test('keeps the order of a queue across a restart: a message that waits for its retry is still first', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const clock = new ManualClock();
  const begin = async () => {
    const sender = new HeldSender();
    const runtime = createRuntime({ store, clock, random, stepCaller: noSteps, messageSender: sender, log: quiet, publicUrl });
    await runtime.start();
    const stop = async () => {
      const stopping = runtime.stop({ graceMs: 10 });
      for (const { reply } of sender.out) reply(respondWith(200));
      await settle();
      clock.move(20);
      await stopping;
    };
    return { runtime, sender, stop };
  };
  const before = await begin();
  await before.runtime.messages.publish(['1', '2', '3'].map((text) => inQueue(text)));
  await settle();
  await before.sender.give('1', 500);
  await before.stop();
  const after = await begin();
  await settle();
  assert.deepEqual(after.sender.texts, [], 'the first is not due yet, and the others wait for it');
  clock.move(1000);
  await settle();
  for (const text of ['1', '2', '3']) await after.sender.give(text, 200);
  assert.deepEqual(after.sender.texts, ['1', '2', '3']);
  await after.stop();
  await store.close();
});
