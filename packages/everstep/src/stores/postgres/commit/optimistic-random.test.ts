/**
 * Random batches of two processes that see each other's decisions late. Optimistic commits must return the same results, and
 * leave the same tables, as commits that always read. `COMMITS_RANDOM_SEED=17` selects other batches, and
 * `COMMITS_RANDOM_BATCHES=2000` makes more of them.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { SeededRandom } from '../../../clock/testing/seeded-random.js';
import type { CommitUnit, StoreWrite } from '../../../ports/stores/store.js';
import {
  advanceTask,
  creation,
  failure,
  INSTANCE,
  invokeTask,
  keptEvent,
  OTHER_INSTANCE,
  putTasks,
  sampleAttempt,
  sampleRun,
  sampleStep,
  stepTask,
  T0,
  unit,
  waitTask,
} from '../../conformance/samples.js';
import { Database, unpreparedStatement } from '../connection/connection.js';
import { openPostgresStore } from '../index.js';
import { detectEngine } from '../sharding/detection.js';
import { IS_ON_CLUSTER } from '../testing/citus.js';
import { openTestSchemas } from '../testing/schemas.js';
import { BatchWriter, type Commits } from './batch-writer.js';
import type { ExpectedRuns } from './known-run.js';
import { RunVersions } from './run-versions.js';

const SEED = Number(process.env.COMMITS_RANDOM_SEED ?? 1);
const BATCHES = Number(process.env.COMMITS_RANDOM_BATCHES ?? 150);
const MAX_UNITS = 6;
const MAX_RUNS = 8;
const NODES = [0, 1];

/** Columns that do not depend on the time of the commit. */
const TABLES = {
  active_run: 'instance_id, run_key, workflow_run_id, claim, message, queue, version',
  ended_run: 'instance_id, run_key, state, completed_at, error',
  task: 'instance_id, run_key, slot, kind, message_id, child_run_key, claimed_by, queue, due_at',
  waiter: 'instance_id, run_key, slot, event_id',
  step: 'instance_id, run_key, idx, step_id, out',
  kept_event: 'instance_id, run_key, event_key',
  attempt: 'instance_id, run_key, retried, at',
  dead_letter: 'instance_id, dlq_id, run_key',
  flow_control: 'instance_id, key, parallelism',
  run: 'instance_id, run_key, workflow_run_id',
} as const;

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

class AlwaysReading extends RunVersions {
  override expectedRunsOf(): ExpectedRuns | null {
    return null;
  }
}

/** Does not read after a conflict, so that the test has many conflicts. */
class AlwaysExpecting extends RunVersions {
  expected = 0;
  conflicts = 0;
  override expectedRunsOf(units: readonly CommitUnit[]): ExpectedRuns | null {
    const runs = super.expectedRunsOf(units);
    if (runs) this.expected++;
    return runs;
  }
  override recordConflict(): void {
    this.conflicts++;
  }
}

/** The state of a run as a process knows it. */
interface Seen {
  readonly version: number;
  readonly steps: number;
}

interface Made {
  readonly key: string;
  readonly instanceId: string;
  /** Keyed by the number of the process. */
  readonly seen: Map<number, Seen>;
}

/** Chooses batches. */
class Choices {
  private readonly random: SeededRandom;
  private runs: Made[] = [];
  private made = 0;
  private versions = 0;
  private events = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  /** Returns units of one process. `applied` updates what the process knows. */
  batch(node: number): readonly { readonly unit: CommitUnit; readonly applied: () => void }[] {
    const ahead = new Map<Made, Seen>();
    return Array.from({ length: 1 + this.random.below(MAX_UNITS) }, () => {
      const known = this.runs.filter(({ seen }) => seen.size > 0);
      return known.length < 3 || this.random.chance(0.2) ? this.creation(node) : this.decision(node, this.oneOf(known), ahead);
    });
  }

  /** Sometimes a process sees what the other one decided, more often after a refusal. */
  synchronize(refused: boolean): void {
    for (const { seen } of this.runs) {
      if (!this.random.chance(refused ? 0.6 : 0.2)) continue;
      const latest = [...seen.values()].reduce((a, b) => (a.version > b.version ? a : b), { version: -1, steps: 0 });
      if (latest.version >= 0) seen.set(this.random.below(NODES.length), latest);
    }
  }

  private oneOf<Item>(items: readonly Item[]): Item {
    const item = items[this.random.below(items.length)];
    assert.ok(item !== undefined);
    return item;
  }

  private creation(node: number) {
    const ids = this.random.chance(0.4) ? { workflowRunId: this.oneOf(['a', 'b', 'c']) } : {};
    const queue = this.random.chance(0.1) ? { settings: { message: { queue: 'q' } } as object } : {};
    const run = sampleRun(++this.made, { instanceId: this.oneOf([INSTANCE, OTHER_INSTANCE]), ...ids, ...queue });
    const { key, instanceId, workflowRunId } = run;
    const writes = [creation(run), ...putTasks(key, [this.random.chance(0.3) ? waitTask(3, T0 + 9, ['e']) : advanceTask(T0)])];
    const free = { kind: 'run-id-free', instanceId, workflowRunId } as const;
    const guards = 'workflowRunId' in ids && this.random.chance(0.8) ? [free] : [];
    const applied = () => {
      this.runs = [...this.runs, { key, instanceId, seen: new Map([[node, { version: 0, steps: 0 }]]) }].slice(-MAX_RUNS);
    };
    return { unit: unit(writes, guards), applied };
  }

  private decision(node: number, run: Made, ahead: Map<Made, Seen>) {
    const { version, steps } = ahead.get(run) ?? run.seen.get(node) ?? this.oneOf([...run.seen.values()]);
    const writes = Array.from({ length: this.random.below(4) }, (_, n) => this.writesOf(run, steps, n)).flat();
    const recorded = writes.filter(({ kind }) => kind === 'record-step').length;
    const then = { version: ++this.versions, steps: steps + recorded };
    ahead.set(run, then);
    const guard = { kind: 'run-active', runKey: run.key, version, next: then.version } as const;
    return { unit: unit(writes, [guard]), applied: () => void run.seen.set(node, then) };
  }

  private writesOf(run: Made, steps: number, n: number): readonly StoreWrite[] {
    const { key: runKey, instanceId } = run;
    const slot = 1 + this.random.below(3);
    const kinds: readonly (() => readonly StoreWrite[])[] = [
      () => (n === 0 ? [{ kind: 'record-step', runKey, step: sampleStep(steps) }] : []),
      () => putTasks(runKey, [stepTask(slot, T0 + this.random.below(100))]),
      () => putTasks(runKey, [waitTask(slot, T0 + 9, this.oneOf([['e'], ['e', 'f'], ['f']]))]),
      () => [{ kind: 'delete-task', runKey, slot }],
      () => [{ kind: 'keep-event', runKey, event: keptEvent(++this.events) }],
      () => [{ kind: 'record-attempt', runKey, attempt: sampleAttempt(1) }],
      () => [{ kind: 'put-flow-control', instanceId, flowControl: { key: 'k', parallelism: slot }, at: T0 }],
      () => [{ kind: this.oneOf(['park-tasks', 'delete-tasks'] as const), runKey }],
      () => {
        const child = this.oneOf(this.runs);
        return child.instanceId === instanceId ? putTasks(runKey, [invokeTask(slot, null, child.key)]) : [];
      },
      () => (this.random.chance(0.3) ? this.endOf(run) : []),
    ];
    return this.oneOf(kinds)();
  }

  private endOf({ key: runKey, instanceId }: Made): readonly StoreWrite[] {
    const emptied: StoreWrite = { kind: 'delete-tasks', runKey };
    if (this.random.chance(0.4)) return [emptied, ...failure({ ...sampleRun(1), key: runKey, instanceId })];
    const end = { kind: 'end-run', runKey, outcome: { status: 'succeeded', result: null }, completedAt: T0 } as const;
    return [emptied, end, { kind: 'wake-invoker', childRunKey: runKey, at: T0 + 5 }];
  }
}

if (typeof schemas === 'string') {
  describe('random batches', { skip: schemas }, () => {});
} else {
  const open = async (commits: Commits, make: () => RunVersions) => {
    const { url } = await schemas.make();
    await (await openPostgresStore({ url, log })).close();
    const database = new Database({ url, log });
    database.engine = await detectEngine(database, log);
    after(() => database.close());
    const nodes = NODES.map((node) => {
      const claiming = () => ({ claimant: `node ${node}`, now: T0 + 40 });
      return new BatchWriter(database, claiming, commits, { versions: make() });
    });
    const tables = async () => {
      const rows: [table: string, rows: readonly string[]][] = [];
      for (const [table, columns] of Object.entries(TABLES)) {
        const found = await database.query(unpreparedStatement(`SELECT ${columns} FROM ${table}`));
        rows.push([table, found.map((row) => JSON.stringify(row)).sort()]);
      }
      return rows;
    };
    return { nodes, tables };
  };

  describe('random batches', () => {
    for (const commits of IS_ON_CLUSTER ? (['by-instance'] as const) : (['together', 'by-instance'] as const)) {
      test(`optimistic commits have the same results as commits that read, ${commits}`, async () => {
        const choices = new Choices(SEED);
        const made: AlwaysExpecting[] = [];
        const expecting = await open(commits, () => {
          const versions = new AlwaysExpecting();
          made.push(versions);
          return versions;
        });
        const reading = await open(commits, () => new AlwaysReading());
        for (let n = 0; n < BATCHES; n++) {
          const node = n % NODES.length;
          const batch = choices.batch(node);
          const units = batch.map(({ unit }) => unit);
          const outcomes = await Promise.allSettled([expecting, reading].map(({ nodes }) => nodes[node]?.commit(units)));
          const [first, second] = outcomes.map((outcome) =>
            // Shards of different schemas have different numbers.
            outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason).replace(/_\d+"$/, '"'),
          );
          assert.deepEqual(first, second, JSON.stringify(units));
          for (const [index, { applied }] of batch.entries()) {
            if (typeof first === 'object' && first[index]?.kind === 'applied') applied();
          }
          choices.synchronize(typeof first !== 'object' || first.some(({ kind }) => kind !== 'applied'));
        }
        assert.deepEqual(await expecting.tables(), await reading.tables());
        const [expected, conflicts] = [
          made.reduce((sum, one) => sum + one.expected, 0),
          made.reduce((sum, one) => sum + one.conflicts, 0),
        ];
        assert.ok(expected > BATCHES / 10 && conflicts > 0, `${expected} expected, ${conflicts} conflicts`);
      });
    }
  });
}
