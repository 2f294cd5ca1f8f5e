/**
 * Admission of operations that accept a one-time secret instead of a credential. Attempts to guess a secret are limited like
 * failed logins, before the body is read.
 */
import { tooManyLogins } from '../admission/basic-authentication.js';
import type { ApiContext, OpenRequest } from '../operation.js';
import { checkOrigin } from '../sessions/same-origin.js';
import { BODY_ERRORS } from './outcome.js';

/** Throws ApiError if the request comes from another site, or if its address has too many failed logins. */
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
