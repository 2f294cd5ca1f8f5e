import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  apply,
  creation,
  failure,
  fullHistory,
  INSTANCE,
  sampleAttempt,
  sampleDeadLetter,
  sampleRun,
  unit,
} from '../../conformance/samples.js';
import { openPostgresStore } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';

const schemas = await openTestSchemas();

test('a text with the one character that PostgreSQL does not accept blocks neither its run nor others', {
  skip: typeof schemas === 'string' ? schemas : false,
}, async () => {
  if (typeof schemas === 'string') return;
  const { url } = await schemas.make();
  const store = await openPostgresStore({ url, log: { debug() {}, info() {}, warn() {}, error() {} } });
  try {
    const [first, second] = [sampleRun(1), sampleRun(2)];
    await apply(store, [creation(first)]);
    await apply(store, [creation(second)]);
    const attempt = { ...sampleAttempt(0), message: 'no \0 "stock" \\' };
    const error = 'no \0 stock';
    const results = await store.commit([
      unit([{ kind: 'record-attempt', runKey: first.key, attempt }]),
      unit(failure(second, sampleDeadLetter(second, { error }))),
    ]);
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ['applied', 'applied'],
    );
    assert.equal((await fullHistory(store, { runKey: first.key }))?.attempts[0]?.message, 'no \uFFFD "stock" \\');
    assert.equal((await store.findRun({ runKey: second.key }))?.error, 'no \uFFFD stock');
    assert.equal(await store.findRun({ instanceId: INSTANCE, workflowRunId: 'no \0 run' }), null);
  } finally {
    await store.close();
  }
});
