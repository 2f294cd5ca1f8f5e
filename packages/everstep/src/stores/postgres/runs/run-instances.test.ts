import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Session } from '../connection/connection.js';
import { POSTGRESQL } from '../sharding/engine.js';
import { RunInstances } from './run-instances.js';

/** A directory that counts the requested runs. */
function directory(rows: Readonly<Record<string, string>>) {
  const asked: string[][] = [];
  const session: Pick<Session, 'query' | 'engine'> = {
    engine: POSTGRESQL,
    async query(_statement, values = []) {
      const keys = values[0];
      assert.ok(Array.isArray(keys));
      const wanted = keys.map(String);
      asked.push(wanted);
      return wanted.flatMap((run_key) => (rows[run_key] === undefined ? [] : [{ run_key, instance_id: rows[run_key] }]));
    },
  };
  return { session, asked };
}

const entries = (found: ReadonlyMap<string, string>) => Object.fromEntries(found);

describe('instances of runs', () => {
  test('are read once, unknown ones together, and not at all for a run that this process created', async () => {
    const { session, asked } = directory({ a: 'one', b: 'two' });
    const instances = new RunInstances(session);
    instances.remember('made', 'three');
    assert.deepEqual(entries(await instances.instancesOf(['a', 'made'])), { a: 'one', made: 'three' });
    assert.deepEqual(entries(await instances.instancesOf(['a', 'b', 'made'])), { a: 'one', b: 'two', made: 'three' });
    assert.deepEqual(entries(await instances.instancesOf(['a', 'b'])), { a: 'one', b: 'two' });
    assert.deepEqual(asked, [['a'], ['b']]);
  });

  test('are read each time for a run that does not exist, because it may be created', async () => {
    const rows: Record<string, string> = {};
    const { session, asked } = directory(rows);
    const instances = new RunInstances(session);
    assert.deepEqual(entries(await instances.instancesOf(['late'])), {});
    rows.late = 'one';
    assert.deepEqual(entries(await instances.instancesOf(['late'])), { late: 'one' });
    assert.deepEqual(asked, [['late'], ['late']]);
  });

  test('are forgotten if they are not used while others are added, and used ones stay', async () => {
    const { session, asked } = directory({ a: 'one', b: 'two' });
    const instances = new RunInstances(session, 3);
    await instances.instancesOf(['a', 'b']);
    for (let n = 0; n < 8; n++) {
      instances.remember(`made ${n}`, 'three');
      await instances.instancesOf(['a']);
    }
    assert.deepEqual(asked, [['a', 'b']]);
    await instances.instancesOf(['a', 'b']);
    assert.deepEqual(asked, [['a', 'b'], ['b']]);
  });
});
