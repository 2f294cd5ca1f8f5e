import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RunJournal } from '../../../../../everstep/src/contract/runs.js';
import type { Outcome } from '../../../api/outcome.js';
import { isEnded, readJournal } from './journal-pages.js';

const JOURNAL: RunJournal = {
  workflowRunId: 'wfr_1',
  workflowUrl: 'http://w.test/order',
  workflowState: 'RUN_STARTED',
  workflowRunCreatedAt: 0,
  workflowCreatedAt: 0,
  callerIP: '::1',
  labels: [],
  maxRetries: 3,
  timeoutMs: 60_000,
  steps: [],
  tasks: [],
  attempts: [],
};
const step = (stepId: number): RunJournal['steps'][number] => ({
  ...{ stepId, stepName: `step-${stepId}`, stepType: 'Run', messageId: `msg_${stepId}` },
  ...{ group: stepId, concurrent: 1, createdAt: 0, completedAt: 1 },
});
const idsOf = (outcome: Outcome<RunJournal>) =>
  outcome.ok ? outcome.value.steps.map(({ stepId }) => stepId) : outcome.failure.code;

/** Serves a journal of `steps` steps in pages of two; the cursor is the number of steps before the page. */
function server(steps: number) {
  const asked: (string | undefined)[] = [];
  const read = async (cursor: string | undefined): Promise<Outcome<RunJournal>> => {
    asked.push(cursor);
    const from = Number(cursor ?? 0);
    const page = Array.from({ length: Math.min(2, steps - from) }, (_, n) => step(from + n + 1));
    const input = cursor === undefined ? { input: { header: {}, body: 'in' } } : {};
    return {
      ok: true,
      value: { ...JOURNAL, ...input, steps: page, cursor: String(from + page.length), complete: from + page.length === steps },
    };
  };
  return { asked, read, grow: (more: number) => (steps += more) };
}

describe('the journal of a page', () => {
  test('is read in pages, and later only what was added is requested', async () => {
    const { asked, read, grow } = server(3);
    const first = await readJournal(null, 100, read);
    assert.deepEqual(idsOf(first), [1, 2, 3]);
    assert.deepEqual(asked.splice(0), [undefined, '2']);
    grow(2);
    const second = await readJournal(first.ok ? first.value : null, 100, read);
    assert.deepEqual(idsOf(second), [1, 2, 3, 4, 5]);
    assert.equal(second.ok && second.value.input?.body, 'in');
    assert.deepEqual(asked, ['3']);
  });

  test('of a very long run is read up to a limit', async () => {
    const { read } = server(9);
    assert.deepEqual(idsOf(await readJournal(null, 4, read)), [1, 2, 3, 4]);
  });

  test('is read again from the start when the cursor belongs to another run', async () => {
    const { read } = server(2);
    const refusing = async (cursor: string | undefined): Promise<Outcome<RunJournal>> =>
      cursor === undefined
        ? read(cursor)
        : { ok: false, failure: { code: 'bad-cursor', status: 400, text: 'no', retryAfterMs: null } };
    assert.deepEqual(idsOf(await readJournal({ ...JOURNAL, cursor: 'old', steps: [step(9)] }, 100, refusing)), [1, 2]);
  });

  test('is final when the run and its failure callback have ended', () => {
    assert.equal(isEnded(JOURNAL), false);
    assert.equal(isEnded({ ...JOURNAL, workflowState: 'RUN_SUCCESS' }), true);
    const failureFunctionInfo = { state: 'CALLBACK_INPROGRESS', url: '', retried: 0, errors: [] } as const;
    assert.equal(
      isEnded({ ...JOURNAL, workflowState: 'RUN_FAILED', failureFunctionInfo: { ...failureFunctionInfo, errors: [] } }),
      false,
    );
  });
});
