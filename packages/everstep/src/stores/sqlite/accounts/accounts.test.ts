/** Writes that SQLite itself rejects, and how usage is written. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addUsers, sampleAudit, sampleInstance } from '../../conformance/accounts/account-samples.js';
import { apply, INSTANCE, OTHER_INSTANCE, T0, unit } from '../../conformance/samples.js';
import { type Connection, openConnection } from '../connection/connection.js';
import { createSqliteStore } from '../index.js';

function openStore() {
  const connection = openConnection(':memory:');
  return { connection, store: createSqliteStore(connection) };
}

describe('the audit log in SQLite', () => {
  for (const sql of [
    `UPDATE audit_log SET actor = 'changed'`,
    'UPDATE audit_log SET at = at',
    'DELETE FROM audit_log',
    `REPLACE INTO audit_log VALUES (1, 'aud_9', 0, '', '', '', '', '[]', '{}', NULL)`,
    `REPLACE INTO audit_log VALUES (9, 'aud_1', 0, '', '', '', '', '[]', '{}', NULL)`,
    `UPDATE audit_reader SET account_id = 'changed'`,
    'DELETE FROM audit_reader',
    `UPDATE audit_chain SET hash = ''`,
    'DELETE FROM audit_chain',
    `REPLACE INTO audit_chain VALUES (1, '')`,
  ]) {
    test(`rejects: ${sql}`, async () => {
      const { connection, store } = openStore();
      const entry = sampleAudit(1, ['usr_ann']);
      await store.accounts.addAudit(entry);
      assert.throws(() => connection.exec(sql), /cannot be (replaced|changed|deleted)|only grows/);
      assert.deepEqual(await store.accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 9 }), [entry]);
      await store.close();
    });
  }
});

describe('usage in SQLite', () => {
  test('is written once for each instance and day when it is read, and survives a restart before', async () => {
    const { connection, store } = openStore();
    connection.exec(`
      CREATE TABLE written (instance_id TEXT);
      CREATE TRIGGER usage_added AFTER INSERT ON usage BEGIN INSERT INTO written VALUES (NEW.instance_id); END;
      CREATE TRIGGER usage_raised AFTER UPDATE ON usage BEGIN INSERT INTO written VALUES (NEW.instance_id); END;
    `);
    const counts = (instanceId: string) =>
      Array.from({ length: 50 }, () => unit([{ kind: 'count-messages', instanceId, messages: 2, at: T0 }]));
    const written = () => connection.prepare('SELECT instance_id FROM written').all();
    await store.commit([...counts(INSTANCE), ...counts(OTHER_INSTANCE)]);
    await store.commit(counts(INSTANCE));
    assert.deepEqual(written(), []);
    const reopened = createSqliteStore(connection);
    for (const [instanceId, messages] of [
      [INSTANCE, 200],
      [OTHER_INSTANCE, 100],
    ] as const) {
      const [usage] = await reopened.accounts.usage({ instanceId, fromMonth: '2000-01' });
      assert.equal(usage?.messages, messages);
    }
    assert.deepEqual(
      written().map(({ instance_id }) => instance_id),
      [INSTANCE, OTHER_INSTANCE],
    );
    await reopened.close();
  });

  test('of a batch that could not be written is not counted with the next one', async () => {
    const { connection, store } = openStore();
    await addUsers(store.accounts, 'ann');
    await store.accounts.createInstance(sampleInstance(INSTANCE, { accountId: 'usr_ann' }));
    const count = { kind: 'count-messages', instanceId: INSTANCE, messages: 1, at: T0 } as const;
    connection.exec(`CREATE TRIGGER full BEFORE INSERT ON counter BEGIN SELECT raise(ABORT, 'the disk is full'); END`);
    await assert.rejects(store.commit([unit([count])]), /the disk is full/);
    connection.exec('DROP TRIGGER full');
    await apply(store, [count]);
    const usage = await store.accounts.usage({ instanceId: INSTANCE, fromMonth: '2000-01' });
    assert.deepEqual(
      usage.map(({ accountId, messages }) => [accountId, messages]),
      [['usr_ann', 1]],
    );
    await store.close();
  });
});

describe('sums of commits in SQLite', () => {
  const count = (instanceId: string) => unit([{ kind: 'count-messages', instanceId, messages: 1, at: T0 }]);
  const settled = (connection: Connection) =>
    Number(connection.prepare('SELECT coalesce(sum(messages), 0) AS messages FROM usage').get()?.messages);

  test('are added to their tables after 200 commits', async () => {
    const { connection, store } = openStore();
    for (let n = 1; n <= 201; n++) {
      await store.commit([count(INSTANCE)]);
      assert.equal(settled(connection), n < 200 ? 0 : 200);
    }
    await store.close();
  });

  test('are added at once when there are many', async () => {
    const { connection, store } = openStore();
    await store.commit(Array.from({ length: 100 }, (_, n) => count(`qi_${n}`)));
    assert.equal(settled(connection), 100);
    assert.equal(connection.prepare("SELECT sums FROM counter WHERE name = 'commits'").get()?.sums, '');
    await store.close();
  });

  test('are read from their tables while the store rejects writes', async () => {
    const { connection, store } = openStore();
    await store.commit([count(INSTANCE)]);
    connection.exec('PRAGMA query_only = 1');
    assert.deepEqual(await store.accounts.usage({ instanceId: INSTANCE, fromMonth: '2000-01' }), []);
    connection.exec('PRAGMA query_only = 0');
    const [usage] = await store.accounts.usage({ instanceId: INSTANCE, fromMonth: '2000-01' });
    assert.equal(usage?.messages, 1);
    await store.close();
  });
});

describe('budget alerts in SQLite', () => {
  test('of past months are removed with the next one of the instance, except pending ones', async () => {
    const { connection, store } = openStore();
    for (const id of ['qi_a', 'qi_b']) await store.accounts.createInstance(sampleInstance(id, { budgetDollars: 50 }));
    const note = (instanceId: string, month: string, percent: number) => {
      const alert = { instanceId, month, percent, body: '{}', retried: 0, dueAt: T0 };
      return store.accounts.createBudgetAlert({
        alert,
        lowerPercents: percent === 100 ? [80] : [],
        budgetDollars: 50,
        accountId: null,
      });
    };
    await note('qi_a', '2026-10', 100);
    await note('qi_a', '2026-11', 80);
    await note('qi_b', '2026-11', 80);
    await note('qi_b', '2026-12', 80);
    const left = connection.prepare('SELECT instance_id, month, percent FROM budget_alert ORDER BY instance_id, month').all();
    assert.deepEqual(
      left.map((row) => Object.values(row).join(' ')),
      ['qi_a 2026-10 100', 'qi_a 2026-11 80', 'qi_b 2026-11 80', 'qi_b 2026-12 80'],
    );
    await store.close();
  });
});
