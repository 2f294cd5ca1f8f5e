import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { isHeavy, startsProcesses } from './lanes.mjs';
import { reportOf } from './report.mjs';
import { runAll } from './run-all.mjs';
import { Tally } from './tally.mjs';

const UNIT = 'packages/a/src/x.test.ts';
const REAL = 'packages/a/src/end-to-end/durability/crash.test.ts';
const OTHER = 'packages/a/src/end-to-end/other.test.ts';
const unitOf = (source, seconds = 1) => ({ source, seconds, tests: [{ source, file: `/r/${source}` }] });
const testOf = (source) => unitOf(source).tests[0];

/** Runs simulated files. `outcomes`: the outcome of each test, by source. */
async function runPlayed(outcomes) {
  const ran = [];
  const tally = await runAll(
    Object.keys(outcomes).map((source) => unitOf(source)),
    '/r',
    async ({ tests: [played] }, root) => {
      const own = new Tally([played], root);
      ran.push(played.source);
      await new Promise((resolve) => setImmediate(resolve));
      for (const [name, outcome] of Object.entries(outcomes[played.source])) {
        const details = { duration_ms: 1, ...(outcome === 'fail' ? { error: new Error(`${name} broke`) } : {}) };
        const event = { name, file: played.file, nesting: 0, details, ...(outcome === 'skip' ? { skip: true } : {}) };
        own.add(outcome === 'fail' ? 'test:fail' : 'test:pass', event);
      }
      return own;
    },
  );
  const { passed, failed, skipped } = tally;
  return { tally, ran, counts: { passed, failed, skipped } };
}

test('every file runs once, and a failed test fails the run', async () => {
  const { tally, ran, counts } = await runPlayed({
    [REAL]: { kills: 'fail', restarts: 'pass' },
    [OTHER]: { one: 'skip' },
    [UNIT]: { two: 'pass' },
  });
  assert.deepEqual(ran.sort(), [OTHER, REAL, UNIT].sort());
  assert.deepEqual(counts, { passed: 2, failed: 1, skipped: 1 });
  assert.ok(reportOf(tally).some((line) => line.includes('--- kills') && line.includes('kills broke')));
});

test('a file without tests is reported', async () => {
  const { tally } = await runPlayed({ [REAL]: {}, [UNIT]: { two: 'pass' } });
  assert.deepEqual(tally.filesWithoutResults(), [REAL]);
});

test('a suite file used by two test files counts for both', async () => {
  const all = new Tally([testOf(UNIT), testOf(OTHER)], '/r');
  for (const source of [UNIT, OTHER]) {
    const one = new Tally([testOf(source)], '/r');
    one.add('test:pass', { name: 'shared', file: '/r/packages/a/dist/suite.js', nesting: 0, details: { duration_ms: 2 } });
    all.include(one);
  }
  assert.equal(all.passed, 2);
  assert.deepEqual([...all.files.values()], [{ passed: 2, failed: 0, skipped: 0, durationMs: 4 }]);
});

test('two files run at once, then three; only one heavy file and one file that starts processes run at a time', async () => {
  const nodes = 'packages/a/src/end-to-end/nodes/ending.test.ts';
  const sources = [
    REAL,
    nodes,
    OTHER,
    'packages/a/src/cli/commands/installation/server.test.ts',
    UNIT,
    'b.test.ts',
    'c.test.ts',
    'd.test.ts',
    'e.test.ts',
  ];
  const running = new Set();
  const seen = [];
  await runAll(
    sources.map((source) => unitOf(source)),
    '/r',
    async ({ source, tests }, root) => {
      running.add(source);
      seen.push([...running]);
      await new Promise((resolve) => setImmediate(resolve));
      running.delete(source);
      return new Tally(tests, root);
    },
  );
  assert.equal(seen.length, sources.length);
  const lastWithHeavy = seen.findLastIndex((together) => isHeavy(together.at(-1)));
  for (const [at, together] of seen.entries()) {
    const most = at <= lastWithHeavy || availableParallelism() === 1 ? 2 : 3;
    assert.ok(together.length <= most && together.filter(isHeavy).length <= 1, together.join());
  }
  const lastOther = seen.findLastIndex((together) => !startsProcesses(together.at(-1)));
  for (const together of seen.slice(0, lastOther)) assert.ok(together.filter(startsProcesses).length <= 1, together.join());
  assert.ok(seen.filter(({ length }) => length >= 2).length >= sources.length - 2);
});

test('the longest units start first', async () => {
  const started = [];
  const units = [unitOf('a.test.ts', 1), unitOf('b.test.ts', 9), unitOf('c.test.ts', 5)];
  await runAll(units, '/r', async ({ source, tests }, root) => {
    started.push(source);
    return new Tally(tests, root);
  });
  assert.deepEqual(started, ['b.test.ts', 'c.test.ts', 'a.test.ts']);
});

test('paths of every operating system are classified alike', () => {
  assert.ok(startsProcesses(REAL) && startsProcesses(REAL.replaceAll('/', '\\')));
  assert.ok(startsProcesses(OTHER) && !startsProcesses('packages/a/src/end-to-end/guides/guides-operating.test.ts'));
  assert.ok(isHeavy(REAL) && !isHeavy(OTHER));
  assert.ok(startsProcesses('scripts/deploy/image.test.mjs') && !startsProcesses('scripts/deploy/manifests.test.mjs'));
});
