import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EMPTY_GROUP_RETENTION_MS, NEW_FOR_MS } from '../../engine/dead-letters/dead-letter-groups.js';
import { type FailureDescription, groupOf } from '../../engine/dead-letters/fingerprint.js';
import type { Store } from '../../ports/stores/store.js';
import {
  apply,
  creation,
  failure,
  INSTANCE,
  sampleAttempt,
  sampleDeadLetter,
  sampleRun,
  T0,
  unit,
} from '../../stores/conformance/samples.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { ManualClock, quiet } from '../runtime.fixture.js';
import { GroupUpkeep } from './group-upkeep.js';

async function openStore(t: TestContext): Promise<Store> {
  const store = await openSqliteStore({ file: ':memory:' });
  t.after(() => store.close());
  return store;
}

/** Runs that failed in an older version. */
const failed = (n: number, message: string) => {
  const run = sampleRun(n);
  const attempt = { ...sampleAttempt(1), retryAt: null, name: `pay-${n}`, status: 500, message };
  return unit([
    creation(run),
    { kind: 'record-attempt', runKey: run.key, attempt },
    ...failure(run, sampleDeadLetter(run, { failedBy: null })),
  ]);
};

const upkeepOf = (store: Store, options: Partial<ConstructorParameters<typeof GroupUpkeep>[0]> = {}) =>
  new GroupUpkeep({ store, clock: new ManualClock(), now: () => T0, log: quiet, ...options });

const groups = async (store: Store, now = T0) => {
  const page = { instanceId: INSTANCE, filter: { kind: 'workflow', withEmpty: true }, now, after: null, limit: 100 } as const;
  return (await store.deadLetterGroups.list(page)).items;
};

test('puts entries of an older version into the groups that they would have now', async (t) => {
  const store = await openStore(t);
  await store.commit(Array.from({ length: 250 }, (_, n) => failed(n + 1, `no stock for order ${n}`)));
  await store.commit(Array.from({ length: 5 }, (_, n) => failed(n + 500, 'no answer')));
  await upkeepOf(store).work();
  const found = await groups(store);
  assert.deepEqual(
    found.map(({ stepName, message, entries }) => [stepName, message, entries]),
    [
      ['pay-#', 'no answer', 5],
      ['pay-#', 'no stock for order #', 250],
    ],
  );
  const workflowUrl = sampleRun(1).workflowUrl;
  const now = groupOf({ kind: 'workflow', workflowUrl, stepName: 'pay-9', status: 500, cause: 'http', message: 'no answer' });
  assert.equal(found[0]?.fingerprint, now.fingerprint);
});

test('moves entries of earlier rules to the groups that they would have now, with the location that the response names', async (t) => {
  const store = await openStore(t);
  const run = sampleRun(1);
  const stack = 'Error: no stock\n    at charge (/srv/app/charge.js:7:13)';
  const responseBody = Buffer.from(JSON.stringify({ error: { name: 'Error', message: 'no stock', stack } }));
  const attempt = {
    ...sampleAttempt(1),
    retryAt: null,
    name: 'pay-1',
    status: 500,
    cause: 'step',
    message: 'Error: no stock',
  } as const;
  const { workflowUrl } = run;
  const described: FailureDescription = {
    kind: 'workflow',
    workflowUrl,
    stepName: 'pay-1',
    status: 500,
    cause: 'step',
    message: attempt.message,
  };
  const old = { ...groupOf(described), fingerprint: '00000000000000ab', rules: 1 };
  await apply(store, [
    creation(run),
    { kind: 'record-attempt', runKey: run.key, attempt },
    ...failure(run, sampleDeadLetter(run, { failedBy: null, responseBody }), old),
  ]);
  await upkeepOf(store).work();
  const now = groupOf({ ...described, source: { file: 'src/charge.js', line: 99, function: 'charge' } });
  assert.deepEqual(
    (await groups(store)).map(({ fingerprint, entries }) => [fingerprint, entries]),
    [[now.fingerprint, 1]],
  );
});

test('continues unfinished work at the next start', async (t) => {
  const store = await openStore(t);
  await store.commit(Array.from({ length: 250 }, (_, n) => failed(n + 1, 'no stock')));
  let steps = 0;
  const { deadLetterGroups } = store;
  const interrupted = upkeepOf(store, {
    store: {
      deadLetterGroups: {
        ungrouped: (query) => deadLetterGroups.ungrouped(query),
        tidy: (query) => deadLetterGroups.tidy(query),
        recount: (query) => deadLetterGroups.recount(query),
        async group(query) {
          if (++steps === 2) throw new Error('the disk failed');
          await deadLetterGroups.group(query);
        },
      },
    },
  });
  await interrupted.work();
  assert.equal((await groups(store))[0]?.entries, 100);
  await upkeepOf(store).work();
  assert.equal((await groups(store))[0]?.entries, 250);
  assert.deepEqual(await deadLetterGroups.ungrouped({ limit: 1 }), []);
});

test('does nothing while another node is doing the work', async (t) => {
  const store = await openStore(t);
  await store.commit([failed(1, 'no stock')]);
  await upkeepOf(store, { tryExclusively: async () => false }).work();
  assert.deepEqual(await groups(store), []);
});

test('a stop waits for the step in progress', async (t) => {
  const store = await openStore(t);
  await store.commit(Array.from({ length: 250 }, (_, n) => failed(n + 1, 'no stock')));
  const upkeep = upkeepOf(store);
  upkeep.start();
  assert.equal(upkeep.isIdle, false);
  await upkeep.stop();
  assert.equal(upkeep.isIdle, true);
  const [group] = await groups(store);
  assert.ok((group?.entries ?? 0) < 250);
});

test('removes a group without entries a month after its last one, by the clock of the entries', async (t) => {
  const store = await openStore(t);
  const run = sampleRun(1);
  const group = groupOf({
    kind: 'workflow',
    workflowUrl: run.workflowUrl,
    stepName: null,
    status: 500,
    cause: 'http',
    message: 'no stock',
  });
  const entry = sampleDeadLetter(run, { createdAt: T0 });
  await apply(store, [creation(run), ...failure(run, entry, group)]);
  await apply(store, [{ kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: entry.dlqId, recoveredAs: null }]);
  let now = T0 + NEW_FOR_MS;
  const upkeep = upkeepOf(store, { now: () => now });
  await upkeep.work();
  assert.equal((await groups(store, now)).length, 1);
  now = T0 + EMPTY_GROUP_RETENTION_MS + 1;
  await upkeep.work();
  assert.equal((await groups(store, now)).length, 0);
});
