import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgresStore, StoreOpenError } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';
import { beginFirstLoad } from './first-load.js';

const schemas = await openTestSchemas();
const skip = typeof schemas === 'string' ? schemas : false;
const log = { debug() {}, info() {}, warn() {}, error() {} };
const made = () => (typeof schemas === 'string' ? assert.fail(schemas) : schemas.make());

test('a server that is started while a schema is filled waits, and finds all of it', { skip }, async () => {
  const { url } = await made();
  const load = await beginFirstLoad(url);
  await load.insert('secret', { name: 'text', value: 'text' }, [{ name: 'cursors', value: 'abc' }]);
  let opened = false;
  const opening = openPostgresStore({ url, log }).then((store) => {
    opened = true;
    return store;
  });
  await assert.rejects(
    beginFirstLoad(url),
    (error) => error instanceof StoreOpenError && /being set up by another process/.test(error.message),
  );
  assert.ok(!opened, 'an incomplete load is not used');
  await load.commit();
  await load.close();
  const store = await opening;
  assert.equal(await store.accounts.findSecret({ name: 'cursors' }), 'abc');
  await store.close();
});

test('an uncommitted load leaves the schema empty, and it can be filled again', { skip }, async () => {
  const { url } = await made();
  const load = await beginFirstLoad(url);
  await load.insert('secret', { name: 'text', value: 'text' }, [{ name: 'cursors', value: 'abc' }]);
  await load.close();
  const again = await beginFirstLoad(url);
  await again.commit();
  await again.close();
  await assert.rejects(beginFirstLoad(url), /is not empty/);
});

test('a rejection by the database is reported, and nothing is committed after it', { skip }, async () => {
  const { url } = await made();
  const load = await beginFirstLoad(url);
  const columns = { name: 'text', value: 'text' } as const;
  await load.insert('secret', columns, [{ name: 'twice', value: 'a' }]);
  await assert.rejects(load.insert('secret', columns, [{ name: 'twice', value: 'b' }]), /duplicate key/);
  await assert.rejects(load.commit(), /current transaction is aborted|ROLLBACK/);
  await load.close();
  await (await beginFirstLoad(url)).close();
});

test('a URL that cannot be reached is reported without the password', { skip }, async () => {
  const { url } = await made();
  for (const [change, words] of [
    [(it: URL) => Object.assign(it, { port: '1' }), /cannot be reached/],
    [(it: URL) => Object.assign(it, { pathname: '/no-such-database' }), /rejected/],
    [(it: URL) => it.searchParams.set('options', '-c search_path=no_such_schema'), /has none of the schemas/],
  ] as const) {
    const wrong = new URL(url);
    change(wrong);
    await assert.rejects(beginFirstLoad(wrong.href), (error) => {
      assert.ok(error instanceof StoreOpenError);
      assert.match(error.message, words);
      assert.ok(!error.message.includes(wrong.password));
      return true;
    });
  }
});
