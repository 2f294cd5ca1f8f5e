/** What is kept of an API key. */
import { createHash } from 'node:crypto';

/** SHA-256 in hex: a key is 32 random bytes, so a slow hash would add nothing. */
export const hashOfApiKey = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex');
