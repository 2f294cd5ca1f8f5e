import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { migrate } from '../connection/connection.js';
import { MIGRATIONS } from '../migrations/index.js';

const STATEMENTS = {
  run_of_queue: `SELECT count(*) AS messages FROM run WHERE tenant = ? AND queue = ? AND status = 'active'`,
  task_retried_in_queue: `SELECT r.key FROM task t JOIN run r ON r.seq = t.run_seq
    WHERE t.queue = ? AND t.retried > 0 AND t.due_at IS NOT NULL AND r.tenant = ? AND r.status = 'active' ORDER BY t.run_seq`,
};

test('reads of the messages of a queue use an index of their own', () => {
  const database = new DatabaseSync(':memory:');
  migrate(database, ':memory:', MIGRATIONS);
  for (const [index, statement] of Object.entries(STATEMENTS)) {
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${statement}`).all('a', 'b');
    const details = plan.map(({ detail }) => String(detail));
    assert.ok(
      details.some((detail) => detail.includes(`INDEX ${index}`)),
      details.join('; '),
    );
    assert.ok(!details.some((detail) => detail.startsWith('SCAN') || detail.includes('TEMP B-TREE')), details.join('; '));
  }
  database.close();
});
