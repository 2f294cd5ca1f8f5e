import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RunAttempts } from '../../../contract/attempts.js';
import type { DeadLetterGroupPage } from '../../../contract/dead-letter-groups.js';
import type { DeadLetterEntry } from '../../../contract/dead-letters.js';
import type { ThrownError } from '../../../contract/fields/thrown-error.js';
import type { RunJournal, RunLogEntry } from '../../../contract/runs.js';
import { ApiHarness } from '../../testing/api-harness.js';
import { THROWN_ERROR } from '../../testing/thrown-reply.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const SHOWN: ThrownError = {
  source: { file: 'src/charge.js', line: 7, column: 13, function: 'charge', code: 'throw new Error(text, { cause });' },
  stack: [
    { text: 'at query (/srv/app/node_modules/pg/client.js:1:2)', own: false },
    { text: 'at charge (/srv/app/src/charge.js:7:13)', own: true },
  ],
  causes: [
    {
      name: 'error',
      message: 'column "email" does not exist',
      code: '42703',
      stack: [{ text: 'at parse (/srv/app/src/sql.js:3:4)', own: true }],
    },
  ],
};

test('the causes, the stack and the source of an error are in the log, the journal, the attempts and the dead letter', async () => {
  const [dlqId = ''] = await harness.fail(1, { 'svc-workflow-runid': 'thrown' }, 'throws');
  const get = async <Body>(path: string) => (await harness.call<Body>('GET', `/v2/workflows/${path}`)).body;
  const entry = await get<DeadLetterEntry>(`dlq/${dlqId}`);
  const message = `Error: ${THROWN_ERROR.message}`;
  assert.deepEqual(entry.failedBy, { stepName: 'charge order 17', message, thrown: SHOWN });
  const journal = await get<RunJournal>('runs/thrown');
  assert.deepEqual(journal.attempts[0]?.thrown, SHOWN);
  const { attempts } = await get<RunAttempts>('runs/thrown/attempts');
  assert.deepEqual(attempts[0]?.thrown, SHOWN);
  const log = await get<{ readonly runs: readonly RunLogEntry[] }>('logs?workflowRunId=thrown');
  const errors = log.runs[0]?.steps.flatMap(({ steps }) => steps.flatMap((step) => step.errors ?? []));
  assert.deepEqual(
    errors?.map(({ thrown }) => thrown),
    [SHOWN],
  );
});

test('a group shows how its newest entry failed, without placeholders', async () => {
  const [dlqId = ''] = await harness.fail(1, {}, 'throws');
  const group = (await harness.call<DeadLetterGroupPage>('GET', '/v2/workflows/dlq/groups')).body.groups.find(
    ({ exampleDlqId }) => exampleDlqId === dlqId,
  );
  assert.deepEqual([group?.stepName, group?.message], ['charge order #', 'Error: charge of order # failed']);
  assert.deepEqual(group?.latest, {
    message: 'Error: charge of order 17 failed',
    stepName: 'charge order 17',
    source: { file: 'src/charge.js', line: 7, column: 13, function: 'charge', code: 'throw new Error(text, { cause });' },
  });
});
