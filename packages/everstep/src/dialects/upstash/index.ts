/** Dialect of the published SDKs `@upstash/workflow` and `@upstash/qstash`. */
import { createDialect } from '../dialect.js';
import { isIgnoredHeader } from './ignored-headers.js';
import { upstashStepCodec } from './step-codec.js';
import { readCarriedToken } from './token.js';
import { HEADERS, PREFIX, reserves } from './wire.js';

export { carryToken } from './token.js';

export const upstash = createDialect({
  name: 'upstash',
  prefix: PREFIX,
  tokenParameter: 'qstash_token',
  issuer: 'Upstash',
  regionHeader: HEADERS.region,
  noFailureFunctionHeader: HEADERS.failureFunctionMissing,
  steps: upstashStepCodec,
  reserves,
  ignores: isIgnoredHeader,
  readToken: readCarriedToken,
});
