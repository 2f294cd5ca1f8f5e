import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { apply, creation, INSTANCE, sampleRun } from '../../conformance/samples.js';
import { Database } from '../connection/connection.js';
import { openPostgresStore } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';
import { Retention } from './retention.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

describe('retention by number', { skip: typeof schemas === 'string' && schemas }, () => {
  if (typeof schemas === 'string') return;

  test('counts the runs that it keeps once at the start of a removal and once at its end, not for each batch', async (t) => {
    const { url } = await schemas.make();
    const store = await openPostgresStore({ url, log });
    t.after(() => store.close());
    for (let n = 0; n < 20; n++) {
      const run = sampleRun(n);
      const outcome = { status: 'succeeded', result: null } as const;
      await apply(store, [creation(run), { kind: 'end-run', runKey: run.key, outcome, completedAt: run.createdAt }]);
    }
    const database = new Database({ url, log });
    t.after(() => database.close());
    const texts: string[] = [];
    const { query } = database;
    database.query = (statement, values) => {
      texts.push(statement.text);
      return query.call(database, statement, values);
    };
    const retention = new Retention(database);
    const removal = { instanceId: INSTANCE, state: 'succeeded', endedBefore: null, keepNewest: 4, limit: 2 } as const;
    let batches = 0;
    while ((await retention.remove(removal)) > 0) batches++;
    assert.equal(batches, 8);
    assert.equal(texts.filter((text) => text.includes('OFFSET')).length, 2);
  });
});
