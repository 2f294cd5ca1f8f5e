/** Connections: what happens when they break, and which errors are reported. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import type { Log } from '../../../ports/log.js';
import { StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { apply, creation, INSTANCE, sampleRun, sampleStep, unit } from '../../conformance/samples.js';
import { openPostgresStore } from '../index.js';
import { MIGRATIONS } from '../migrations/index.js';
import { fakeProbe } from '../testing/fake-probe.js';
import { openTestSchemas } from '../testing/schemas.js';
import { Database, statement, unpreparedStatement } from './connection.js';
import { StoreOpenError } from './errors.js';
import { LOCK_CLASS, migrate } from './migrate.js';
import { Primary } from './primary.js';
import type { ServerState } from './server-probe.js';

const schemas = await openTestSchemas();
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

if (typeof schemas === 'string') {
  describe('connections to PostgreSQL', { skip: schemas }, () => {});
} else {
  const { url } = await schemas.make({ hasTables: false });
  const store = await openPostgresStore({ url, log: silent });
  const database = new Database({ url, log: silent, maxConnections: 2 });
  after(async () => {
    await store.close();
    await database.close();
  });

  describe('connections to PostgreSQL', () => {
    test('every call to an unavailable database reports that, and a call that is rejected for another reason does not', async () => {
      const away = new Database({ url: 'postgres://nobody@127.0.0.1:1/none', log: silent });
      const calls = [
        away.query(statement('SELECT 1')),
        away.execute(statement('SELECT 1')),
        away.transaction(async (session) => session.query(statement('SELECT 1'))),
        away.snapshot(async (session) => session.query(statement('SELECT 1'))),
        away.withConnection(async () => {}),
      ];
      for (const call of calls) await assert.rejects(call, StoreUnavailableError);
      await away.close();
      await assert.rejects(
        database.query(unpreparedStatement('SELECT 1 / 0')),
        (error) => !(error instanceof StoreUnavailableError),
      );
      // Ended by the server, as when it stops.
      const ended = database.transaction(async (session) => {
        await session.query(unpreparedStatement('SELECT pg_terminate_backend(pg_backend_pid())'));
      });
      await assert.rejects(ended, StoreUnavailableError);
      assert.equal((await database.query(unpreparedStatement('SELECT 1 AS one')))[0]?.one, 1);
    });

    test('timeouts are set by statements, because PgBouncer rejects or ignores them as startup parameters', async () => {
      const names = `('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')`;
      const rows = await database.query(
        unpreparedStatement(`SELECT name, setting, source FROM pg_settings WHERE name IN ${names} ORDER BY name`),
      );
      assert.deepEqual(rows, [
        { name: 'idle_in_transaction_session_timeout', setting: '60000', source: 'session' },
        { name: 'lock_timeout', setting: '15000', source: 'session' },
        { name: 'statement_timeout', setting: '30000', source: 'session' },
      ]);
    });

    test('a statement that may take hours ends when its client is gone', async () => {
      const reader = new Database({ url, log: silent, maxConnections: 1, readsWholeTables: true });
      const [row] = await reader.query(
        unpreparedStatement(
          `SELECT current_setting('statement_timeout') AS timeout, current_setting('client_connection_check_interval') AS check`,
        ),
      );
      await reader.close();
      assert.deepEqual(row, { timeout: '0', check: '10s' });
    });

    test('the round trip of each successful commit is reported', async () => {
      const committedMs: number[] = [];
      const observed = new Database({ url, log: silent, onCommit: (durationMs) => committedMs.push(durationMs) });
      await observed.transaction((session) => session.query(unpreparedStatement('SELECT 1')));
      assert.equal(committedMs.length, 1);
      assert.ok(Number(committedMs[0]) >= 0);
      const fault = unpreparedStatement('SELECT 1 / 0');
      await assert.rejects(observed.transaction((session) => session.query(fault)));
      assert.equal(committedMs.length, 1);
      await observed.close();
    });

    test('a call to a server that is no longer the primary is aborted, and the next call goes to the new primary', async () => {
      // Two names of one server.
      const { host, port } = new URL(url);
      let promoted = false;
      const primary = new Primary({
        url: url.replace(host, `${host},localhost:${port}`),
        log: silent,
        probe: (asked) => fakeProbe(() => (asked.includes('localhost') ? (promoted ? 2 : 'standby') : 1)),
        probeIntervalMs: 3_600_000,
      });
      const moving = new Database({ url, log: silent, primary });
      const backend = async () => (await moving.query(unpreparedStatement('SELECT pg_backend_pid() AS pid')))[0]?.pid;
      const stuck = moving.query(unpreparedStatement('SELECT pg_sleep(600)'));
      const idle = await backend();
      assert.equal(await backend(), idle);
      promoted = true;
      await Promise.all([primary.find(), assert.rejects(stuck, StoreUnavailableError)]);
      assert.notEqual(await backend(), idle);
      await moving.close();
    });

    test('a response is discarded when its server was replaced or cannot be confirmed as the primary', async () => {
      // Two names of one server.
      const { host, port } = new URL(url);
      let other: ServerState = 'standby';
      let commits = async () => true;
      const primary = new Primary({
        url: url.replace(host, `${host},localhost:${port}`),
        log: silent,
        probe: (asked) =>
          fakeProbe(
            () => (asked.includes('localhost') ? other : 1),
            () => commits(),
          ),
        probeIntervalMs: 3_600_000,
        confirmWithinMs: 20,
      });
      const reading = new Database({ url, log: silent, primary });
      const lease = new Database({ url, log: silent, primary, skipsConfirmation: true });
      const one = unpreparedStatement('SELECT 1 AS one');
      const reads = [
        () => reading.query(one),
        () => reading.execute(one),
        () => reading.snapshot((session) => session.query(one)),
        () => reading.transaction((session) => session.query(one)),
      ];
      for (const read of reads) await read();
      // The other server does not respond, but the primary commits.
      other = 'unknown';
      for (const read of reads) await read();
      commits = () => new Promise(() => {});
      for (const read of reads) await assert.rejects(read, StoreUnavailableError);
      await lease.query(one);
      // The other server has not been probed since it was promoted.
      other = 2;
      await assert.rejects(reading.query(one), StoreUnavailableError);
      for (const read of reads) await read();
      assert.match(primary.url, /localhost/);
      await lease.close();
      await reading.close();
    });

    test('a commit fails if its connection breaks, and the next commit gets another connection', async () => {
      const [held, other] = [sampleRun(1), sampleRun(2)];
      await apply(store, [creation(held)]);
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM active_run FOR UPDATE');
      const lost = store.commit([
        unit(
          [creation(other), { kind: 'record-step', runKey: held.key, step: sampleStep(0) }],
          [{ kind: 'run-active', runKey: held.key }],
        ),
      ]);
      // The commit waits for the locked row; then its connection is ended.
      // Only this connection is ended, because other tests also wait for locks on this server.
      const waiting = 'SELECT pid FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))';
      const ended = (async () => {
        for (;;) {
          const { rows } = await client.query<{ ended: boolean }>(
            `SELECT pg_terminate_backend(pid) AS ended FROM (${waiting}) w`,
          );
          if (rows[0]?.ended) return;
        }
      })();
      await assert.rejects(lost, StoreUnavailableError);
      await ended;
      await client.query('ROLLBACK');
      await client.end();
      assert.equal(await store.loadRun({ runKey: other.key }), null);
      assert.deepEqual(await store.loadJournal({ runKey: held.key, from: 0 }), []);
      await apply(store, [{ kind: 'record-step', runKey: held.key, step: sampleStep(0) }]);
      assert.equal((await store.loadRun({ runKey: held.key }))?.journalLength, 1);
    });

    test('a transaction that threw or was rejected by the server is rolled back, and the first error is reported', async () => {
      const insert = statement(`INSERT INTO run_directory VALUES ($1, '${INSTANCE}')`);
      const broken = unpreparedStatement('SELECT 1 / (SELECT 0)');
      const rows = () => database.query(unpreparedStatement(`SELECT 1 FROM run_directory WHERE run_key = 'K'`));
      const thrown = database.transaction(async (session) => {
        session.send(insert, ['K']);
        throw new Error('on purpose');
      });
      await assert.rejects(thrown, /on purpose/);
      const refused = database.transaction(async (session) => {
        session.send(insert, ['K']);
        session.send(broken);
        session.send(insert, ['L']);
      });
      await assert.rejects(refused, /division by zero/);
      assert.deepEqual(await rows(), []);
      await database.transaction(async (session) => session.send(insert, ['K']));
      assert.equal((await rows()).length, 1);
    });

    test('an idle transaction is rolled back, so nothing waits for it any longer', async () => {
      const run = sampleRun(7);
      await apply(store, [creation(run)]);
      const frozen = new Database({ url, log: silent, idleTransactionMs: 200 });
      const lock = unpreparedStatement(`SELECT 1 FROM active_run WHERE run_key = '${run.key}' FOR UPDATE`);
      let thaw = (): void => {};
      let lost = Promise.resolve();
      await new Promise<void>((held) => {
        const first = frozen.transaction(async (session) => {
          await session.query(lock);
          held();
          await new Promise<void>((resolve) => {
            thaw = resolve;
          });
          session.send(unpreparedStatement(`DELETE FROM active_run WHERE run_key = '${run.key}'`));
        });
        lost = assert.rejects(first, StoreUnavailableError);
      });
      // Waits for the lock until the other is rolled back. Otherwise the lock timeout would end this.
      await database.transaction(async (session) => session.query(lock));
      thaw();
      await lost;
      assert.equal((await store.loadRun({ runKey: run.key }))?.status, 'active');
      await frozen.close();
    });

    test("every connection waits for the disk at a commit, whatever the database's default is", async () => {
      const setting = async () =>
        (await database.query(unpreparedStatement(`SELECT current_setting('synchronous_commit') AS it`)))[0]?.it;
      assert.equal(await setting(), 'on');
      const loose = new URL(url);
      loose.searchParams.set('options', `${loose.searchParams.get('options')} -c synchronous_commit=off`);
      const other = new Database({ url: loose.href, log: silent });
      const [row] = await other.query(unpreparedStatement(`SELECT current_setting('synchronous_commit') AS it`));
      assert.equal(row?.it, 'on');
      await other.close();
    });

    test('several processes that start at once create the tables only once', async () => {
      const fresh = await schemas.make({ hasTables: false });
      const opened = await Promise.all([1, 2, 3, 4, 5].map(() => openPostgresStore({ url: fresh.url, log: silent })));
      await Promise.all(opened.map((one) => one.close()));
      const again = new Database({ url: fresh.url, log: silent });
      const versions = await again.query(unpreparedStatement('SELECT version FROM schema_version'));
      assert.deepEqual(versions, [{ version: MIGRATIONS.length }]);
      await again.close();
    });

    test('a migration, and the wait for that of another process, may take longer than other calls may', {
      timeout: 60_000,
    }, async (t) => {
      const fresh = await schemas.make({ hasTables: false });
      const holder = new pg.Client({ connectionString: fresh.url });
      await holder.connect();
      await holder.query('SELECT pg_advisory_lock($1, hashtext(current_schema()))', [LOCK_CLASS]);
      await holder.query('CREATE TABLE finish ()');
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const migrating = new Database({ url: fresh.url, log: silent });
      t.after(async () => {
        t.mock.timers.reset();
        await holder.end();
        await migrating.close();
      });
      const slow = `DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM finish) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$`;
      const migration = migrate(migrating, fresh.url, { migrations: [slow] });
      let hasEnded = false;
      const ended = migration.finally(() => {
        hasEnded = true;
      });
      const isInProgress = async (what: string) =>
        (
          await holder.query(
            `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE $1`,
            [what],
          )
        ).rows.length > 0;
      // It waits for the lock of migrations, and then works.
      for (const [what, release] of [
        ['SELECT pg_advisory_lock(%', 'SELECT pg_advisory_unlock_all()'],
        ['DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM finish)%', 'INSERT INTO finish DEFAULT VALUES'],
      ] as const) {
        while (!hasEnded && !(await isInProgress(what)));
        if (hasEnded) await ended;
        t.mock.timers.tick(24 * 3_600_000);
        await holder.query(release);
      }
      await ended;
    });

    test('a migration that waits for a table lets the statements of running nodes through', { timeout: 60_000 }, async (t) => {
      const fresh = await schemas.make({ hasTables: false });
      const [reader, node] = [new pg.Client({ connectionString: fresh.url }), new pg.Client({ connectionString: fresh.url })];
      const warnings: string[] = [];
      const migrating = new Database({ url: fresh.url, log: { ...silent, warn: (_fields, text) => warnings.push(text) } });
      t.after(() => Promise.all([reader.end(), node.end(), migrating.close()]));
      await Promise.all([reader.connect(), node.connect()]);
      await reader.query('CREATE TABLE used (n integer)');
      await reader.query('BEGIN; SELECT FROM used');
      const migration = migrate(migrating, fresh.url, {
        ...{ migrations: ['ALTER TABLE used ADD COLUMN added integer'], tableLockMs: 20, retryMs: 20 },
      });
      while (warnings.length === 0) await node.query('INSERT INTO used VALUES (1)');
      for (let n = 0; n < 20; n++) await node.query('INSERT INTO used VALUES (1)');
      assert.deepEqual(warnings, ['schema migration waits for a transaction that uses a table, retrying']);
      await reader.query('COMMIT');
      await migration;
      await node.query('INSERT INTO used (added) VALUES (2)');
    });

    test('a statement is prepared again after a newer version has added a column', async () => {
      await database.execute(unpreparedStatement('CREATE TABLE widened (a integer)'));
      const read = statement('SELECT * FROM widened ORDER BY a');
      const insert = statement('INSERT INTO widened (a) VALUES ($1) RETURNING *');
      // Both connections have prepared the statements.
      const prepare = () =>
        database.transaction(async (session) => [await session.query(insert, [1]), await session.query(read)]);
      await Promise.all([prepare(), prepare()]);
      const widen = (column: string) =>
        database.execute(unpreparedStatement(`ALTER TABLE widened ADD COLUMN ${column} integer DEFAULT 7`));
      await widen('b');
      assert.deepEqual((await database.query(read))[0], { a: 1, b: 7 });
      await widen('c');
      assert.deepEqual(await database.query(insert, [2]), [{ a: 2, b: 7, c: 7 }]);
      await widen('d');
      assert.equal((await database.snapshot((session) => session.query(read))).length, 3);
      await widen('e');
      await database.transaction(async (session) => {
        session.send(insert, [3]);
        await session.query(insert, [4]);
      });
      const rows = await Promise.all([database.query(read), database.query(read)]);
      for (const read of rows)
        assert.deepEqual(
          read.map(({ a, e }) => [a, e]),
          [1, 1, 2, 3, 4].map((a) => [a, 7]),
        );
    });

    test('instances of version 21 get the origins of the workflows that they ran, and not those of their messages', async () => {
      const fresh = await schemas.make({ hasTables: false });
      const older = new Database({ url: fresh.url, log: silent });
      await migrate(older, fresh.url, { migrations: MIGRATIONS.slice(0, 21) });
      await older.withConnection(async (client) => {
        await client.query(`
          INSERT INTO queue_instance (instance_id, region, name, created_at, current_signing_key, next_signing_key) VALUES
            ('qi_a', 'eu-central-1', 'a', 0, 'x', 'y'), ('qi_b', 'eu-central-1', 'b', 0, 'x', 'y'), ('qi_c', 'eu-central-1', 'c', 0, 'x', 'y')`);
        const insert = `INSERT INTO run (instance_id, run_key, place, created_at, workflow_run_id, dialect, workflow_url, caller_ip, message,
            url_host, url_path, settings)
          SELECT instance_id, 'k' || n || instance_id, n, 0, 'r', 'native', url, '', message, '', '', '{}'
          FROM unnest($1::text[], $2::text[], $3::boolean[]) WITH ORDINALITY AS w (instance_id, url, message, n)`;
        const runs: (readonly [instanceId: string, url: string, message: boolean])[] = [
          ...['https://App.test/flow?x=1', 'https://app.test/other', 'http://127.0.0.1:3000', 'nonsense'].map(
            (url) => ['qi_a', url, false] as const,
          ),
          ['qi_a', 'https://customer.test/hook', true],
          ['qi_b', 'https://customer.test/hook', true],
          ...Array.from({ length: 120 }, (_, n) => ['qi_c', `https://tenant-${n}.test/flow`, false] as const),
        ];
        await client.query(insert, [runs.map(([id]) => id), runs.map(([, url]) => url), runs.map(([, , message]) => message)]);
      });
      await older.close();
      const opened = await openPostgresStore({ url: fresh.url, log: silent });
      const [a, b, c] = await opened.accounts.listInstances();
      await opened.close();
      assert.deepEqual(a?.workflowOrigins, ['http://127.0.0.1:3000', 'https://app.test']);
      assert.deepEqual([b?.workflowOrigins, c?.workflowOrigins?.length], [undefined, 100]);
    });

    test('a database of a newer version is left unchanged', async () => {
      const fresh = await schemas.make({ hasTables: false });
      const newer = new Database({ url: fresh.url, log: silent });
      await migrate(newer, fresh.url, { migrations: [...MIGRATIONS, 'CREATE TABLE later ()'] });
      await newer.close();
      await assert.rejects(openPostgresStore({ url: fresh.url, log: silent }), (error) => {
        assert.ok(error instanceof StoreOpenError);
        assert.equal(error.code, 'newer-schema');
        assert.match(error.message, /newer version/);
        return true;
      });
    });

    test('the reason why a database cannot be used is reported without the password', async () => {
      const cases = [
        ['unreachable', (it: URL) => Object.assign(it, { port: '1' })],
        ['refused', (it: URL) => Object.assign(it, { pathname: '/no-such-database' })],
      ] as const;
      for (const [code, change] of cases) {
        const wrong = new URL(url);
        wrong.password = 'pa55word';
        await assert.rejects(openPostgresStore({ url: change(wrong).href, log: silent }), (error) => {
          assert.ok(error instanceof StoreOpenError);
          assert.equal(error.code, code);
          assert.doesNotMatch(error.message, /pa55word/);
          return true;
        });
      }
    });
  });
}
