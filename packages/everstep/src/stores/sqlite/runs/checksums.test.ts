/** A value that the disk has changed is not handed to the code of a run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply, creation, sampleRun, sampleStep } from '../../conformance/samples.js';
import { openConnection } from '../connection/connection.js';
import { createSqliteStore } from '../index.js';

const run = sampleRun(1);
const { key: runKey } = run;

async function withStore(work: (bench: Awaited<ReturnType<typeof filled>>) => Promise<void>): Promise<void> {
  const bench = await filled();
  try {
    await work(bench);
  } finally {
    await bench.store.close();
  }
}

async function filled() {
  const connection = openConnection(':memory:');
  const store = createSqliteStore(connection);
  await apply(store, [creation(run)]);
  for (const [index, out] of ['"grüße ☃ \ud800"', null, '{"a":1}'].entries())
    await apply(store, [{ kind: 'record-step', runKey, step: sampleStep(index, { out }) }]);
  return { connection, store };
}

test('values that were not changed are read, with and without a checksum', () =>
  withStore(async ({ connection, store }) => {
    const before = await store.loadJournal({ runKey, from: 0 });
    assert.equal(before.length, 3);
    const payload = await store.loadPayload({ runKey });
    // Earlier versions wrote no checksums.
    connection.exec('UPDATE step SET out_crc = NULL; UPDATE payload SET body_crc = NULL');
    assert.deepEqual(await store.loadJournal({ runKey, from: 0 }), before);
    assert.deepEqual(await store.loadPayload({ runKey }), payload);
    assert.deepEqual(store.checkConsistency().find(({ id }) => id === 'values-unchanged')?.violations, 0);
  }));

test('a changed result of a step is an error, unless its entry is not read', () =>
  withStore(async ({ connection, store }) => {
    connection.exec(`UPDATE step SET out = replace(out, 'ü', 'v') WHERE idx = 0`);
    const damaged = { name: 'DamagedValueError', message: new RegExp(`^step 1 of run ${runKey} is damaged`) };
    await assert.rejects(store.loadJournal({ runKey, from: 0 }), damaged);
    assert.equal((await store.loadJournal({ runKey, from: 1 })).length, 2);
    const check = store.checkConsistency().find(({ id }) => id === 'values-unchanged');
    assert.deepEqual(check?.examples, [`${runKey}, step 1`]);
  }));

test('a changed body is an error, in a copy of it too', () =>
  withStore(async ({ connection, store }) => {
    const copy = sampleRun(2);
    await apply(store, [creation(copy, { copyOf: runKey })]);
    assert.deepEqual(await store.loadPayload({ runKey: copy.key }), await store.loadPayload({ runKey }));
    connection.exec(`UPDATE payload SET body = CAST('other' AS BLOB)`);
    for (const each of [run, copy])
      await assert.rejects(store.loadPayload({ runKey: each.key }), /^DamagedValueError: the payload/);
  }));
