import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import pg from 'pg';
import { advanceTask, apply, creation, putTasks, sampleRun, sampleStep, T0 } from '../../conformance/samples.js';
import { openPostgresStore } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

describe('reads of runs', { skip: typeof schemas === 'string' && schemas }, () => {
  if (typeof schemas === 'string') return;

  test('a fork with a free position in its journal is read in one snapshot, without a statement after it', async (t) => {
    const { url } = await schemas.make();
    const store = await openPostgresStore({ url, log });
    t.after(() => store.close());
    const fork = sampleRun(1);
    const steps = [1, 2, 5].map((stepId, index) => sampleStep(index, { stepId }));
    await apply(store, [
      creation(fork),
      ...steps.map((step) => ({ kind: 'record-step', runKey: fork.key, step }) as const),
      ...putTasks(fork.key, [advanceTask(T0)]),
    ]);
    const sent: { readonly client: pg.Client; readonly text: string }[] = [];
    const { query } = pg.Client.prototype;
    t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
      const [statement] = args;
      const text = typeof statement === 'string' ? statement : String((statement as { readonly text?: unknown }).text);
      sent.push({ client: this, text });
      return Reflect.apply(query, this, args);
    });
    const loaded = await store.loadRun({ runKey: fork.key });
    assert.deepEqual([loaded?.nextStepId, loaded?.ahead], [3, [5]]);
    const isRead = (text: string) => text.includes('FROM step s');
    assert.equal(sent.filter(({ text }) => isRead(text)).length, 3, 'its size twice, and its positions once');
    // Other connections can have other work, for example to watch servers.
    for (const reader of new Set(sent.filter(({ text }) => isRead(text)).map(({ client }) => client))) {
      const texts = sent.filter(({ client }) => client === reader).map(({ text }) => text);
      assert.match(String(texts.at(0)), /^BEGIN/);
      assert.equal(texts.at(-1), 'COMMIT');
    }
  });
});
