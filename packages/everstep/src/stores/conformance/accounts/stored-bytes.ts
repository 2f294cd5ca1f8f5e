import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Run, Schedule } from '../../../engine/runs/run.js';
import type { Store, StoreWrite } from '../../../ports/stores/store.js';
import { contentBytes, type InstanceTotals, RECORD_BYTES } from '../../../ports/stores/stored-bytes.js';
import { type OpenStore, withStore } from '../harness.js';
import {
  advanceTask,
  apply,
  creation,
  failure,
  INSTANCE,
  keptEvent,
  PAYLOAD,
  putTasks,
  SETTINGS,
  sampleAttempt,
  sampleDeadLetter,
  sampleExchange,
  sampleRun,
  sampleStep,
  seededNumbers,
  T0,
  unit,
} from '../samples.js';
import { sampleApiKey, sampleInstance, sampleUser } from './account-samples.js';

const ACCOUNT = 'usr_1';
const FAR_FUTURE = T0 * 2;
const PAGE = { instanceId: INSTANCE, filter: {}, order: 'oldest-first', after: null, horizon: null, limit: 1_000 } as const;
const BOUNDS = { maxRows: 1_000, maxBytes: 1_000_000 };

async function openAccount(store: Store, instanceIds: readonly string[]): Promise<void> {
  await store.accounts.createUser({ user: sampleUser('1'), apiKey: sampleApiKey('1') });
  for (const instanceId of instanceIds) await store.accounts.createInstance(sampleInstance(instanceId, { accountId: ACCOUNT }));
}

async function totalsOf(store: Store, instanceId: string = INSTANCE): Promise<InstanceTotals | undefined> {
  const totals = await store.accounts.totalsOf({ accountId: ACCOUNT });
  return totals.find((entry) => entry.instanceId === instanceId);
}

const storedBytes = async (store: Store, instanceId?: string) => (await totalsOf(store, instanceId))?.bytes;

/** Returns the stored bytes, computed from what the store returns for each run and schedule. */
async function recount(store: Store): Promise<number> {
  let sum = 0;
  const record = (...contents: readonly (string | Uint8Array | null)[]) => {
    sum += RECORD_BYTES + contentBytes(...contents);
  };
  for (const run of (await store.listRuns(PAGE)).items) {
    const runKey = run.key;
    const payload = await store.loadPayload({ runKey });
    record(JSON.stringify(payload?.forwardHeaders), payload?.body ?? null);
    sum += contentBytes((await store.loadResult({ runKey })) ?? null);
    const history = await store.runHistory({ runKey, bounds: BOUNDS, maxOutBytes: 2 ** 30, exchanges: true });
    for (const { out, sent } of history?.steps ?? []) record(out, sent ? JSON.stringify(sent) : null);
    for (const { exchange, thrown } of history?.attempts ?? [])
      record(exchange ? JSON.stringify(exchange) : null, thrown ? JSON.stringify(thrown) : null);
    for (const { content } of (await store.loadRun({ runKey }))?.keptEvents ?? []) record(JSON.stringify(content));
  }
  for (const { dlqId } of (await store.listDeadLetters(PAGE)).items) {
    const bodies = await store.loadDeadLetterBodies({ instanceId: INSTANCE, dlqIds: [dlqId] });
    const { responseBody, failedBy } = bodies.get(dlqId) ?? {};
    record(responseBody ?? null, failedBy ? JSON.stringify(failedBy) : null);
  }
  for (const { payload } of (await store.listSchedules({ instanceId: INSTANCE, after: null, limit: 1_000 })).items)
    record(JSON.stringify(payload.forwardHeaders), payload.body);
  return sum;
}

const schedule = (n: number, bodyBytes: number): Schedule => ({
  scheduleId: `scd_${n}`,
  instanceId: INSTANCE,
  dialect: 'native',
  cron: '* * * * *',
  timeZone: 'UTC',
  workflowUrl: 'https://app.test/flow',
  payload: { ...PAYLOAD, body: new Uint8Array(bodyBytes) },
  settings: SETTINGS,
  delayMs: 0,
  callerIp: '',
  paused: false,
  createdAt: T0,
  nextAt: T0 + n,
  lastFiredAt: null,
  lastRunId: null,
});

type RandomInteger = (below: number) => number;

/** Applies random changes, one at a time, to every kind of record whose bytes are counted. */
class RandomChanges {
  private readonly store: Store;
  private readonly randomNumber: RandomInteger;
  private readonly activeRuns: { readonly run: Run; steps: number; events: number }[] = [];
  private readonly failedRuns: Run[] = [];
  private runCount = 0;

  constructor(store: Store, randomNumber: RandomInteger) {
    this.store = store;
    this.randomNumber = randomNumber;
  }

  async make(): Promise<void> {
    const { randomNumber, store, activeRuns } = this;
    const chosenRun = activeRuns[randomNumber(Math.max(1, activeRuns.length))];
    const text = JSON.stringify('ü'.repeat(randomNumber(50)));
    const runKey = chosenRun?.run.key ?? '';
    switch (chosenRun ? randomNumber(10) : 0) {
      case 0:
        return this.start();
      case 1:
      case 2: {
        const { response: _, ...sent } = sampleExchange(1);
        return apply(store, [
          {
            kind: 'record-step',
            runKey,
            step: sampleStep(chosenRun ? chosenRun.steps++ : 0, { out: text, ...(randomNumber(3) === 0 ? { sent } : {}) }),
          },
        ]);
      }
      case 3:
        return apply(store, [
          { kind: 'record-attempt', runKey, attempt: { ...sampleAttempt(1), exchange: sampleExchange(randomNumber(9)) } },
        ]);
      case 4:
        return apply(store, [{ kind: 'keep-event', runKey, event: keptEvent(chosenRun ? ++chosenRun.events : 0) }]);
      case 5:
        return apply(store, [{ kind: 'drop-event', runKey, eventKey: keptEvent(chosenRun?.events ?? 0).eventKey }]);
      case 6:
        return this.end(text);
      case 7:
        return this.resume();
      case 8: {
        const n = randomNumber(3);
        const put: StoreWrite = { kind: 'put-schedule', schedule: schedule(n, randomNumber(100)) };
        const deletion: StoreWrite = { kind: 'delete-schedule', instanceId: INSTANCE, scheduleId: `scd_${n}` };
        return apply(store, [randomNumber(3) === 0 ? deletion : put]);
      }
      default: {
        const state = (['succeeded', 'failed', 'deadLetter'] as const)[randomNumber(3)] ?? 'failed';
        const limit = 1 + randomNumber(2);
        await store.removeEndedRuns({ instanceId: INSTANCE, state, endedBefore: FAR_FUTURE, keepNewest: null, limit });
      }
    }
  }

  private async start(input?: { readonly copyOf: string }): Promise<void> {
    const run = sampleRun(++this.runCount);
    const body = new Uint8Array(this.randomNumber(200));
    await apply(this.store, [creation(run, input ?? { ...PAYLOAD, body }), ...putTasks(run.key, [advanceTask(T0)])]);
    this.activeRuns.push({ run, steps: 0, events: 0 });
  }

  private async end(result: string): Promise<void> {
    const [oldestRun] = this.activeRuns.splice(0, 1);
    if (!oldestRun) return;
    const { run } = oldestRun;
    if (this.randomNumber(2) === 0)
      return apply(this.store, [{ kind: 'end-run', runKey: run.key, outcome: { status: 'succeeded', result }, completedAt: T0 }]);
    const entry = sampleDeadLetter(run, { responseBody: new Uint8Array(this.randomNumber(80)) });
    await apply(this.store, failure(run, entry));
    this.failedRuns.push(run);
  }

  /** Resumes a failed run as a new run with a copy of its journal. Changes nothing if its dead letter was removed. */
  private async resume(): Promise<void> {
    const [failedRun] = this.failedRuns.splice(0, 1);
    if (!failedRun) return;
    const run = sampleRun(++this.runCount);
    const dlqId = `dlq_${failedRun.key}`;
    const steps = (await this.store.journalSize({ runKey: failedRun.key })).steps;
    const guards = [{ kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds: [dlqId] }] as const;
    const [result] = await this.store.commit([
      unit(
        [
          creation(run, { copyOf: failedRun.key }),
          { kind: 'copy-journal', fromRunKey: failedRun.key, toRunKey: run.key },
          { kind: 'take-dead-letter', instanceId: INSTANCE, dlqId, recoveredAs: { kind: 'resume', runKey: run.key, at: T0 } },
        ],
        guards,
      ),
    ]);
    if (result?.kind === 'applied') this.activeRuns.push({ run, steps, events: 0 });
  }
}

export function storedBytesConformance(open: OpenStore): void {
  describe('stored bytes', () => {
    test(
      'equal a recount of everything after any creations and deletions, and after a restart',
      withStore(open, async (store, underTest) => {
        await openAccount(store, [INSTANCE, 'qi_empty']);
        const changes = new RandomChanges(store, seededNumbers(11));
        for (let n = 0; n < 150; n++) {
          await changes.make();
          if (n % 30 === 29) assert.equal(await storedBytes(store), await recount(store), `after ${n + 1} changes`);
        }
        assert.ok((await recount(store)) > 0);
        const activeRuns = await store.listRuns({ ...PAGE, filter: { statuses: ['active'] } });
        assert.deepEqual(await totalsOf(store), {
          instanceId: INSTANCE,
          plan: null,
          bytes: await recount(store),
          activeRuns: activeRuns.items.length,
        });
        const reopened = await underTest.reopen();
        assert.equal(await storedBytes(reopened), await recount(reopened));
        assert.equal(await storedBytes(reopened, 'qi_empty'), 0);
      }),
    );

    test(
      'are not counted for a rejected unit, nor for a faulty batch',
      withStore(open, async (store) => {
        await openAccount(store, [INSTANCE]);
        const [first, second] = [sampleRun(1), sampleRun(2)];
        await apply(store, [creation(first)]);
        const before = await storedBytes(store);
        await store.commit([unit([creation(second)], [{ kind: 'run-active', runKey: 'no such run' }])]);
        await assert.rejects(store.commit([unit([creation(second), { kind: 'delete-task', runKey: 'no such run', slot: 1 }])]));
        assert.equal(await storedBytes(store), before);
      }),
    );

    test(
      'of a staged journal count for its instance until it is adopted or abandoned, and it is not visible before',
      withStore(open, async (store) => {
        await openAccount(store, [INSTANCE]);
        const [from, fork, abandonedFork] = [sampleRun(1), sampleRun(2, { origin: forkOf(sampleRun(1)) }), sampleRun(3)];
        const journal = [0, 1, 2, 3].map((index) => sampleStep(index, { out: JSON.stringify('x'.repeat(1_000 * (index + 1))) }));
        await apply(store, [
          creation(from),
          ...journal.map((step): StoreWrite => ({ kind: 'record-step', runKey: from.key, step })),
        ]);
        const before = (await storedBytes(store)) ?? 0;
        const slice = (to: Run, first: number, below: number): StoreWrite => ({
          kind: 'stage-journal',
          fromRunKey: from.key,
          toRunKey: to.key,
          from: first,
          below,
          without: [2],
          at: fork.createdAt,
        });
        await apply(store, [slice(fork, 0, 2)]);
        await apply(store, [slice(fork, 2, 4)]);
        await apply(store, [slice(abandonedFork, 0, 4)]);
        const copiedBytes = [0, 1, 3].reduce((sum, n) => sum + RECORD_BYTES + contentBytes(journal[n]?.out ?? null), 0);
        assert.equal(await storedBytes(store), before + 2 * copiedBytes);
        const laterRun = sampleRun(4);
        await apply(store, [creation(laterRun)]);
        const listing = await store.listRuns(PAGE);
        assert.deepEqual(
          listing.items.map(({ key }) => key),
          [from.key, laterRun.key],
        );
        assert.equal(await store.loadRun({ runKey: fork.key }), null);
        const adopt = (steps: number): StoreWrite => ({ kind: 'adopt-journal', runKey: fork.key, instanceId: INSTANCE, steps });
        await assert.rejects(apply(store, [creation(fork, { copyOf: from.key }), adopt(4)]), 'the copy is incomplete');
        const editedStep = { ...sampleStep(2), out: '"edited"', edited: true } as const;
        await apply(store, [
          creation(fork, { copyOf: from.key }),
          adopt(3),
          { kind: 'record-step', runKey: fork.key, step: editedStep },
          ...putTasks(fork.key, [advanceTask(T0)]),
        ]);
        const expectedJournal = journal.map((step) => (step.index === 2 ? editedStep : step));
        assert.deepEqual(await store.loadJournal({ runKey: fork.key, from: 0 }), expectedJournal);
        await assert.rejects(apply(store, [adopt(4)]), 'a journal is adopted only once');

        assert.equal(await store.removeStagedSteps(), false, 'what may still be adopted stays');
        await apply(store, [{ kind: 'abandon-journal', runKey: abandonedFork.key, instanceId: INSTANCE }]);
        while (await store.removeStagedSteps());
        assert.equal(await storedBytes(store), await recount(store));
        await assert.rejects(apply(store, [creation(abandonedFork), { ...adopt(3), runKey: abandonedFork.key } as StoreWrite]));
      }),
    );
  });
}

const forkOf = ({ key, workflowRunId, createdAt }: Run) =>
  ({ kind: 'fork', runKey: key, workflowRunId, workflowCreatedAt: createdAt, stepId: 1 }) as const;
