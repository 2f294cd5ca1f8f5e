/** The spelling of the published SDKs `@upstash/workflow` and `@upstash/qstash`. */
import { createDialect } from '../dialect.js';
import { readCarriedToken } from './token.js';

export { carryToken } from './token.js';

export const upstash = createDialect({
  name: 'upstash',
  prefix: 'Upstash-',
  tokenParameter: 'qstash_token',
  readToken: readCarriedToken,
});
