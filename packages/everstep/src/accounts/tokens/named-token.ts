/** The format of named tokens. */
import { createHash } from 'node:crypto';

/** Distinguishes a named token from a JWT. */
export const NAMED_TOKEN_PREFIX = 'est';

/** SHA-256 in hex. A token has 256 random bits, so a slower hash is not needed. */
export const hashOfToken = (token: string): string => createHash('sha256').update(token).digest('hex');
