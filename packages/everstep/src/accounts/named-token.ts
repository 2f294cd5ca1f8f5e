/** The form of a named token. */
import { createHash } from 'node:crypto';

/** Tells a named token from a JWT. */
export const NAMED_TOKEN_PREFIX = 'est';

/** SHA-256, hex: a token has 256 random bits, so nothing slower is needed. */
export const hashOfToken = (token: string): string => createHash('sha256').update(token).digest('hex');
