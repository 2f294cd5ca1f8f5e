/** Operations of anybody who has a one-time secret. Guessing one is limited like guessing API keys, before the body is read. */
import { tooManyLogins } from '../basic-authentication.js';
import type { ApiContext, OpenRequest } from '../operation.js';
import { checkOrigin } from '../sessions/same-origin.js';
import { BODY_ERRORS } from './outcome.js';

export function admitSecret(request: OpenRequest, { accounts }: ApiContext): void {
  checkOrigin(request);
  const retryAfterMs = accounts.loginWaitMs({ address: request.callerIp });
  if (retryAfterMs > 0) throw tooManyLogins(retryAfterMs);
}

export const SECRET_ERRORS = [
  'bad-parameter',
  ...BODY_ERRORS,
  'body-too-large',
  'csrf-refused',
  'rate-limited',
  'not-found',
] as const;
