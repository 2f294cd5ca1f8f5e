import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { unroutedTables } from './statement-rules.js';

describe('a statement on distributed tables', () => {
  test('names its instance by a condition, a row set or a value', () => {
    for (const text of [
      'SELECT * FROM task t JOIN run r ON r.instance_id = t.instance_id WHERE t.instance_id = $1',
      'UPDATE task t SET slot = 1 FROM unnest($1::text[], $2::text[]) AS u(instance_id, run_key) WHERE t.instance_id = u.instance_id',
      'INSERT INTO instance_clock (instance_id, shard, latest_time) VALUES ($1, $2, $3)',
      'SELECT * FROM node WHERE node_id = $1',
    ])
      assert.deepEqual(unroutedTables(text), [], text);
  });

  test('is reported if it names no instance', () => {
    assert.deepEqual(unroutedTables('SELECT * FROM task t JOIN run r ON r.instance_id = t.instance_id WHERE t.due_at <= $1'), [
      'run',
      'task',
    ]);
    assert.deepEqual(unroutedTables('DELETE FROM day_count WHERE day < $1'), ['day_count']);
  });
});
