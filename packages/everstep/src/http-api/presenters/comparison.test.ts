import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RecordedStep, Redaction } from '../../engine/runs/run.js';
import type { FullRunRecord } from '../../ports/stores/store.js';
import { type ComparedRun, comparisonOf } from './comparison.js';

const RUN: FullRunRecord = {
  key: 'k',
  instanceId: 'qi_1',
  workflowRunId: 'left',
  createdAt: 1,
  dialect: 'native',
  workflowUrl: 'http://app/flow',
  callerIp: '',
  origin: null,
  settings: { maxRetries: 0, retryDelay: null, deliveryTimeoutMs: 1, labels: [], flowControl: null, failureCallback: null },
  status: 'succeeded',
  completedAt: 2,
  result: '"ok"',
  error: null,
  dlqId: null,
  recoveredAs: null,
};

const step = (stepId: number, name: string, out: unknown = stepId, more: Partial<RecordedStep> = {}): RecordedStep => ({
  index: stepId - 1,
  stepId,
  name,
  type: 'Run',
  out: out === undefined ? null : JSON.stringify(out),
  messageId: `msg_${stepId}`,
  group: stepId,
  concurrent: 1,
  createdAt: 1,
  completedAt: 1,
  sleepMs: null,
  wakeAt: null,
  ...more,
});
interface Side {
  readonly run?: Partial<FullRunRecord>;
  readonly body?: string;
  readonly redact?: Redaction;
}
const side = (steps: readonly RecordedStep[], { run = {}, body = '{"n":1}', redact }: Side = {}): ComparedRun => ({
  run: { ...RUN, ...run, settings: { ...RUN.settings, ...(redact ? { redact } : {}) } },
  steps,
  outOf: async ({ out }) => out,
  payload: { body: Buffer.from(body), contentType: 'application/json', forwardHeaders: { 'x-a': 'b' } },
});
const first = async (left: ComparedRun, right: ComparedRun) => (await comparisonOf(left, right)).firstDifference;
const failed = { status: 'failed', error: 'no stock', result: null } as const;

describe('the first difference between two runs', () => {
  const both = [step(1, 'a'), step(2, 'b', { total: 5, items: [{ price: 1 }] })];

  test('is null for equal runs, whatever the order of names in objects', async () => {
    const { firstDifference, steps } = await comparisonOf(
      side(both),
      side([both[0] ?? assert.fail(), step(2, 'b', { items: [{ price: 1 }], total: 5 })]),
    );
    assert.equal(firstDifference, null);
    assert.deepEqual(
      steps.map(({ same, stepName, left }) => [same, stepName, left?.out]),
      [
        [true, 'a', undefined],
        [true, 'b', undefined],
      ],
    );
  });

  test('is the input, with the path of the difference', async () => {
    const found = await first(side(both, { body: '{"n":2}' }), side([]));
    assert.deepEqual([found?.kind, found?.index, found?.left, found?.right], ['input', null, '2', '1']);
    assert.match(found?.message ?? '', /at \.body\.n$/);
  });

  test('is followed by others: a different result and the failed step', async () => {
    const { firstDifference, differences } = await comparisonOf(
      side([step(1, 'a', 2)], { body: '{"n":2}', run: failed }),
      side([step(1, 'a'), step(2, 'b'), step(3, 'c')]),
    );
    assert.deepEqual(
      differences.map(({ kind, index }) => [kind, index]),
      [
        ['input', null],
        ['result', 0],
        ['length', 1],
      ],
    );
    assert.deepEqual(firstDifference, differences[0]);
    assert.match(differences[2]?.message ?? '', /it failed: no stock$/);
    assert.deepEqual((await comparisonOf(side(both), side(both))).differences, []);
  });

  test('is in an id only if nothing else differs', async () => {
    const run = (id: number, price: number) =>
      side([step(1, 'load', { orderId: id }), step(2, 'price', { id, price })], { body: JSON.stringify({ id, paid: true }) });
    const { differences } = await comparisonOf(run(1, 5), run(2, 6));
    assert.deepEqual(
      differences.map(({ kind, index, left, right }) => [kind, index, left, right]),
      [
        ['result', 1, '5', '6'],
        ['input', null, '1', '2'],
      ],
    );
    const onlyIds = await comparisonOf(run(1, 5), run(2, 5));
    assert.deepEqual(
      onlyIds.differences.map(({ kind, index }) => [kind, index]),
      [
        ['input', null],
        ['result', 0],
      ],
    );
  });

  test('is a result, with the path of the difference', async () => {
    const found = await first(side(both), side([step(1, 'a'), step(2, 'b', { total: 5, items: [{ price: 2 }] }), step(3, 'c')]));
    assert.deepEqual(found, {
      kind: 'result',
      index: 1,
      left: '1',
      right: '2',
      message: 'step 2 (Run "b") has different results at .items[0].price',
    });
    assert.deepEqual(
      (await first(side([step(1, 'a')]), side([step(1, 'a', 1, { out: null })])))?.right,
      null,
      'one has no result',
    );
  });

  test('is the missing step of a failed run, with its error', async () => {
    const found = await first(side(both.slice(0, 1), { run: failed }), side(both));
    assert.deepEqual([found?.kind, found?.index, found?.left, found?.right], ['length', 1, null, 'step 2 (Run "b")']);
    assert.match(found?.message ?? '', /the left run has no step .* it failed: no stock/);
  });

  test('is a step that only one run has', async () => {
    const found = await first(side([step(1, 'a'), step(2, 'new'), step(3, 'b', 2)]), side([step(1, 'a'), step(2, 'b')]));
    assert.deepEqual([found?.kind, found?.index], ['step', 1]);
    assert.match(found?.message ?? '', /the left run continues with step 2 \(Run "new"\), the right run with step 2 \(Run "b"\)/);
    const other = await first(side([step(1, 'a'), step(2, 'b')]), side([step(1, 'a', 1, { type: 'Call' }), step(2, 'b')]));
    assert.deepEqual([other?.kind, other?.index], ['step', 0]);
  });

  test('ignores the recorded order of parallel branches', async () => {
    const left = side([step(1, 'x1', 1), step(2, 'y1', 2), step(3, 'x2', 3), step(4, 'y2', 4)]);
    const right = side([step(1, 'x1', 1), step(2, 'y1', 2), step(3, 'y2', 4), step(4, 'x2', 3)]);
    assert.equal(await first(left, right), null);
    const loops = (values: number[]) => side(values.map((value, at) => step(at + 1, 'turn', value)));
    assert.equal(
      (await first(loops([1, 2, 3]), loops([1, 9, 3])))?.index,
      1,
      'steps of the same name are matched by their order',
    );
  });

  test('is the outcome when everything else is equal', async () => {
    const found = await first(side(both, { run: failed }), side(both));
    assert.deepEqual([found?.kind, found?.left, found?.right], ['outcome', '"RUN_FAILED"', '"RUN_SUCCESS"']);
    assert.equal((await first(side(both, { run: { result: '1' } }), side(both)))?.kind, 'outcome');
  });

  test('is truncated when it is long', async () => {
    const found = await first(side([step(1, 'a', 'x'.repeat(100_000))]), side([step(1, 'a', 'y')]));
    assert.ok((found?.left ?? '').length < 3_000);
  });
});

test('a value that one run redacts is redacted in both and counts as equal', async () => {
  const redact: Redaction = { body: false, headers: ['x-a'], fields: ['pin'] };
  const left = side([step(1, 'a', { pin: 1, ok: true })], { redact, body: '{"pin":1}' });
  for (const pin of [1, 2]) {
    const compared = await comparisonOf(left, side([step(1, 'a', { pin, ok: true })], { body: `{"pin":${pin}}` }));
    assert.equal(compared.firstDifference, null);
    assert.equal(compared.steps[0]?.same, true);
  }
  const other = await comparisonOf(side([step(1, 'a', { pin: 7, ok: false })], { body: '{"pin":7}' }), left);
  assert.ok(!JSON.stringify(other).includes('7'));
  assert.equal(other.firstDifference?.message, 'step 1 (Run "a") has different results at .ok');
});

test('marks an edited result', async () => {
  const { steps } = await comparisonOf(side([step(1, 'a', 2, { edited: true })]), side([step(1, 'a', 1)]));
  assert.deepEqual(steps[0]?.left, { stepId: 1, out: '2', edited: true });
});

test('compares bytes and text that is not JSON', async () => {
  assert.equal((await first(side([], { body: 'a' }), side([], { body: 'b' })))?.kind, 'input');
  const bytes = (value: number): ComparedRun => ({
    ...side([]),
    payload: { ...side([]).payload, body: Uint8Array.from([0xff, value]) },
  });
  assert.equal((await first(bytes(1), bytes(2)))?.kind, 'input');
  assert.equal(await first(bytes(1), bytes(1)), null);
});
