/**
 * Authenticates requests by session. A request that changes something must prove that a page of the server sent it.
 * Keeps invariant 38.
 */
import type { FastifyRequest } from 'fastify';
import type { AccountService, Session } from '../../accounts/account-service.js';
import { isCsrfToken } from '../../accounts/users/sessions.js';
import { ApiError } from '../../contract/error-codes.js';
import { callerIpOf } from '../server/caller-ip.js';
import { secretOf } from './cookie.js';
import { checkOrigin } from './same-origin.js';

const CSRF_HEADER = 'x-everstep-csrf';
/** Scheme that no browser knows. For a known scheme the browser would show its own login dialog. */
export const CHALLENGE = { 'www-authenticate': 'Everstep-Session' } as const;
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD'];

export const headerOf = ({ headers }: FastifyRequest, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.join();
};

export const sessionEndedError = (): ApiError =>
  new ApiError('session-ended', 'the session does not exist or has ended; sign in with POST /v2/session', CHALLENGE);

/** Returns whether a page sent the request. For such requests a Basic challenge would open a password dialog. */
export const isFromPage = (request: FastifyRequest): boolean =>
  headerOf(request, CSRF_HEADER) !== undefined ||
  (headerOf(request, 'sec-fetch-site') !== undefined && headerOf(request, 'sec-fetch-mode') !== 'navigate');

/** Returns the session. Rejects with ApiError `session-ended` or `csrf-refused`. */
export async function sessionOf(request: FastifyRequest, accounts: Pick<AccountService, 'findSession'>): Promise<Session> {
  const secret = secretOf(request.headers);
  const session = secret === null ? null : await accounts.findSession({ secret, address: callerIpOf(request) });
  if (!session) throw sessionEndedError();
  if (SAFE_METHODS.includes(request.method)) return session;
  if (!isCsrfToken(session, headerOf(request, CSRF_HEADER)))
    throw new ApiError(
      'csrf-refused',
      `the header ${CSRF_HEADER} must be the csrf_token of this session; GET /v2/session returns it`,
    );
  checkOrigin(request);
  return session;
}
