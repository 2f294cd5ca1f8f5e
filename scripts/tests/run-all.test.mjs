import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEndToEnd, needsRoom, startsProcesses } from './lanes.mjs';
import { reportOf, reportOfUnsteady } from './report.mjs';
import { runAll } from './run-all.mjs';
import { Tally } from './tally.mjs';

const UNIT = 'packages/a/src/x.test.ts';
const REAL = 'packages/a/src/end-to-end/crash.test.ts';
const OTHER = 'packages/a/src/end-to-end/other.test.ts';
const testOf = (source) => ({ source, file: `/r/${source}` });

/** Runs files that only exist here. `outcomes`: by source, for each run of it the outcome of each test in it. */
async function runPlayed(outcomes) {
  const ran = [];
  const result = await runAll(Object.keys(outcomes).map(testOf), '/r', async (played, root) => {
    const tally = new Tally([played], root);
    ran.push(played.source);
    await new Promise((resolve) => setImmediate(resolve));
    const now = outcomes[played.source][ran.filter((source) => source === played.source).length - 1];
    for (const [name, outcome] of Object.entries(now)) {
      const details = { duration_ms: 1, ...(outcome === 'fail' ? { error: new Error(`${name} broke`) } : {}) };
      const event = { name, file: played.file, nesting: 0, details, ...(outcome === 'skip' ? { skip: true } : {}) };
      tally.add(outcome === 'fail' ? 'test:fail' : 'test:pass', event);
    }
    return tally;
  });
  const { passed, failed, skipped } = result.tally;
  return { ...result, ran, counts: { passed, failed, skipped } };
}

test('an end-to-end file that failed and passes alone, after all others, has passed', async () => {
  const first = { kills: 'fail', restarts: 'pass' };
  const { ran, counts, unsteady } = await runPlayed({
    [REAL]: [first, { kills: 'pass', restarts: 'pass' }],
    [OTHER]: [{ one: 'pass' }],
    [UNIT]: [{ two: 'pass' }],
  });
  assert.deepEqual([ran.length, ran.at(-1)], [4, REAL]);
  assert.deepEqual(counts, { passed: 4, failed: 0, skipped: 0 });
  assert.deepEqual(
    unsteady.map(({ source, failures }) => [source, failures.map(({ name }) => name)]),
    [[REAL, ['kills']]],
  );
});

test('one that fails again has failed, once, and is not called unsteady', async () => {
  const { tally, counts, unsteady } = await runPlayed({ [REAL]: [{ kills: 'fail' }, { kills: 'fail' }] });
  assert.deepEqual(counts, { passed: 0, failed: 1, skipped: 0 });
  assert.deepEqual(unsteady, []);
  assert.ok(reportOf(tally).some((line) => line.includes('--- kills') && line.includes('kills broke')));
});

test('one that fails in another test the second time has failed', async () => {
  const { counts, unsteady } = await runPlayed({
    [REAL]: [
      { kills: 'fail', restarts: 'pass' },
      { kills: 'pass', restarts: 'fail' },
    ],
  });
  assert.deepEqual(counts, { passed: 1, failed: 1, skipped: 0 });
  assert.deepEqual(unsteady, []);
});

test('what is skipped, or not reported at all, the second time has not passed', async () => {
  for (const second of [{ kills: 'skip', restarts: 'pass' }, { restarts: 'pass' }, {}]) {
    const { counts } = await runPlayed({ [REAL]: [{ kills: 'fail', restarts: 'pass' }, second] });
    assert.deepEqual(counts, { passed: 1, failed: 1, skipped: 0 });
  }
});

test('no other file gets a second chance', async () => {
  const { ran, counts } = await runPlayed({ [UNIT]: [{ adds: 'fail' }, { adds: 'pass' }] });
  assert.deepEqual(ran, [UNIT]);
  assert.deepEqual(counts, { passed: 0, failed: 1, skipped: 0 });
});

test('an end-to-end file without tests is told as such', async () => {
  const { tally, ran } = await runPlayed({ [REAL]: [{}] });
  assert.deepEqual([ran, tally.silent()], [[REAL], [REAL]]);
});

test('the report names what failed at first, where, and with what error; and says nothing otherwise', async () => {
  const { unsteady } = await runPlayed({ [REAL]: [{ kills: 'fail' }, { kills: 'pass' }] });
  const text = reportOfUnsteady(unsteady).join('\n');
  for (const part of ['!!! UNSTEADY: 1 failed at first', REAL, '--- kills', 'Error: kills broke', 'is a bug'])
    assert.ok(text.includes(part), `${part} in ${text}`);
  assert.deepEqual(reportOfUnsteady([]), []);
});

test('a file of suites that two test files run is counted for both', async () => {
  const all = new Tally([testOf(UNIT), testOf(OTHER)], '/r');
  for (const source of [UNIT, OTHER]) {
    const one = new Tally([testOf(source)], '/r');
    one.add('test:pass', { name: 'shared', file: '/r/packages/a/dist/suite.js', nesting: 0, details: { duration_ms: 2 } });
    all.include(one);
  }
  assert.equal(all.passed, 2);
  assert.deepEqual([...all.files.values()], [{ passed: 2, failed: 0, skipped: 0, durationMs: 4 }]);
});

test('two run at once while there are two, of those that need room one, and of those that start processes one while there are others', async () => {
  const nodes = 'packages/a/src/end-to-end/nodes-ending.test.ts';
  const sources = [
    REAL,
    nodes,
    OTHER,
    'packages/a/src/cli/service.test.ts',
    UNIT,
    'b.test.ts',
    'c.test.ts',
    'd.test.ts',
    'e.test.ts',
  ];
  const running = new Set();
  const seen = [];
  await runAll(sources.map(testOf), '/r', async ({ source, file }, root) => {
    running.add(source);
    seen.push([...running]);
    await new Promise((resolve) => setImmediate(resolve));
    running.delete(source);
    return new Tally([{ source, file }], root);
  });
  assert.equal(seen.length, sources.length);
  for (const together of seen) assert.ok(together.length <= 2 && together.filter(needsRoom).length <= 1, together.join());
  const lastOther = seen.findLastIndex((together) => !startsProcesses(together.at(-1)));
  for (const together of seen.slice(0, lastOther)) assert.ok(together.filter(startsProcesses).length <= 1, together.join());
  assert.ok(seen.filter(({ length }) => length === 2).length >= sources.length - 2);
});

test('paths of every system are told apart alike', () => {
  assert.ok(isEndToEnd(REAL) && isEndToEnd(REAL.replaceAll('/', '\\')) && !isEndToEnd('packages/a/src/my-end-to-end/x.test.ts'));
  assert.ok(startsProcesses(OTHER) && !startsProcesses('packages/a/src/end-to-end/guides-operating.test.ts'));
  assert.ok(needsRoom(REAL) && !needsRoom(OTHER));
  assert.ok(startsProcesses('scripts/deploy/image.test.mjs') && !startsProcesses('scripts/deploy/manifests.test.mjs'));
});
