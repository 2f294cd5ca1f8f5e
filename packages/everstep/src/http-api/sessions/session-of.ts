/** The session of a request, which has to show that a page of the service sent it when it changes something. */
import type { FastifyRequest } from 'fastify';
import type { AccountService, Session } from '../../accounts/account-service.js';
import { isCsrfToken } from '../../accounts/sessions.js';
import { ApiError } from '../../contract/error-codes.js';
import { callerIpOf } from '../caller-ip.js';
import { secretOf } from './cookie.js';
import { checkOrigin } from './same-origin.js';

const CSRF_HEADER = 'x-everstep-csrf';
/** One that no browser knows: of one that it knows it would ask the user itself. */
const CHALLENGE = { 'www-authenticate': 'Everstep-Session' } as const;
const SAFE: readonly string[] = ['GET', 'HEAD'];

export const headerOf = ({ headers }: FastifyRequest, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.join();
};

export const noSession = (): ApiError =>
  new ApiError('session-ended', 'there is no session, or it has ended; log in with POST /v2/session', CHALLENGE);

/** Whether a page made the request, whose browser would ask for a password if it was told of HTTP Basic. */
export const isOfPage = (request: FastifyRequest): boolean =>
  headerOf(request, CSRF_HEADER) !== undefined ||
  (headerOf(request, 'sec-fetch-site') !== undefined && headerOf(request, 'sec-fetch-mode') !== 'navigate');

/** Rejects with ApiError `session-ended` or `csrf-refused`. */
export async function sessionOf(request: FastifyRequest, accounts: Pick<AccountService, 'findSession'>): Promise<Session> {
  const secret = secretOf(request.headers);
  const session = secret === null ? null : await accounts.findSession({ secret, address: callerIpOf(request) });
  if (!session) throw noSession();
  if (SAFE.includes(request.method)) return session;
  if (!isCsrfToken(session, headerOf(request, CSRF_HEADER)))
    throw new ApiError(
      'csrf-refused',
      `the header ${CSRF_HEADER} is missing or is not the csrf_token of this session; GET /v2/session tells it`,
    );
  checkOrigin(request);
  return session;
}
