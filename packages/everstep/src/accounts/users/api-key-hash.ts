/** The stored form of an API key. */
import { createHash } from 'node:crypto';

/** SHA-256 in hex. A key has 32 random bytes, so a slow hash would not add security. */
export const hashOfApiKey = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex');
