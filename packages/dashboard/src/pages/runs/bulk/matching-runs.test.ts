import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FoundRun, RunSearchPage } from '../../../../../everstep/src/contract/runs.js';
import type { Outcome } from '../../../api/outcome.js';
import { actOnAllRuns, cancellationOf, findMatchingRuns, limitRuns } from './matching-runs.js';

const run = (n: number): FoundRun => ({
  ...{ workflowRunId: `run-${n}`, workflowUrl: 'http://w.test/order', workflowState: 'RUN_STARTED', callerIP: '::1' },
  ...{ workflowRunCreatedAt: n, labels: [] },
});
const all = () => true;

/** Serves `count` runs in pages of `size`. */
const server =
  (count: number, size = 2) =>
  async (cursor: string | undefined): Promise<Outcome<RunSearchPage>> => {
    const from = Number(cursor ?? 0);
    const runs = Array.from({ length: Math.min(size, count - from) }, (_, n) => run(from + n));
    const next = from + runs.length < count ? { cursor: String(from + runs.length) } : {};
    return { ok: true, value: { runs, searchedUntil: null, complete: next.cursor === undefined, ...next } };
  };
const idsIn = async (max: number, isWanted: (run: FoundRun) => boolean, count: number) => {
  const outcome = await findMatchingRuns(max, isWanted, server(count));
  if (!outcome.ok) return outcome.failure;
  const { runs, hasMore } = limitRuns(outcome.value, max);
  return [runs.map(({ workflowRunId }) => workflowRunId).join(), hasMore];
};

describe('the plan of a bulk action', () => {
  test('contains all matching runs, or says that there are more', async () => {
    assert.deepEqual(await idsIn(10, all, 3), ['run-0,run-1,run-2', false]);
    assert.deepEqual(await idsIn(3, all, 3), ['run-0,run-1,run-2', false]);
    assert.deepEqual(await idsIn(2, all, 3), ['run-0,run-1', true]);
    assert.deepEqual(await idsIn(3, all, 4), ['run-0,run-1,run-2', true]);
    assert.deepEqual(await idsIn(10, ({ workflowRunCreatedAt }) => workflowRunCreatedAt > 3, 5), ['run-4', false]);
  });

  test('ends after a limited number of requests', async () => {
    const outcome = await findMatchingRuns(10, () => false, server(1_000));
    assert.deepEqual(outcome, { ok: true, value: { runs: [], hasMore: true, cursor: '40' } });
  });

  test('shows a failure of the search', async () => {
    const failure = { code: 'unavailable', status: 503, text: 'no', retryAfterMs: null };
    assert.deepEqual(await findMatchingRuns(10, all, async () => ({ ok: false, failure })), { ok: false, failure });
  });
});

describe('a bulk action', () => {
  const failure = { code: 'unavailable', status: 503, text: 'no', retryAfterMs: null };
  // Pages of 7: the last page of each plan has more runs than the plan needs.
  const next = (cursor: string) => findMatchingRuns(120, all, server(600, 7), cursor);
  const first = async () => {
    const outcome = await findMatchingRuns(120, all, server(600, 7));
    assert.ok(outcome.ok);
    return outcome.value;
  };

  test('sends the ids of all matching runs in batches, page after page', async () => {
    const sent: string[] = [];
    const sums: number[] = [];
    const act = async (batch: readonly FoundRun[]): Promise<Outcome<number>> => {
      assert.ok(batch.length <= 100);
      sent.push(...batch.map(({ workflowRunId }) => workflowRunId));
      return { ok: true, value: batch.length - 1 };
    };
    const outcome = await actOnAllRuns(
      await first(),
      act,
      next,
      () => false,
      (sum) => sums.push(sum),
    );
    assert.equal(new Set(sent).size, 600);
    assert.deepEqual(outcome, { ok: true, value: sums.at(-1) });
  });

  test('does not cancel a later run with the id of a run that has ended', () => {
    assert.deepEqual(cancellationOf([run(5), run(3)]), { workflowRunIds: ['run-5', 'run-3'], toDate: 5 });
  });

  test('stops at a failure, and on request', async () => {
    let calls = 0;
    const act = async (batch: readonly FoundRun[]): Promise<Outcome<number>> =>
      ++calls > 3 ? { ok: false, failure } : { ok: true, value: batch.length };
    assert.equal(
      (
        await actOnAllRuns(
          await first(),
          act,
          next,
          () => false,
          () => {},
        )
      ).ok,
      false,
    );
    assert.equal(calls, 4);
    calls = 0;
    assert.equal(
      (
        await actOnAllRuns(
          await first(),
          act,
          next,
          () => calls === 2,
          () => {},
        )
      ).ok,
      true,
    );
    assert.equal(calls, 2);
  });
});
