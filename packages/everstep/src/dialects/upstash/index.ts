/** The spelling of the published SDKs `@upstash/workflow` and `@upstash/qstash`. */
import { createDialect } from '../dialect.js';
import { sentAnyway } from './sent-anyway.js';
import { upstashSteps } from './step-codec.js';
import { readCarriedToken } from './token.js';
import { HEADERS, PREFIX, reserves } from './wire.js';

export { carryToken } from './token.js';

export const upstash = createDialect({
  name: 'upstash',
  prefix: PREFIX,
  tokenParameter: 'qstash_token',
  // Of DELETE /v2/workflows/runs, and of one run, with which the SDK sends no header of its own.
  ownParameters: ['cancel', 'workflowRunIds'],
  issuer: 'Upstash',
  regionHeader: HEADERS.region,
  unwantedHeader: HEADERS.failureFunctionMissing,
  steps: upstashSteps,
  reserves,
  ignores: sentAnyway,
  readToken: readCarriedToken,
});
