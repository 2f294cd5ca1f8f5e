/** Tests large responses: the data that they omit, where they end, and how much they read at a time. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import type { RunAttempts } from '../../../contract/attempts.js';
import type { RunComparison } from '../../../contract/run-tools.js';
import type { JournalStep, LoggedStep, RunJournal, RunLogEntry } from '../../../contract/runs.js';
import type { Part } from '../../../ports/stores/store.js';
import {
  apply,
  creation,
  failure,
  invokeTask,
  putTasks,
  sampleRun,
  sampleStep,
  T0,
} from '../../../stores/conformance/samples.js';
import { ReadBudget } from '../../admission/read-budget.js';
import { ApiHarness } from '../../testing/api-harness.js';

const MiB = 1024 * 1024;
/** Paths of the native and the published client. */
const CLIENTS: readonly Readonly<Record<string, string>>[] = [{}, { 'upstash-telemetry-sdk': 'test' }];
const reads = new ReadBudget({ waitMs: 1 });
let harness: ApiHarness;
let runs = 0;

before(async () => {
  harness = await ApiHarness.open({ reads });
});
after(() => harness.close());

/** Creates a run that has ended, with results of the given size. */
async function longRun(outBytes: readonly number[], url = 'http://app.example/long'): Promise<string> {
  const run = sampleRun(++runs, { instanceId: 'qi_1', workflowRunId: `long-${runs}`, workflowUrl: url });
  await apply(harness.store, [creation(run)]);
  for (const [index, bytes] of outBytes.entries()) {
    const step = sampleStep(index, { out: JSON.stringify(String(index).repeat(bytes - 2)) });
    await apply(harness.store, [{ kind: 'record-step', runKey: run.key, step }]);
  }
  await apply(harness.store, [
    { kind: 'end-run', runKey: run.key, outcome: { status: 'succeeded', result: '1' }, completedAt: T0 },
  ]);
  return run.workflowRunId;
}

const logged = ({ steps }: RunLogEntry): readonly LoggedStep[] => steps.slice(1).flatMap((group) => group.steps);

/** Returns the longest texts that one call of the store returned while `work` ran. */
async function mostReadAtOnce(work: () => Promise<unknown>): Promise<number> {
  const { store } = harness;
  const original = store.listSteps;
  let max = 0;
  store.listSteps = async (query) => {
    const part: Part<{ readonly out: string | null }> = await original(query);
    max = Math.max(
      max,
      part.items.reduce((sum, { out }) => sum + (out?.length ?? 0), 0),
    );
    return original(query);
  };
  try {
    await work();
    return max;
  } finally {
    store.listSteps = original;
  }
}

test('returns a long journal completely, read in parts', async () => {
  const id = await longRun([100, MiB / 2, MiB / 2, 3 * MiB, 10, MiB / 2]);
  let body: RunJournal | undefined;
  const max = await mostReadAtOnce(async () => {
    ({ body } = await harness.call<RunJournal>('GET', `/v2/workflows/runs/${id}`));
  });
  assert.deepEqual(
    body?.steps.map(({ stepId, out }) => [stepId, out?.length]),
    [100, MiB / 2, MiB / 2, 3 * MiB, 10, MiB / 2].map((bytes, index) => [index + 1, bytes]),
  );
  assert.deepEqual(Object.keys(body ?? {}).slice(-3), ['steps', 'tasks', 'attempts']);
  assert.ok(max <= LIMITS.partBytes + 3 * MiB, `${max} bytes were read at a time`);
  assert.equal(reads.bytes, 0, 'the reserved memory is released');
});

test('a page of the log ends before a run that would make it too large, and the cursor continues', async () => {
  const url = 'http://app.example/page';
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.push(await longRun([4 * MiB, 2 * MiB], url));
  const path = `/v2/workflows/logs?workflowUrl=${encodeURIComponent(url)}`;
  for (const headers of CLIENTS) {
    const found: string[] = [];
    const pages: number[] = [];
    let cursor = '';
    do {
      const received = await harness.call<{ runs: RunLogEntry[]; cursor?: string }>('GET', `${path}&cursor=${cursor}`, {
        headers,
      });
      found.push(...received.body.runs.map(({ workflowRunId }) => workflowRunId));
      pages.push(received.body.runs.length);
      assert.ok(received.body.runs.every((run) => logged(run).every(({ outLeftOut }) => outLeftOut === undefined)));
      cursor = received.body.cursor ?? '';
    } while (cursor !== '');
    assert.deepEqual(found, ids.toReversed());
    assert.ok(pages.length > 1, `${pages}`);
  }
});

test('a run that is larger than a page omits results with their sizes, and each can be read separately', async () => {
  const url = 'http://app.example/one';
  const id = await longRun([7 * MiB, 7 * MiB, 7 * MiB, 100], url);
  const { body } = await harness.call<{ runs: RunLogEntry[] }>(
    'GET',
    `/v2/workflows/logs?workflowUrl=${encodeURIComponent(url)}`,
  );
  const steps = logged(body.runs[0] ?? assert.fail());
  assert.deepEqual(
    steps.map(({ out, outLeftOut }) => [out?.length, outLeftOut]),
    [
      [7 * MiB, undefined],
      [7 * MiB, undefined],
      [undefined, 7 * MiB],
      [100, undefined],
    ],
  );
  const step = await harness.call<JournalStep>('GET', `/v2/workflows/runs/${id}/steps/3`);
  assert.deepEqual([step.body.stepId, step.body.out?.length, step.body.outLeftOut], [3, 7 * MiB, undefined]);
  assert.equal((await harness.call('GET', `/v2/workflows/runs/${id}/steps/5`)).status, 404);
  const trimmed = await harness.call<{ runs: RunLogEntry[] }>(
    'GET',
    `/v2/workflows/logs?workflowUrl=${encodeURIComponent(url)}&trimBody=true`,
  );
  assert.ok(logged(trimmed.body.runs[0] ?? assert.fail()).every((each) => !('out' in each) && !('outLeftOut' in each)));
});

test('the log of the published client states the size of a result of an invoked run that does not fit', async () => {
  const workflowUrl = 'http://app.example/parent';
  const parent = sampleRun(++runs, { instanceId: 'qi_1', workflowRunId: 'parent', workflowUrl, dialect: 'upstash' });
  const { key: runKey, workflowRunId, createdAt: workflowCreatedAt } = parent;
  const origin = { kind: 'invoke', runKey, workflowRunId, workflowCreatedAt, stepId: 1, stepName: 'child', depth: 1 } as const;
  const child = sampleRun(++runs, { instanceId: 'qi_1', workflowRunId: 'child', dialect: 'upstash', origin });
  const result = JSON.stringify('x'.repeat(LIMITS.maxPageBytes / 2));
  await apply(harness.store, [
    creation(parent),
    ...putTasks(runKey, [invokeTask(1, null, child.key)]),
    creation(child),
    { kind: 'end-run', runKey: child.key, outcome: { status: 'succeeded', result }, completedAt: T0 },
    ...failure(parent),
  ]);
  const path = `/v2/workflows/logs?workflowUrl=${encodeURIComponent(workflowUrl)}`;
  const { body } = await harness.call<{ runs: RunLogEntry[] }>('GET', path, { headers: { 'upstash-telemetry-sdk': 'test' } });
  const [step] = logged(body.runs[0] ?? assert.fail());
  assert.deepEqual([step?.state, step?.out, step?.outLeftOut], ['STEP_SUCCESS', undefined, result.length]);
});

test('attempts and comparisons read results one part at a time', async () => {
  const [left, right] = [await longRun([2 * MiB, 2 * MiB, 100]), await longRun([2 * MiB, 2 * MiB + 1, 100])];
  let attempts: RunAttempts | undefined;
  let comparison: RunComparison | undefined;
  const max = await mostReadAtOnce(async () => {
    ({ body: attempts } = await harness.call<RunAttempts>('GET', `/v2/workflows/runs/${left}/attempts`));
    ({ body: comparison } = await harness.call<RunComparison>('GET', `/v2/workflows/runs/${left}/compare?with=${right}`));
  });
  assert.deepEqual(
    attempts?.attempts.map(({ stepId, response }) => [stepId, response?.bodyBytes, response?.body.length]),
    [
      [1, 2 * MiB, LIMITS.maxKeptAttemptBodyBytes],
      [2, 2 * MiB, LIMITS.maxKeptAttemptBodyBytes],
      [3, 100, 100],
    ],
  );
  assert.deepEqual(
    comparison?.steps.map(({ same }) => same),
    [true, false, true],
  );
  assert.ok((comparison?.firstDifference?.left?.length ?? Number.POSITIVE_INFINITY) < 3_000);
  assert.ok(max <= LIMITS.partBytes + 2 * MiB, `${max} bytes were read at a time`);
});

test('a page of dead letters ends before an entry that would make it too large', async () => {
  const body = new Uint8Array(LIMITS.maxPageBytes / 2 - 1000).fill(120);
  const added = [1, 2, 3].map(() => sampleRun(++runs, { instanceId: 'qi_1', workflowUrl: 'http://app.example/dead' }));
  for (const run of added)
    await apply(harness.store, [
      { kind: 'create-run', run, input: { body, contentType: null, forwardHeaders: {} } },
      ...failure(run),
    ]);
  for (const headers of CLIENTS) {
    const pages: number[] = [];
    let cursor = '';
    do {
      const path = `/v2/workflows/dlq?workflowUrl=${encodeURIComponent('http://app.example/dead')}&cursor=${cursor}`;
      const result = await harness.call<{ messages: readonly unknown[]; cursor?: string }>('GET', path, { headers });
      pages.push(result.body.messages.length);
      cursor = result.body.cursor ?? '';
    } while (cursor !== '');
    assert.deepEqual(pages, [2, 1]);
  }
});

test('rejects a large response that gets no memory in time with 503, but not a small one', async () => {
  const [long, short] = [await longRun([2 * MiB]), await longRun([100])];
  const release = await reads.take('qi_1', LIMITS.maxReadBytesOfOwner, new AbortController().signal);
  try {
    const refused = await harness.call('GET', `/v2/workflows/runs/${long}`);
    assert.deepEqual([refused.status, refused.headers['svc-error-code']], [503, 'unavailable']);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    assert.equal((await harness.call('GET', `/v2/workflows/runs/${short}`)).status, 200);
  } finally {
    release();
  }
  assert.equal((await harness.call('GET', `/v2/workflows/runs/${long}`)).status, 200);
});
