/** Queues with several nodes: which messages a node delivers, and which it does not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cluster, ClusterEvents, QueuedQuery } from '../../ports/cluster.js';
import type { Message, MessageOutcome, MessageSender } from '../../ports/message-sender.js';
import type { DueTask, Store } from '../../ports/stores/store.js';
import { ALWAYS_OPEN } from '../../ports/stores/store-writes.js';
import { DueTasks } from '../due/due-tasks.js';
import { commandFor, respondWith as respond, textOf } from '../messages/plain-messages.fixture.js';
import {
  aloneInCluster,
  type Bench,
  ManualClock,
  quiet,
  ScriptedCaller,
  SETTINGS,
  settle,
  withRuntime,
} from '../runtime.fixture.js';

const noSteps = new ScriptedCaller(() => {
  throw new Error('no step was expected');
});
const RETRIED = { ...SETTINGS, maxRetries: 2, retryDelay: '60000' };
const inQueue = (text: string) => commandFor(text, { queue: 'q', settings: RETRIED });
const POLL_MS = 1_000;

/** A node whose claims the test controls. */
class OneOfSeveral {
  readonly claims: DueTask[] = [];
  readonly queries: QueuedQuery[] = [];
  readonly handedOver: string[] = [];
  events: ClusterEvents | null = null;
  nodeId = 'n_1';
  canStartWork = true;
  /** The node that holds the gates, according to the other nodes. */
  holder = 'n_1';
  readonly cluster: Cluster;

  constructor() {
    const self = this;
    this.cluster = {
      ...aloneInCluster(() => []),
      get nodeId() {
        return self.nodeId;
      },
      get canStartWork() {
        return self.canStartWork;
      },
      join: async (events) => {
        self.events = events;
      },
      claimQueued: async (query) => {
        self.queries.push(query);
        return self.claims.splice(0);
      },
      handOver: async (tasks) => {
        self.handedOver.push(...tasks.map(({ runKey }) => runKey));
      },
      gateHolderOf: async () => self.holder,
    };
  }
}

/** Responds immediately. `beforeSend` is called right before the request is sent. */
class Endpoint implements MessageSender {
  readonly texts: string[] = [];
  status = 200;
  beforeSend = (): void => {};
  /** The endpoint responds when this has resolved, even if the request was given up. */
  answering: Promise<void> = Promise.resolve();
  async send(message: Message, signal: AbortSignal, onSent?: () => void): Promise<MessageOutcome> {
    this.beforeSend();
    onSent?.();
    if (!signal.aborted) this.texts.push(textOf(message));
    await this.answering;
    return respond(this.status);
  }
}

async function withNode(work: (bench: Bench, node: OneOfSeveral, endpoint: Endpoint) => Promise<void>): Promise<void> {
  const [node, endpoint] = [new OneOfSeveral(), new Endpoint()];
  await withRuntime(noSteps, (bench) => work(bench, node, endpoint), { sender: endpoint, cluster: node.cluster });
}

/** Publishes messages that this node does not claim yet. Resolves with their tasks. */
async function published({ runtime, store, clock }: Bench, texts: readonly string[]): Promise<readonly DueTask[]> {
  await runtime.messages.publish(texts.map(inQueue));
  await settle();
  return store.dueTasks({ before: clock.now(), after: null, limit: 10 });
}

async function poll({ clock }: Bench): Promise<void> {
  clock.move(POLL_MS);
  await settle();
}

test('a node delivers a queued message that it has claimed, even if it did not know that it holds the gates', () =>
  withNode(async (bench, node, endpoint) => {
    node.holder = 'n_2';
    node.claims.push(...(await published(bench, ['1', '2'])));
    assert.deepEqual(endpoint.texts, []);
    await poll(bench);
    assert.deepEqual(endpoint.texts, ['1', '2']);
    assert.deepEqual(node.handedOver, []);
  }));

test('a request is not sent if the lease of its node has expired since the delivery started', () =>
  withNode(async (bench, node, endpoint) => {
    const tasks = await published(bench, ['1', '2']);
    node.claims.push(...tasks);
    endpoint.beforeSend = () => {
      node.canStartWork = false;
    };
    await poll(bench);
    assert.deepEqual(endpoint.texts, []);
    endpoint.beforeSend = () => {};
    node.canStartWork = true;
    node.claims.push(...tasks);
    await poll(bench);
    assert.ok(node.queries.some(({ includesClaimed }) => includesClaimed));
    assert.deepEqual(endpoint.texts, ['1', '2']);
  }));

test('a request is not sent if its node has a new id since the delivery started', () =>
  withNode(async (bench, node, endpoint) => {
    const tasks = await published(bench, ['1', '2']);
    node.claims.push(...tasks);
    endpoint.beforeSend = () => {
      node.nodeId = 'n_3';
      node.events?.onSuspended();
      node.events?.onResumed({ isNewNode: true });
    };
    await poll(bench);
    await poll(bench);
    assert.deepEqual(endpoint.texts, []);
  }));

test('a message that a node claims under a new id is delivered, even if its earlier delivery has not ended', () =>
  withNode(async (bench, node, endpoint) => {
    const tasks = await published(bench, ['1']);
    node.claims.push(...tasks);
    let respondNow = (): void => {};
    endpoint.answering = new Promise((resolve) => {
      respondNow = resolve;
    });
    await poll(bench);
    assert.deepEqual(endpoint.texts, ['1']);
    node.nodeId = 'n_3';
    node.events?.onSuspended();
    node.events?.onResumed({ isNewNode: true });
    node.claims.push(...tasks);
    await poll(bench);
    respondNow();
    await settle();
    assert.deepEqual(endpoint.texts, ['1', '1']);
  }));

test('a message that a node claims before it knows that the message is due is read again', () =>
  withNode(async (bench, node, endpoint) => {
    endpoint.status = 500;
    node.claims.push(...(await published(bench, ['1'])));
    await poll(bench);
    endpoint.status = 200;
    const retries = await bench.store.dueTasks({ before: bench.clock.now() + 60_000, after: null, limit: 10 });
    assert.equal(retries.length, 1);
    node.claims.push(...retries);
    await poll(bench);
    assert.deepEqual(endpoint.texts, ['1'], 'it is not due yet');
    assert.equal(node.queries.at(-1)?.includesClaimed, false);
    await poll(bench);
    assert.ok(node.queries.some(({ includesClaimed }) => includesClaimed));
    bench.clock.move(60_000);
    node.claims.push(...retries);
    await poll(bench);
    assert.deepEqual(endpoint.texts, ['1', '1']);
  }));

test('a message that another node cancels while it waits for its retry frees its slot', () =>
  withNode(async (bench, node, endpoint) => {
    const tasks = await published(bench, ['1', '2']);
    node.claims.push(...tasks);
    endpoint.status = 500;
    await poll(bench);
    assert.deepEqual(endpoint.texts, ['1']);
    endpoint.status = 200;
    await node.events?.onChanged({ kind: 'run-canceled', runKey: tasks[0]?.runKey ?? '' });
    await settle();
    assert.deepEqual(endpoint.texts, ['1', '2']);
  }));

test('a message whose end its node has missed frees its slot', async () => {
  const [node, endpoint] = [new OneOfSeveral(), new Endpoint()];
  const ended = new Set<string>();
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get(target, property, receiver) {
        if (property !== 'filterEndedRuns') return Reflect.get(target, property, receiver);
        return async ({ runKeys }: { readonly runKeys: readonly string[] }) => runKeys.filter((runKey) => ended.has(runKey));
      },
    });
  await withRuntime(
    noSteps,
    async (bench) => {
      const tasks = await published(bench, ['1', '2']);
      node.claims.push(...tasks);
      endpoint.status = 500;
      await poll(bench);
      await poll(bench);
      assert.deepEqual(endpoint.texts, ['1']);
      endpoint.status = 200;
      ended.add(tasks[0]?.runKey ?? '');
      await poll(bench);
      assert.deepEqual(endpoint.texts, ['1', '2']);
    },
    { sender: endpoint, cluster: node.cluster, wrap },
  );
});

test('a message that has ended on another node frees its slot', () =>
  withNode(async (bench, node, endpoint) => {
    const [first, second] = await published(bench, ['1', '2']);
    assert.ok(first && second);
    node.claims.push({ ...first, runKey: 'ended' }, second);
    await poll(bench);
    assert.deepEqual(endpoint.texts, ['2']);
  }));

test('the rest of a page is skipped when other nodes have taken over, and claimed tasks are read again', async () => {
  const clock = new ManualClock();
  const page = ['1', '2', '3'].map((runKey): DueTask => {
    const run = { runKey, instanceId: 'qi_1', workflowUrl: 'http://app', flowControlKey: null, runVersion: 0 };
    return { ...run, slot: 0, kind: 'message', dueAt: 1, queue: 'q' };
  });
  const pages = [page, page.slice(0, 1)];
  const includesClaimed: boolean[] = [];
  const taken: string[] = [];
  const due: DueTasks = new DueTasks({
    store: { dueTasks: async () => [], dueInstances: async () => [], nextDueAt: async () => null },
    clock,
    log: quiet,
    writes: ALWAYS_OPEN,
    handler: {
      backlog: { hasCapacity: () => true, countOf: () => 0 },
      onMessageInOrder: () => assert.fail('no message was deferred'),
      handleDue: async ({ runKey }) => {
        taken.push(runKey);
        if (taken.length === 2) due.onClaimsLost();
      },
    },
    cluster: {
      claimDue: async () => [],
      claimQueued: async (query) => {
        includesClaimed.push(query.includesClaimed);
        return pages.shift() ?? [];
      },
    },
  });
  await due.start();
  await settle();
  await due.stop();
  assert.deepEqual(taken, ['1', '2', '1']);
  assert.deepEqual(includesClaimed, [false, true]);
});
