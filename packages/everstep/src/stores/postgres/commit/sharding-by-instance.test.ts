/** The store on tables that are partitioned by queue instance, as in a distributed PostgreSQL. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { CommitUnit, Store } from '../../../ports/stores/store.js';
import { runConformance } from '../../conformance/index.js';
import {
  advanceTask,
  creation,
  failure,
  INSTANCE,
  OTHER_INSTANCE,
  putTasks,
  sampleRun,
  sampleStep,
  stepTask,
  T0,
  unit,
} from '../../conformance/samples.js';
import { openPostgresStore } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';
import { SHARDED_BY, shardSchema } from '../testing/sharded-schema.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };
/** Small tables that are on every server. */
const EVERYWHERE = ['queue_instance'];

const tableOf = (part: string): string => part.replace(/_part_\d+$/, '');
const partsOf = (parts: readonly string[], by: string) =>
  new Set(parts.filter((part) => SHARDED_BY[tableOf(part)] === by).map((part) => part.slice(-1)));

if (typeof schemas === 'string') {
  describe('PostgreSQL partitioned by instance', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make({ hasTables: false });
  const { url } = schema;
  await (await openPostgresStore({ url, log })).close();
  const shardedSchema = await shardSchema(url);
  const opened = await openPostgresStore({ url, log, commits: 'by-instance' });
  let whole: Store | null = null;
  after(() => whole?.close());

  describe('commits on tables that are partitioned by instance', () => {
    after(async () => {
      await opened.close();
      await shardedSchema.close();
      await schema.clear();
    });
    let made = 0;
    const begin = (instanceId: string): readonly [runKey: string, CommitUnit] => {
      const run = sampleRun(++made, { instanceId });
      const counted = { instanceId, at: T0 } as const;
      const counts = [
        { kind: 'count-messages', messages: 1, ...counted },
        { kind: 'count-of-day', what: 'run', count: 1, ...counted },
      ] as const;
      const free = { kind: 'run-id-free', instanceId, workflowRunId: run.workflowRunId } as const;
      return [run.key, unit([creation(run), ...putTasks(run.key, [advanceTask(T0)]), ...counts], [free])];
    };
    const step = (runKey: string, instanceId: string, version: number): CommitUnit =>
      unit(
        [
          { kind: 'record-step', runKey, step: sampleStep(version + 1) },
          ...putTasks(runKey, [stepTask(1, T0 + version)]),
          { kind: 'count-messages', instanceId, messages: 1, at: T0 },
        ],
        [{ kind: 'run-active', runKey, version, next: version + 1 }],
      );
    const instances = [INSTANCE, OTHER_INSTANCE, 'qi_three', 'qi_four', 'qi_five', 'qi_six'];
    const applied = (results: readonly { readonly kind: string }[]) => results.every(({ kind }) => kind === 'applied');

    test('a step uses rows of one partition only, whatever else is in its batch', async () => {
      const runs = instances.flatMap((instanceId) => [1, 2].map(() => [instanceId, ...begin(instanceId)] as const));
      assert.ok(applied(await opened.commit(runs.map(([, , started]) => started))));
      const seen = new Set<string>();
      const steps = (version: number) => opened.commit(runs.map(([instanceId, runKey]) => step(runKey, instanceId, version)));
      // The first commits use connections that have not reported their earlier statements yet.
      assert.ok(applied(await steps(0)));
      await shardedSchema.takeUsedShards();
      for (const version of [1, 2, 3]) {
        assert.ok(applied(await steps(version)));
        const transactions = await shardedSchema.takeUsedShards();
        assert.equal(transactions.length, instances.length);
        for (const parts of transactions) {
          const whole = parts.filter((part) => tableOf(part) === part);
          assert.deepEqual([whole, partsOf(parts, 'run_key').size], [EVERYWHERE, 0]);
          const [part, ...others] = partsOf(parts, 'instance_id');
          assert.deepEqual(others, [], parts.join(' '));
          seen.add(part ?? '');
          for (const table of ['active_run', 'step', 'task', 'usage', 'instance_clock'])
            assert.ok(parts.includes(`${table}_part_${part}`), `${table}: ${parts.join(' ')}`);
        }
      }
      assert.ok(seen.size > 1, 'all instances are in one partition');
    });

    test('a start uses one partition and the directory, and a failure one partition', async () => {
      const [runKey, started] = begin('qi_three');
      await opened.commit([started]);
      const [beginning, ...others] = await shardedSchema.takeUsedShards();
      assert.ok(beginning && others.length === 0);
      assert.deepEqual([partsOf(beginning, 'instance_id').size, partsOf(beginning, 'run_key').size], [1, 1]);
      const failed = sampleRun(made, { instanceId: 'qi_three' });
      assert.ok(applied(await opened.commit([unit([...failure(failed), { kind: 'delete-tasks', runKey }])])));
      const [failing, ...more] = await shardedSchema.takeUsedShards();
      assert.ok(failing && more.length === 0);
      assert.deepEqual([partsOf(failing, 'instance_id').size, partsOf(failing, 'run_key').size], [1, 0]);
    });

    test('if the part of one instance fails, the others are written and the batch is rejected', async () => {
      const [[firstKey, first], [secondKey, second]] = [begin(INSTANCE), begin(OTHER_INSTANCE)];
      const faulty = unit([...second.writes, { kind: 'delete-task', runKey: 'no such run', slot: 1 }], second.guards);
      await assert.rejects(opened.commit([first, faulty]), /no run with the key/);
      assert.ok(await opened.loadRun({ runKey: firstKey }));
      assert.equal(await opened.loadRun({ runKey: secondKey }), null);
      assert.deepEqual(
        (await opened.commit([first])).map(({ kind }) => kind),
        ['run-id-taken'],
      );
    });

    test('results are in the order of the units', async () => {
      const [[key, started], [, other]] = [begin(INSTANCE), begin(OTHER_INSTANCE)];
      const refused = step(key, INSTANCE, 7);
      const results = await opened.commit([started, other, refused, step(key, INSTANCE, 0)]);
      assert.deepEqual(
        results.map(({ kind }) => kind),
        ['applied', 'applied', 'run-moved', 'applied'],
      );
    });
  });

  // A batch of several instances is atomic only if it is one transaction.
  runConformance('PostgreSQL sharded by instance', async () => {
    whole ??= await openPostgresStore({ url, log });
    return {
      store: whole,
      hasVersions: true,
      async reopen() {
        await whole?.close();
        whole = await openPostgresStore({ url, log });
        return whole;
      },
      dispose: () => schema.clear(),
    };
  });
}
