/** Groups of dead letters that several processes write concurrently: two or more stores on one database. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { groupOf } from '../../../engine/dead-letters/fingerprint.js';
import type { CommitUnit } from '../../../ports/stores/store.js';
import { creation, failure, INSTANCE, sampleDeadLetter, sampleRun, seededNumbers, T0, unit } from '../../conformance/samples.js';
import { openPostgresStore } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const GROUPS = 12;
const ROUNDS = 60;
const PER_BATCH = 8;

const groups = Array.from({ length: GROUPS }, (_, n) =>
  groupOf({
    kind: 'workflow',
    workflowUrl: `https://app.test/${n % 3}`,
    stepName: null,
    status: 500,
    cause: 'step',
    message: `problem ${'abcdefghijkl'.charAt(n)}`,
  }),
);

if (typeof schemas === 'string') {
  describe('groups of dead letters of several processes', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const nodes = await Promise.all([1, 2, 3, 4].map(() => openPostgresStore({ url: schema.url, log })));
  const [first] = nodes;
  assert.ok(first);
  after(() => Promise.all(nodes.map((node) => node.close())));

  async function query(sql: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: schema.url });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async function deadlocks(): Promise<number> {
    const [row] = await query('SELECT deadlocks::integer AS deadlocks FROM pg_stat_database WHERE datname = current_database()');
    return Number(row?.deadlocks);
  }

  test('an entry that a node of an earlier version takes without counting is counted again', async () => {
    const [one, other] = ['one', 'other'].map((message) => {
      const named = { kind: 'workflow', workflowUrl: 'https://old.test/', stepName: null, status: null } as const;
      return groupOf({ ...named, cause: 'network', message });
    });
    assert.ok(one && other);
    const instanceId = 'qi_old';
    for (const [n, group] of [one, one, one, other].entries()) {
      const run = sampleRun(900_000 + n, { workflowUrl: group.workflowUrl, instanceId });
      await first.commit([unit([creation(run), ...failure(run, sampleDeadLetter(run), group)])]);
    }
    const recount = async (limit: number) => {
      let after = await first.deadLetterGroups.recount({ after: null, limit });
      for (let steps = 1; after !== null; steps++) {
        assert.ok(steps < 100);
        after = await first.deadLetterGroups.recount({ after, limit });
      }
    };
    const found = async (group: typeof one) => {
      const record = await first.deadLetterGroups.find({ instanceId, fingerprint: group.fingerprint, now: T0 });
      return [record?.entries, record?.workflows.map(({ entries }) => entries)];
    };
    await recount(1);
    assert.deepEqual(await found(one), [3, [3]]);
    await query(`DELETE FROM dead_letter WHERE instance_id = '${instanceId}' AND dlq_id < 'dlq_${sampleRun(900_002).key}'`);
    await recount(1);
    assert.deepEqual(
      [await found(one), await found(other)],
      [
        [1, [1]],
        [1, [1]],
      ],
    );
    await query(`DELETE FROM dead_letter WHERE instance_id = '${instanceId}'`);
    await recount(100);
    assert.deepEqual(
      [await found(one), await found(other)],
      [
        [0, []],
        [0, []],
      ],
    );
  });

  test('processes that add, take, remove, mark and tidy concurrently count every entry once, and never deadlock', async () => {
    const before = await deadlocks();
    await Promise.all(
      nodes.map(async (store, node) => {
        const random = seededNumbers(node + 1);
        const mine: string[] = [];
        for (let round = 0; round < ROUNDS; round++) {
          const units: CommitUnit[] = [];
          for (let i = 0; i < PER_BATCH; i++) {
            const group = groups[random(GROUPS)] ?? assert.fail();
            const run = sampleRun(node * 100_000 + round * 100 + i, { workflowUrl: group.workflowUrl });
            const entry = sampleDeadLetter(run, { createdAt: T0 + round });
            units.push(unit([creation(run), ...failure(run, entry, group)]));
            const taken = random(3) === 0 ? mine.splice(random(mine.length), 1)[0] : undefined;
            mine.push(entry.dlqId);
            if (taken === undefined) continue;
            const recoveredAs = random(2) === 0 ? null : ({ kind: 'resume', runKey: run.key, at: T0 + round } as const);
            units.push(unit([{ kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: taken, recoveredAs }]));
          }
          const results = await store.commit(units);
          assert.ok(results.every(({ kind }) => kind === 'applied'));
          const { fingerprint = '' } = groups[random(GROUPS)] ?? {};
          const query = { instanceId: INSTANCE, fingerprint, mark: { kind: 'resolve', at: T0 + round, by: 'x' } } as const;
          const auditId = `aud_${node}_${round}`;
          const audit = { auditId, at: T0, actor: 'x', action: 'x', subject: 'x', details: {}, address: 'x', accountIds: [] };
          if (random(5) === 0) await store.deadLetterGroups.mark({ ...query, audit });
          if (random(5) === 0) await store.deadLetterGroups.tidy({ now: T0 + 9 * 86_400_000, limit: 3 });
        }
      }),
    );
    assert.equal((await deadlocks()) - before, 0);

    const page = { instanceId: INSTANCE, order: 'oldest-first', after: null, horizon: null, limit: 100_000 } as const;
    for (const { fingerprint, message, workflowUrl } of groups) {
      const found = await first.deadLetterGroups.find({ instanceId: INSTANCE, fingerprint, now: T0 });
      const { items } = await first.listDeadLetterIds({ ...page, filter: { fingerprints: [fingerprint] } });
      assert.ok(items.length > 0);
      assert.deepEqual([found?.message, found?.entries], [message, items.length]);
      assert.deepEqual(found?.workflows, [{ workflowUrl, entries: items.length }]);
    }
    const all = await first.deadLetterGroups.list({
      instanceId: INSTANCE,
      filter: { kind: 'workflow' },
      now: T0,
      after: null,
      limit: 100,
    });
    assert.equal(
      all.items.reduce((sum, { total }) => sum + total, 0),
      nodes.length * ROUNDS * PER_BATCH,
    );
  });
}
