import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LOCK_CLASS } from '../connection/migrate.js';
import { IS_ON_CLUSTER } from '../testing/citus.js';
import { openTestSchemas } from '../testing/schemas.js';
import { createTables, DistributionError, distribute, withPrimaryConnection } from './administration.js';

const schemas = await openTestSchemas();
const skip = typeof schemas === 'string' && schemas;
const made = () => (typeof schemas === 'string' ? assert.fail(schemas) : schemas.make({ hasTables: false }));

describe('administration of a distributed store', { skip, timeout: 60_000 }, () => {
  test('commands accept a URL with several servers, and use the one that is the primary', async () => {
    const { url, name } = await made();
    const { host } = new URL(url);
    const urlOfTwo = url.replace(host, `127.0.0.1:1,${host}`);
    await createTables(urlOfTwo);
    const found = await withPrimaryConnection(
      urlOfTwo,
      async (client) => (await client.query('SELECT current_schema() AS name')).rows,
    );
    assert.deepEqual(found, [{ name }]);
  });

  test('tables are distributed while no process changes the schema, and nodes are counted after that', {
    skip: IS_ON_CLUSTER,
  }, async () => {
    const { url } = await made();
    await withPrimaryConnection(url, async (holder) => {
      await holder.query('SELECT pg_advisory_lock($1, hashtext(current_schema()))', [LOCK_CLASS]);
      const blocked = async () =>
        (await holder.query('SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))')).rows.length >
        0;
      // Without the extension, it rejects when it counts nodes, after it has the lock.
      const outcome = withPrimaryConnection(url, distribute).then(
        () => 'distributed',
        (error: unknown) => error,
      );
      let isBlocked = false;
      while (!isBlocked) isBlocked = await Promise.race([blocked(), outcome.then(() => assert.fail('it did not wait'))]);
      await holder.query('SELECT pg_advisory_unlock_all()');
      assert.ok((await outcome) instanceof DistributionError);
    });
  });
});
