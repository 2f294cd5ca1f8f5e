/** The spelling of the published SDKs `@upstash/workflow` and `@upstash/qstash`. */
import { createDialect } from '../dialect.js';

export const upstash = createDialect('upstash', 'Upstash-', 'qstash_token');
