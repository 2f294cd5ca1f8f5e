import assert from 'node:assert/strict';
import { test } from 'node:test';
import { T0 } from '../../conformance/samples.js';
import { openConnection } from '../connection/connection.js';
import { createStoreParts } from '../connection/store-parts.js';
import { TriggerRecords } from './trigger-records.js';

test('a few expired deduplication ids are removed with each new one', () => {
  const connection = openConnection(':memory:');
  const records = new TriggerRecords(createStoreParts(connection));
  const rows = connection.prepare('SELECT count(*) AS rows FROM deduplication');
  const remember = (n: number, now: number) => {
    records.findDuplicate('qi_one', `id ${n}`, now);
    records.apply({
      kind: 'remember-deduplication',
      ...{ instanceId: 'qi_one', deduplicationId: `id ${n}`, runKey: 'some run', expiresAt: now + 1000 },
    });
    return rows.get()?.rows;
  };
  for (let n = 1; n <= 20; n++) assert.equal(remember(n, T0), n);
  assert.equal(remember(21, T0 + 999), 21);
  assert.deepEqual(
    [22, 23, 24, 25, 26, 27].map((n) => remember(n, T0 + 1000)),
    [18, 15, 12, 9, 6, 7],
  );
  connection.close();
});
