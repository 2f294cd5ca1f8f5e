/** Long journals are copied in limited slices. They are not visible until complete, and are deleted after a crash. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AuditedRequest, addRequestEntry, runAudited } from '../../audit/audited-request.js';
import { LIMITS, PART_LIMITS } from '../../config/limits.js';
import { type ForkRequest, forkRun } from '../../engine/runs/fork.js';
import type { CommitUnit, StoreWrite } from '../../engine/writes.js';
import { NO_SLICES, type WorkSlices } from '../../fairness/work-slices.js';
import type { Store } from '../../ports/stores/store.js';
import {
  advanceTask,
  apply,
  creation,
  failure,
  INSTANCE,
  PAYLOAD,
  putTasks,
  sampleRun,
  sampleStep,
  T0,
} from '../../stores/conformance/samples.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { random } from '../runtime.fixture.js';
import { commitInSlices } from './staging.js';

const STEPS = 40;
/** About twelve slices. */
const OUT = JSON.stringify('x'.repeat(300 * 1024));
const original = sampleRun(1, {});
const journal = Array.from({ length: STEPS }, (_, index) => sampleStep(index, { out: OUT }));
const withJournal = { ...original, journalLength: STEPS, journalBytes: STEPS * OUT.length };
const PAGE = { instanceId: INSTANCE, filter: {}, order: 'oldest-first', after: null, horizon: null, limit: 10 } as const;
const FORK: ForkRequest = {
  fromStep: STEPS,
  input: null,
  results: [{ stepId: 3, out: '"edited"' }],
  workflowRunId: null,
  note: null,
};

async function open(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-staging-'));
  const file = join(directory, 'everstep.db');
  let store = await openSqliteStore({ file });
  t.after(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });
  const keys = { region: 'local', name: 'one', createdAt: T0, currentSigningKey: 'a', nextSigningKey: 'b' };
  const user = { userId: 'usr_1', email: 'a@b.test', createdAt: T0 };
  await store.accounts.createUser({
    user,
    apiKey: { apiKeyId: 'key_1', userId: 'usr_1', name: 'first', keyHash: 'hash', createdAt: T0 },
  });
  await store.accounts.createInstance({ instanceId: INSTANCE, accountId: 'usr_1', ...keys });
  await apply(store, [creation(original), ...putTasks(original.key, [advanceTask(T0)])]);
  for (const step of journal) await apply(store, [{ kind: 'record-step', runKey: original.key, step }]);
  return {
    get store() {
      return store;
    },
    async reopen() {
      await store.close();
      store = await openSqliteStore({ file });
    },
  };
}

const stored = async (store: Store) => (await store.accounts.totalsOf({ accountId: 'usr_1' }))[0]?.bytes;
const runKeys = async (store: Store) => (await store.listRuns(PAGE)).items.map(({ key }) => key);

function fork() {
  const forked = forkRun(withJournal, journal, PAYLOAD, FORK, { now: T0 + 1, random, publicUrl: 'http://everstep' });
  assert.ok(forked.kind === 'forked');
  return forked;
}

/** Commits to the store and records the units. Fails before the unit for which `fail` returns true. */
function watched(store: Store, fail: (unit: CommitUnit, count: number) => boolean = () => false) {
  const units: CommitUnit[] = [];
  const commit = async (unit: CommitUnit) => {
    units.push(unit);
    if (fail(unit, units.length)) throw new Error('killed');
    const [result] = await store.commit([unit]);
    assert.ok(result);
    return result;
  };
  return { units, commit };
}

const slicesOf = (units: readonly CommitUnit[]) =>
  units.flatMap(({ writes }) => writes.filter((write) => write.kind === 'stage-journal'));

test('forks a long journal in slices of limited size, and the fork is visible when it is complete', async (t) => {
  const { store } = await open(t);
  const { run, unit } = fork();
  const seen: (readonly string[])[] = [];
  const { units, commit } = watched(store);
  const result = await commitInSlices(
    {
      store,
      slices: NO_SLICES,
      async commit(unit) {
        seen.push(await runKeys(store));
        return commit(unit);
      },
    },
    unit,
  );
  assert.equal(result.kind, 'applied');
  const slices = slicesOf(units);
  assert.ok(slices.length >= 10, `${slices.length} slices`);
  for (const { from, below } of slices) {
    const bytes = journal.slice(from, below).reduce((sum, { out }) => sum + (out?.length ?? 0), 0);
    assert.ok(
      bytes < PART_LIMITS.maxBytes + LIMITS.maxStepResultBytes && bytes - OUT.length < PART_LIMITS.maxBytes,
      `${bytes} bytes`,
    );
  }
  assert.ok(seen.every((keys) => keys.length === 1));
  assert.deepEqual(await runKeys(store), [original.key, run.key]);
  const copied = await store.loadJournal({ runKey: run.key, from: 0 });
  assert.deepEqual(
    copied.map(({ index, out }) => [index, out === OUT]),
    journal.slice(0, STEPS - 1).map(({ index, stepId }) => [index, stepId !== 3]),
  );
  assert.equal((await store.loadRun({ runKey: run.key }))?.journalBytes, run.journalBytes);
});

test('a process that is killed in between leaves no fork, and no bytes once its steps are deleted', async (t) => {
  const harness = await open(t);
  const before = await stored(harness.store);
  const { unit } = fork();
  const { commit } = watched(harness.store, (_, count) => count === 5);
  // A killed process does not clean up either.
  const gone = { ...harness.store, commit, removeStagedSteps: async () => false };
  await assert.rejects(
    commitInSlices({ store: gone, slices: NO_SLICES, commit: watched(harness.store, (_, count) => count >= 5).commit }, unit),
  );
  await harness.reopen();
  const { store } = harness;
  assert.ok(((await stored(store)) ?? 0) > (before ?? 0));
  assert.deepEqual(await runKeys(store), [original.key]);
  while (await store.removeStagedSteps());
  assert.equal(await stored(store), before);
});

test('a fork that is rejected at the end deletes the copied steps', async (t) => {
  const { store } = await open(t);
  const { unit } = fork();
  const before = await stored(store);
  await apply(store, [creation(sampleRun(2, { workflowRunId: 'taken' }))]);
  const between = await stored(store);
  const taken = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: 'taken' } as const;
  const { commit } = watched(store);
  const result = await commitInSlices({ store, slices: NO_SLICES, commit }, { ...unit, guards: [...unit.guards, taken] });
  assert.equal(result.kind, 'run-id-taken');
  while ((await stored(store)) !== between) await new Promise((resolve) => setImmediate(resolve));
  assert.notEqual(before, between);
});

const dlqId = `dlq_${original.key}`;
const ORIGIN = { kind: 'resume', runKey: original.key, workflowRunId: 'x', workflowCreatedAt: T0, dlqId } as const;

/** Returns the unit that resumes the original. */
function resumption(): CommitUnit {
  const run = { ...sampleRun(2, { origin: ORIGIN }), journalLength: STEPS, journalBytes: withJournal.journalBytes };
  return {
    guards: [{ kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds: [dlqId] }],
    writes: [
      creation(run, { copyOf: original.key }),
      { kind: 'copy-journal', fromRunKey: original.key, toRunKey: run.key },
      { kind: 'take-dead-letter', instanceId: INSTANCE, dlqId, recoveredAs: { kind: 'resume', runKey: run.key, at: T0 } },
    ],
  };
}

test('a run that resumes one with a long journal also receives it in slices', async (t) => {
  const { store } = await open(t);
  await apply(store, failure(original));
  const { units, commit } = watched(store);
  assert.deepEqual(await commitInSlices({ store, slices: NO_SLICES, commit }, resumption()), { kind: 'applied' });
  assert.ok(slicesOf(units).length >= 10);
  assert.equal((await store.loadJournal({ runKey: sampleRun(2).key, from: 0 })).length, STEPS);
});

test('a copy ends at the next slice when its dead letter is taken, or when retention removes the run', async (t) => {
  const removals: readonly ((store: Store) => Promise<unknown>)[] = [
    (store) => apply(store, [{ kind: 'take-dead-letter', instanceId: INSTANCE, dlqId, recoveredAs: null }]),
    (store) =>
      store.removeEndedRuns({
        ...{ instanceId: INSTANCE, state: 'deadLetter', endedBefore: T0 + 1_000_000, keepNewest: null, limit: 10 },
      }),
  ];
  for (const remove of removals) {
    const { store } = await open(t);
    await apply(store, failure(original));
    const { units, commit } = watched(store);
    const slices: Pick<WorkSlices, 'run'> = {
      async run(_instanceId, work) {
        if (slicesOf(units).length === 2) await remove(store);
        return work();
      },
    };
    const result = await commitInSlices({ store, slices, commit }, resumption());
    assert.deepEqual(result, { kind: 'dead-letters-missing', dlqIds: [dlqId] });
    assert.equal(slicesOf(units).length, 3);
  }
});

test('several short journals in one unit are staged if they are too long together', async (t) => {
  const { store } = await open(t);
  const lengths = [2, 2, 0, 1];
  const copies: StoreWrite[] = [];
  for (const [index, journalLength] of lengths.entries()) {
    const run = { ...sampleRun(10 + index, { origin: ORIGIN }), journalLength, journalBytes: journalLength * OUT.length };
    copies.push(creation(run), { kind: 'copy-journal', fromRunKey: original.key, toRunKey: run.key, length: journalLength });
  }
  const { units, commit } = watched(store);
  assert.deepEqual(await commitInSlices({ store, slices: NO_SLICES, commit }, { guards: [], writes: copies }), {
    kind: 'applied',
  });
  const [staged, complete] = units;
  assert.deepEqual(
    staged?.writes.map(({ kind }) => kind),
    ['stage-journal'],
  );
  assert.deepEqual(
    complete?.writes.flatMap(({ kind }) => (kind === 'create-run' ? [] : [kind])),
    ['copy-journal', 'adopt-journal', 'copy-journal', 'copy-journal'],
  );
  for (const [index, length] of lengths.entries())
    assert.equal((await store.loadJournal({ runKey: sampleRun(10 + index).key, from: 0 })).length, length);
});

test('the audit entry of a request is written with the new run, and not with its slices', async (t) => {
  const { store } = await open(t);
  await apply(store, failure(original));
  const entry = { auditId: 'aud_1', at: T0, actor: 'a', address: '', action: 'dead-letter.resume', subject: 'dlq', details: {} };
  const request = {
    operation: 'resumeDeadLetter',
    credential: '',
    userAgent: '',
    instanceId: INSTANCE,
    outcome: 'done',
  } as const;
  const audited = new AuditedRequest({ entry: { ...entry, accountIds: [] }, request, isWrittenWithChange: true });
  const { units, commit } = watched(store);
  const commitAudited = async (submittedUnit: CommitUnit) => {
    const { unit, settle } = addRequestEntry(submittedUnit);
    const result = await commit(unit);
    settle(result.kind === 'applied');
    return result;
  };
  const audits = () =>
    units.flatMap(({ writes }) => (writes.some(({ kind }) => kind === 'add-audit') ? [writes.map(({ kind }) => kind)] : []));
  const options = { store, slices: NO_SLICES, commit: commitAudited };
  const taken = { kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds: ['dlq_none'] } as const;
  const { guards, writes } = resumption();
  await runAudited(audited, () => commitInSlices(options, { guards: [...guards, taken], writes }));
  while (!units.some((unit) => unit.writes.some(({ kind }) => kind === 'abandon-journal')))
    await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(audits(), []);
  assert.ok(slicesOf(units).length > 0);
  const result = await runAudited(audited, () => commitInSlices(options, { guards, writes }));
  assert.equal(result.kind, 'applied');
  assert.deepEqual(audits(), [['create-run', 'adopt-journal', 'take-dead-letter', 'add-audit']]);
});
