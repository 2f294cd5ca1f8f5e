/** The reply of an endpoint whose step throws an error with a cause. */
import type { FailedReply } from '@everstep/sdk/protocol';
import type { StepCall, StepOutcome } from '../../ports/step-caller.js';

/** The error, as the SDK reports it. */
export const THROWN_ERROR: FailedReply['error'] = {
  name: 'Error',
  message: 'charge of order 17 failed',
  stack: 'Error\nat query (/srv/app/node_modules/pg/client.js:1:2)\nat charge (/srv/app/src/charge.js:7:13)',
  causes: [
    { name: 'error', message: 'column "email" does not exist', code: '42703', stack: 'at parse (/srv/app/src/sql.js:3:4)' },
  ],
  source: { file: 'src/charge.js', line: 7, column: 13, function: 'charge', code: 'throw new Error(text, { cause });' },
};

/** Replies to a call: step 1 throws an error that is not retried. */
export function thrownReply({ request }: StepCall): StepOutcome {
  const reply: FailedReply = {
    ...{ protocol: 1, kind: 'failed', base: request.journal.length, done: [] },
    step: { stepId: 1, name: 'charge order 17', type: 'Run' },
    error: THROWN_ERROR,
    retry: { kind: 'never' },
  };
  return { kind: 'reply', reply, status: 489, responseHeaders: {}, responseBody: Buffer.from(JSON.stringify(reply)) };
}
