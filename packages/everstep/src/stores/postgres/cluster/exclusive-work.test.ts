import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Database } from '../connection/connection.js';
import { openTestSchemas } from '../testing/schemas.js';
import { ExclusiveWork } from './exclusive-work.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

if (typeof schemas === 'string') {
  describe('exclusive work on PostgreSQL', { skip: schemas }, () => {});
} else {
  const [schema, other] = [await schemas.make(), await schemas.make()];
  // As few connections as possible: waiting processes must not take them from working ones.
  const open = (url: string) => new Database({ url, log, maxConnections: 5 });
  const databases = [open(schema.url), open(schema.url), open(other.url)];
  const [one, two, elsewhere] = databases.map((database) => new ExclusiveWork(database, 4));
  assert.ok(one && two && elsewhere);
  after(async () => {
    for (const database of databases) await database.close();
  });
  const [database] = databases;

  describe('exclusive work on PostgreSQL', { timeout: 60_000 }, () => {
    test('processes on the same schema do the work one at a time, and each of them does it', async () => {
      let [working, max, done] = [0, 0, 0];
      const work = async () => {
        working++;
        max = Math.max(max, working);
        // The work uses the database itself.
        await database?.query({ name: '', text: 'SELECT 1' });
        await nextTurn();
        working--;
        done++;
      };
      await Promise.all(Array.from({ length: 30 }, (_, n) => (n % 2 ? one : two).run('start', work)));
      assert.deepEqual([max, done], [1, 30]);
    });

    test('other work, and work on another schema, does not wait for it', async () => {
      const result = await one.run('start', () => two.run('accounts', () => elsewhere.run('start', async () => 'done')));
      assert.equal(result, 'done');
    });

    test('optional work is done by one process, and by the next one when that has ended', async () => {
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      let reportStart = (): void => {};
      const started = new Promise<void>((resolve) => {
        reportStart = resolve;
      });
      const first = one.tryExclusively('retention', () => {
        reportStart();
        return held;
      });
      await started;
      const never = () => Promise.reject(new Error('must not run: other work is in progress'));
      assert.equal(await two.tryExclusively('retention', never), false);
      assert.equal(await one.tryExclusively('retention', never), false);
      assert.equal(await two.tryExclusively('other work', async () => {}), true);
      assert.equal(await elsewhere.tryExclusively('retention', async () => {}), true);
      release();
      assert.equal(await first, true);
      assert.equal(await two.tryExclusively('retention', async () => {}), true);
    });

    test('each kind of background work of a process starts while the others are in progress', async () => {
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const works = ['retention', 'removal', 'groups'].map((name) => one.tryExclusively(name, () => held));
      assert.equal(await one.tryExclusively('alerts', async () => {}), true);
      release();
      assert.deepEqual(await Promise.all(works), [true, true, true]);
    });

    test('the next work starts after work that fails', async () => {
      const failing = one.run('start', () => Promise.reject(new Error('no')));
      const next = two.run('start', async () => 'done');
      await assert.rejects(failing, /no/);
      assert.equal(await next, 'done');
    });
  });
}
