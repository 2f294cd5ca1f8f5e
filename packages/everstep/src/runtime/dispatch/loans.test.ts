/** Several nodes: deliveries that pass the gates of one node, and that another node makes because the worker is connected there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BreakerSettings } from '../../engine/runs/run.js';
import type { Cluster, ClusterEvents, EndedLoan, Loan, SharedChange } from '../../ports/cluster.js';
import type { StepCaller, StepOutcome } from '../../ports/step-caller.js';
import type { DueTask } from '../../ports/stores/store.js';
import type { WorkerPresence } from '../../ports/workers.js';
import { aloneInCluster, type Bench, progress, ScriptedCaller, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';

const INSTANCE = 'qi_1';
const ORDER = 'worker://shop/order';
const VERIFY_EVERY_MS = 1_000;
const PROBE_EVERY_MS = 10_000;
const BREAKER: BreakerSettings = { enabled: true, failures: 2, probeEveryMs: PROBE_EVERY_MS };
const TIMEOUT = 'the worker did not respond within 60000 ms';

/** The only worker is connected to another node. */
const elsewhere: WorkerPresence = {
  missingSince: () => null,
  freeSlots: () => 10,
  reserve: () => true,
  release: () => {},
  takeFreed: () => [],
  onChange: () => {},
  nodes: { isServedHere: () => false, nodeFor: () => 'n_2' },
};

/** The worker is connected to this node. */
const here: WorkerPresence = { ...elsewhere, nodes: { isServedHere: () => true, nodeFor: () => null } };

const noCalls = new ScriptedCaller(() => {
  throw new Error('no worker is connected to this node');
});

type LoanNotice = Extract<SharedChange, { readonly kind: 'loans' }>;

/** This node and what it exchanges with the other one, `n_2`. */
class OneOfTwo {
  /** Runs whose tasks were lent and handed to the other node. */
  readonly lent: string[] = [];
  readonly handed: string[] = [];
  readonly reports: LoanNotice[] = [];
  /** Loans that are still open according to the database; null for all of them. */
  openLoans: readonly Loan[] | null = null;
  readonly cluster: Cluster;
  private readonly claims: DueTask[] = [];
  private events: ClusterEvents | null = null;

  constructor(gateHolder = 'n_1') {
    this.cluster = {
      ...aloneInCluster(() => this.claims.splice(0)),
      join: async (events) => {
        this.events = events;
      },
      handOver: async (tasks, to, { isLent = false } = {}) => {
        assert.equal(to, 'n_2');
        (isLent ? this.lent : this.handed).push(...tasks.map(({ runKey }) => runKey));
      },
      openLoans: async (loans) => this.openLoans ?? loans,
      gateHolderOf: async () => gateHolder,
      notify: (change) => {
        if (change.kind === 'loans') this.reports.push(change);
      },
    };
  }

  /** Reports the end of deliveries that this node has lent. */
  async reportEnds(...ended: readonly EndedLoan[]): Promise<void> {
    await this.events?.onChanged({ kind: 'loans', to: 'n_1', sent: [], ended, returned: [] });
    await settle();
  }

  /** Lends all due tasks of the store to this node, which must not have started them. */
  async lendDueTasks({ store, clock }: Bench): Promise<void> {
    const dueTasks = await store.dueTasks({ before: clock.now(), after: null, limit: 1_000 });
    this.claims.push(...dueTasks.map((task) => ({ ...task, lentBy: 'n_2' })));
    this.events?.onWork();
    await settle();
  }

  get reportedEnds(): readonly EndedLoan[] {
    return this.reports.flatMap(({ ended }) => ended);
  }
}

const enableBreaker = ({ runtime }: Bench, breaker = BREAKER) =>
  runtime.settings.changeInstanceSettings({ instanceId: INSTANCE, update: (settings) => ({ ...settings, breaker }) });

/** Triggers runs whose deliveries share a limit, and returns their keys. */
async function triggerLimited({ trigger }: Bench, count: number): Promise<string[]> {
  const settings = { ...SETTINGS, flowControl: { key: 'k', parallelism: 2 } };
  const runKeys: string[] = [];
  for (let n = 0; n < count; n++) runKeys.push((await trigger({ workflowUrl: ORDER, settings })).run.runKey);
  await settle();
  return runKeys;
}

async function destinationOf({ runtime }: Bench) {
  const [destination] = await runtime.destinations.list({ instanceId: INSTANCE });
  return { heldBy: destination?.hold?.by ?? null, failures: destination?.failures ?? 0 };
}

async function passTime({ clock }: Bench, ms: number): Promise<void> {
  clock.move(ms);
  await settle();
}

const failed = (runKey: string): EndedLoan => ({ runKey, slot: 0, error: TIMEOUT });

test('a slot lent to a node that is killed is free when another node has taken over its tasks, and not before', async () => {
  const node = new OneOfTwo();
  await withRuntime(
    noCalls,
    async (bench) => {
      const runs = await triggerLimited(bench, 4);
      assert.deepEqual(node.lent, runs.slice(0, 2));
      // The borrower is dead, and its lease has not ended yet.
      await passTime(bench, VERIFY_EVERY_MS);
      assert.deepEqual(node.lent, runs.slice(0, 2));
      // Another node has claimed its tasks.
      node.openLoans = [];
      await passTime(bench, VERIFY_EVERY_MS);
      assert.deepEqual(node.lent, runs);
    },
    { cluster: node.cluster, workers: elsewhere },
  );
});

test('failures of lent deliveries open the breaker of the lender; a failed probe keeps the hold, a delivered one ends it', async () => {
  const node = new OneOfTwo();
  await withRuntime(
    noCalls,
    async (bench) => {
      await enableBreaker(bench);
      const runs = await triggerLimited(bench, 6);
      await node.reportEnds(...runs.slice(0, 2).map(failed));
      assert.deepEqual([node.lent, await destinationOf(bench)], [runs.slice(0, 2), { heldBy: 'breaker', failures: 2 }]);
      const [destination] = await bench.runtime.destinations.list({ instanceId: INSTANCE });
      assert.equal(destination?.lastError, TIMEOUT);
      await passTime(bench, PROBE_EVERY_MS);
      assert.deepEqual(node.lent, runs.slice(0, 3), 'the probe');
      await node.reportEnds(failed(runs[2] ?? ''));
      assert.deepEqual([node.lent, await destinationOf(bench)], [runs.slice(0, 3), { heldBy: 'breaker', failures: 3 }]);
      await passTime(bench, PROBE_EVERY_MS);
      assert.deepEqual(node.lent, runs.slice(0, 4), 'the next probe');
      await node.reportEnds({ runKey: runs[3] ?? '', slot: 0, error: null });
      assert.deepEqual([node.lent, await destinationOf(bench)], [runs, { heldBy: null, failures: 0 }]);
    },
    { cluster: node.cluster, workers: elsewhere },
  );
});

test('a lent delivery whose result is unknown changes nothing for the breaker, and another probe follows', async () => {
  const node = new OneOfTwo();
  await withRuntime(
    noCalls,
    async (bench) => {
      await enableBreaker(bench);
      const runs = await triggerLimited(bench, 6);
      // A node of an earlier version reports no result.
      await node.reportEnds(failed(runs[0] ?? ''), { runKey: runs[1] ?? '', slot: 0 });
      assert.deepEqual([node.lent, await destinationOf(bench)], [runs.slice(0, 4), { heldBy: null, failures: 1 }]);
      await node.reportEnds(failed(runs[2] ?? ''));
      assert.deepEqual(await destinationOf(bench), { heldBy: 'breaker', failures: 2 });
      await node.reportEnds({ runKey: runs[3] ?? '', slot: 0 });
      await passTime(bench, PROBE_EVERY_MS);
      assert.deepEqual(node.lent, runs.slice(0, 5), 'the probe');
      // The borrower was killed, and another node has claimed its tasks.
      node.openLoans = [];
      await passTime(bench, VERIFY_EVERY_MS);
      assert.deepEqual([node.lent, await destinationOf(bench)], [runs.slice(0, 5), { heldBy: 'breaker', failures: 2 }]);
      node.openLoans = null;
      await passTime(bench, PROBE_EVERY_MS - VERIFY_EVERY_MS);
      assert.deepEqual(node.lent, runs, 'the next probe');
    },
    { cluster: node.cluster, workers: elsewhere },
  );
});

/** A worker that fails every request with this error until `isHealthy` is set. */
class FailingWorker implements StepCaller {
  isHealthy = false;
  error = TIMEOUT;
  callCount = 0;
  async call({ request }: Parameters<StepCaller['call']>[0]): Promise<StepOutcome> {
    this.callCount++;
    const [responseHeaders, responseBody] = [{}, new Uint8Array()];
    if (this.isHealthy) {
      const reply = progress(request, { end: { kind: 'finished', result: '1' } });
      return { kind: 'reply', reply, status: 200, responseHeaders, responseBody };
    }
    const failure = { cause: 'timeout', message: this.error, status: null, retry: { kind: 'never' } } as const;
    return { kind: 'failure', failure: { ...failure, responseHeaders, responseBody } };
  }
  async close(): Promise<void> {}
}

test('the borrower reports the result of a lent delivery, and sends it while its own breaker holds the destination', async () => {
  const node = new OneOfTwo('n_2');
  const worker = new FailingWorker();
  await withRuntime(
    worker,
    async (bench) => {
      await enableBreaker(bench);
      const runs = await triggerLimited(bench, 2);
      assert.deepEqual(node.handed, runs, 'the other node holds the gates');
      await node.lendDueTasks(bench);
      assert.deepEqual(node.reportedEnds, runs.map(failed));
      assert.deepEqual(await destinationOf(bench), { heldBy: 'breaker', failures: 2 });
      const probes = await triggerLimited(bench, 2);
      await node.lendDueTasks(bench);
      assert.deepEqual(node.reportedEnds.slice(2), probes.map(failed));
      worker.isHealthy = true;
      const [last = ''] = await triggerLimited(bench, 1);
      await node.lendDueTasks(bench);
      assert.deepEqual(node.reportedEnds.slice(4), [{ runKey: last, slot: 0, error: null }]);
      assert.equal(worker.callCount, 5);
    },
    { cluster: node.cluster, workers: here },
  );
});

test('the borrower hands a lent delivery back while a person holds the destination', async () => {
  const node = new OneOfTwo('n_2');
  const worker = new FailingWorker();
  await withRuntime(
    worker,
    async (bench) => {
      await bench.runtime.destinations.hold({ instanceId: INSTANCE, origin: ORDER, reason: 'maintenance' });
      const [run = ''] = await triggerLimited(bench, 1);
      await node.lendDueTasks(bench);
      assert.deepEqual(node.handed, [run, run]);
      assert.deepEqual(node.reports, [{ kind: 'loans', to: 'n_2', sent: [], ended: [], returned: [{ runKey: run, slot: 0 }] }]);
      assert.equal(worker.callCount, 0);
      await bench.runtime.destinations.release({ instanceId: INSTANCE, origin: ORDER });
      await settle();
      assert.equal(worker.callCount, 0, 'nothing waits here');
      await node.lendDueTasks(bench);
      assert.deepEqual(node.reportedEnds, [failed(run)]);
    },
    { cluster: node.cluster, workers: here },
  );
});

test('a report with long errors is divided among notices that PostgreSQL accepts', async () => {
  const node = new OneOfTwo('n_2');
  const worker = new FailingWorker();
  worker.error = '\u0001接'.repeat(5_000);
  await withRuntime(
    worker,
    async (bench) => {
      const runs = await triggerLimited(bench, 40);
      // All deliveries start and end in the same turns.
      await node.lendDueTasks(bench);
      assert.deepEqual(
        node.reportedEnds.map(({ runKey, slot, error }) => [runKey, slot, worker.error.startsWith(error ?? ' ')]),
        runs.map((runKey) => [runKey, 0, true]),
      );
      for (const report of node.reports) assert.ok(Buffer.byteLength(JSON.stringify(report)) < 7_500);
    },
    { cluster: node.cluster, workers: { ...here, freeSlots: () => 100 } },
  );
});
