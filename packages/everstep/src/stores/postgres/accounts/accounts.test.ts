/** Writes that PostgreSQL itself rejects, and concurrent changes by several nodes. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { AccountStore } from '../../../ports/stores/account-store.js';
import {
  addTeam,
  addUsers,
  sampleApiKey,
  sampleAudit,
  sampleInstance,
  sampleMember,
  sampleToken,
  sampleUser,
} from '../../conformance/accounts/account-samples.js';
import { INSTANCE, OTHER_INSTANCE, T0 } from '../../conformance/samples.js';
import { createAuditStore } from '../../shared/audit/audit-chain.js';
import { Database, statement, type TransactionSession } from '../connection/connection.js';
import { migrate } from '../connection/migrate.js';
import { SqlSession } from '../connection/sql-session.js';
import { detectEngine } from '../sharding/detection.js';
import { openTestSchemas } from '../testing/schemas.js';
import { createPostgresAccounts } from './accounts.js';
import { countMessages } from './usage-counts.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const ROUNDS = 8;

if (typeof schemas === 'string') {
  describe('accounts in PostgreSQL', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const database = new Database({ url: schema.url, log });
  after(() => database.close());
  await migrate(database, schema.url);
  database.engine = await detectEngine(database, log);
  const accounts = createPostgresAccounts(database, new SqlSession(database));

  /** Declares a test that starts with empty tables. */
  const onEmpty = (name: string, body: () => Promise<void>) =>
    test(name, async () => {
      try {
        await body();
      } finally {
        await schema.clear();
      }
    });
  const run = (sql: string) => database.withConnection((client) => client.query(sql));
  const fulfilled = (results: readonly PromiseSettledResult<unknown>[]): number =>
    results.filter(({ status }) => status === 'fulfilled').length;

  describe('the audit log in PostgreSQL', () => {
    for (const sql of [
      `UPDATE audit_log SET actor = 'changed'`,
      'DELETE FROM audit_log',
      'TRUNCATE audit_log',
      `INSERT INTO audit_log OVERRIDING SYSTEM VALUE VALUES (1, 'aud_1', 0, '', '', '', '', '[]', '{}', NULL)
       ON CONFLICT (audit_id) DO UPDATE SET actor = 'changed'`,
      `UPDATE audit_reader SET account_id = 'changed'`,
      'DELETE FROM audit_reader',
      'TRUNCATE audit_reader',
      `UPDATE audit_chain SET hash = ''`,
      'DELETE FROM audit_chain',
      'TRUNCATE audit_chain',
      'DELETE FROM audit_anchor',
    ]) {
      onEmpty(`rejects: ${sql}`, async () => {
        const entry = sampleAudit(1, ['usr_ann']);
        await accounts.addAudit(entry);
        await createAuditStore(new SqlSession(database)).seal({ limit: 9 });
        await assert.rejects(run(sql), /cannot be changed or deleted/);
        assert.deepEqual(await accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 9 }), [entry]);
      });
    }

    onEmpty('read in pages while many nodes add entries, it returns every entry', async () => {
      const adding = Array.from({ length: 40 }, (_, n) => accounts.addAudit(sampleAudit(n, ['acc'])));
      const seen = new Map<string, readonly string[]>();
      for (let done = false; !done; ) {
        done = (await Promise.race([Promise.all(adding).then(() => 'done'), accounts.listUsers()])) === 'done';
        const page = await accounts.listAudit({ accountIds: ['acc'], after: null, limit: 100 });
        const [first] = page;
        if (first)
          seen.set(
            first.auditId,
            page.map(({ auditId }) => auditId),
          );
      }
      const ids = (await accounts.listAudit({ accountIds: ['acc'], after: null, limit: 100 })).map(({ auditId }) => auditId);
      assert.equal(ids.length, 40);
      for (const [first, page] of seen) assert.deepEqual(page, ids.slice(ids.indexOf(first)));
    });
  });

  describe('accounts that several nodes change concurrently', () => {
    onEmpty('an email, an id or a key is given only once', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const results = await Promise.allSettled(
          Array.from({ length: 4 }, (_, n) => {
            const user = { ...sampleUser(`${round}`), userId: `usr_${round}_${n}` };
            return accounts.createUser({ user, apiKey: sampleApiKey(`${round}_${n}`) });
          }),
        );
        assert.equal(fulfilled(results), 1);
      }
      assert.equal((await accounts.listUsers()).length, ROUNDS);
    });

    onEmpty('a team keeps an owner when all its owners leave at the same time', async () => {
      await addUsers(accounts, 'ann', 'ben');
      for (let round = 0; round < ROUNDS; round++) {
        await addTeam(accounts, `${round}`, 'ann');
        await accounts.putMember({ member: sampleMember(`${round}`, 'ben', 'owner') });
        const teamId = `team_${round}`;
        const outcomes = await Promise.all([
          accounts.removeMember({ teamId, userId: 'usr_ann' }),
          accounts.putMember({ member: sampleMember(`${round}`, 'ben', 'dev') }),
        ]);
        assert.deepEqual([...outcomes].sort(), ['done', 'last-owner']);
        assert.equal((await accounts.listMembers({ teamId })).filter(({ role }) => role === 'owner').length, 1);
      }
    });

    onEmpty('nothing is given to a team that is deleted at the same moment', async () => {
      await addUsers(accounts, 'ann');
      for (let round = 0; round < ROUNDS; round++) {
        const teamId = `team_${round}`;
        await addTeam(accounts, `${round}`, 'ann');
        await accounts.createInstance(sampleInstance(`qi_moved${round}`));
        const [deleted, ...given] = await Promise.allSettled([
          accounts.deleteTeam({ teamId }),
          accounts.createInstance(sampleInstance(`qi_new${round}`, { accountId: teamId })),
          accounts.changeInstance({ instanceId: `qi_moved${round}`, change: { accountId: teamId } }),
        ]);
        const isDeleted = deleted.status === 'fulfilled' && deleted.value === 'deleted';
        assert.equal(fulfilled(given) === 0, isDeleted);
        assert.equal((await accounts.findTeam({ teamId })) === null, isDeleted);
      }
    });

    onEmpty('if tokens are replaced concurrently, only the last ones stay valid', async () => {
      await accounts.createInstance(sampleInstance(INSTANCE), undefined, [sampleToken('old', INSTANCE)]);
      const revoked = await Promise.all(
        Array.from({ length: ROUNDS }, (_, n) =>
          accounts.replaceTokens({ instanceId: INSTANCE, tokens: [sampleToken(`new${n}`, INSTANCE)], at: T0 + n }),
        ),
      );
      const good = (await accounts.listTokens({ instanceId: INSTANCE })).filter(({ revokedAt }) => revokedAt === null);
      assert.equal(good.length, 1);
      assert.equal(new Set(revoked.flat()).size, ROUNDS);
    });

    onEmpty('a secret that several nodes create concurrently is the same for all of them', async () => {
      const values = await Promise.all(
        Array.from({ length: ROUNDS }, (_, n) => accounts.findOrCreateSecret({ name: 'jwt', value: `${n}` })),
      );
      assert.equal(new Set(values).size, 1);
    });

    onEmpty('only one node sends the alert for a share of a budget', async () => {
      await accounts.createInstance(sampleInstance(INSTANCE, { budgetDollars: 10 }));
      const told = await Promise.all(
        Array.from({ length: ROUNDS }, () =>
          accounts.createBudgetAlert({
            alert: { instanceId: INSTANCE, month: '2026-11', percent: 100, body: '{}', retried: 0, dueAt: T0 },
            lowerPercents: [80],
            budgetDollars: 10,
            accountId: null,
          }),
        ),
      );
      assert.equal(told.filter((first) => first).length, 1);
    });
  });

  describe('budgets and prices that change while others count', () => {
    onEmpty('no alert is left of a budget that is changed while the alert is noted', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const instanceId = `qi_budget${round}`;
        await accounts.createInstance(sampleInstance(instanceId, { budgetDollars: 10 }));
        await Promise.all([
          accounts.createBudgetAlert({
            alert: { instanceId, month: '2026-11', percent: 100, body: '{}', retried: 0, dueAt: T0 },
            lowerPercents: [80],
            budgetDollars: 10,
            accountId: null,
          }),
          accounts.changeInstance({ instanceId, change: { budgetDollars: 20 } }),
        ]);
        assert.deepEqual(await accounts.dueBudgetAlerts({ before: T0, limit: 9 }), []);
      }
    });

    onEmpty('messages counted while an instance gets its first price have that price, and keep it', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const instanceId = `qi_price${round}`;
        await accounts.createInstance(sampleInstance(instanceId));
        const count = { kind: 'count-messages', instanceId, messages: 1, at: T0 } as const;
        await Promise.all([
          ...Array.from({ length: 6 }, () => database.transaction(async (session) => countMessages(session, [count]))),
          accounts.changeInstance({ instanceId, change: { price: 2 } }),
        ]);
        await accounts.changeInstance({ instanceId, change: { price: 3 } });
        const usage = await accounts.usage({ instanceId, fromMonth: '2000-01' });
        assert.deepEqual(
          usage.map(({ price, messages }) => [price, messages]),
          [[2, 6]],
        );
      }
    });
  });

  describe('usage in PostgreSQL', () => {
    const total = async (store: AccountStore, instanceId: string) =>
      (await store.usage({ instanceId, fromMonth: '2000-01' })).map(({ messages }) => messages);
    const count = (instanceId: string, messages: number) => ({ kind: 'count-messages', instanceId, messages, at: T0 }) as const;

    onEmpty('is counted by commits that do not wait for each other, and no message is lost', async () => {
      const shardOf = async (session: TransactionSession): Promise<unknown> =>
        (await session.query(statement('SELECT pg_backend_pid() % 64 AS shard')))[0]?.shard;
      /** Runs `work` on another connection, which has its own rows. */
      const besides = (shard: unknown, work: (session: TransactionSession) => void): Promise<void> =>
        database.transaction(async (session) => {
          if ((await shardOf(session)) === shard) await besides(shard, work);
          else work(session);
        });
      await database.transaction(async (slow) => {
        countMessages(slow, [count(INSTANCE, 1), count(OTHER_INSTANCE, 2)]);
        await besides(await shardOf(slow), (fast) => countMessages(fast, [count(OTHER_INSTANCE, 10), count(INSTANCE, 10)]));
        assert.deepEqual(await total(accounts, INSTANCE), [10]);
      });
      await Promise.all(
        Array.from({ length: 50 }, () =>
          database.transaction(async (session) => countMessages(session, [count(INSTANCE, 100), count(OTHER_INSTANCE, 100)])),
        ),
      );
      assert.deepEqual(await total(accounts, INSTANCE), [5011]);
      assert.deepEqual(await total(accounts, OTHER_INSTANCE), [5012]);
    });
  });
}
