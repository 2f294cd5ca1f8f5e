/** Operations of browser sessions: log in, get the session, log out. */

import Type from 'typebox';
import type { Session, SessionLogin } from '../../accounts/account-service.js';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { Ok, RecordId } from '../../contract/management.js';
import { EndedSessions, LoginBody, LoginLinkBody, OwnSession, SessionEntry } from '../../contract/session.js';
import { tooManyLogins } from '../admission/basic-authentication.js';
import { WRITES_OWN_ENTRY } from '../audited/audit-rule.js';
import { type ApiContext, accountOperation, type Operation, openOperation, respond, sessionOperation } from '../operation.js';
import { clearCookie, setCookie } from '../sessions/cookie.js';
import { checkOrigin } from '../sessions/same-origin.js';
import { admitSecret } from './open-secrets.js';
import { BODY_ERRORS, OK, requiredBody, valueOrThrow } from './outcome.js';
import { toSeconds } from './presenters.js';

const presentSession = (
  { principal, csrfToken, expiresAt }: Session,
  isOperator: boolean,
  logoutUrl: string | null = null,
): SessionEntry => ({
  user: { id: principal.user.userId, email: principal.user.email },
  is_operator: isOperator,
  csrf_token: csrfToken,
  ...(logoutUrl === null ? {} : { logout_url: logoutUrl }),
  expires_at: toSeconds(expiresAt),
});

/** Returns the response to a login. Throws ApiError `bad-credential` with the text `refusalMessage`, or `rate-limited`. */
async function loginResponse(
  login: SessionLogin,
  { isHttps }: { readonly isHttps: boolean },
  accounts: ApiContext['accounts'],
  { refusalMessage }: { readonly refusalMessage: string },
) {
  switch (login.kind) {
    case 'in':
      return respond(200, presentSession(login.session, await accounts.isOperator(login.session.principal)), {
        'set-cookie': setCookie(login.secret, isHttps),
      });
    case 'refused':
      throw new ApiError('bad-credential', refusalMessage);
    case 'wait':
      throw tooManyLogins(login.retryAfterMs);
  }
}

const createSession = openOperation({
  operationId: 'createSession',
  audit: WRITES_OWN_ENTRY,
  tag: 'Session',
  summary: 'Sign in',
  description:
    'Sets the cookie `everstep_session` (over HTTPS: `__Host-everstep_session`). The cookie authenticates operations that accept HTTP Basic. With the header `x-everstep-queue` set to the id of a queue instance, it also authenticates operations that accept a token. The role of the user in the account applies. Requests other than GET and HEAD need the header `x-everstep-csrf` with the `csrf_token`. If a request has an `Authorization` header, the cookie is ignored.',
  method: 'POST',
  path: '/v2/session',
  unknownQuery: 'refuse',
  whileStopping: 'refuse',
  body: { kind: 'json', required: true, schema: LoginBody, maxBytes: LIMITS.maxLoginBodyBytes },
  responses: { 200: SessionEntry },
  errors: ['bad-parameter', ...BODY_ERRORS, 'body-too-large', 'bad-credential', 'csrf-refused', 'rate-limited'],
  admit(request, { accounts }) {
    checkOrigin(request);
    const retryAfterMs = accounts.loginWaitMs({ address: request.callerIp });
    if (retryAfterMs > 0) throw tooManyLogins(retryAfterMs);
  },
  async handle({ body, request }, { accounts }) {
    const { email, api_key: apiKey } = requiredBody(body);
    const { callerIp: address, isHttps } = request;
    return loginResponse(await accounts.beginSession({ email, apiKey, address, isHttps }), request, accounts, {
      refusalMessage:
        'no user has this email and API key, or the key was revoked; check both, or ask an operator for a recovery link',
    });
  },
});

const createSessionWithLink = openOperation({
  operationId: 'createSessionWithLink',
  audit: WRITES_OWN_ENTRY,
  tag: 'Session',
  summary: 'Sign in with a one-time link',
  description:
    'Exchanges the secret of a one-time sign-in link for a session. The response and the cookie are those of `createSession`. `everstep dev` prints such a link. It can be used once, within ten minutes, and until the server stops.',
  method: 'POST',
  path: '/v2/session/link',
  unknownQuery: 'refuse',
  whileStopping: 'refuse',
  body: { kind: 'json', required: true, schema: LoginLinkBody, maxBytes: LIMITS.maxLoginBodyBytes },
  responses: { 200: SessionEntry },
  errors: ['bad-parameter', ...BODY_ERRORS, 'body-too-large', 'bad-credential', 'csrf-refused', 'rate-limited'],
  admit: admitSecret,
  async handle({ body, request }, { accounts, loginLinks }) {
    const { secret } = requiredBody(body);
    const { callerIp: address, isHttps } = request;
    // An invalid secret is counted and limited like an unknown API key.
    const credential = loginLinks?.use(secret) ?? { email: '', apiKey: secret };
    return loginResponse(await accounts.beginSession({ ...credential, address, isHttps }), request, accounts, {
      refusalMessage:
        'the sign-in link was already used, has expired, or belongs to an earlier start of the server; sign in with an API key',
    });
  },
});

const getSession = sessionOperation({
  operationId: 'getSession',
  tag: 'Session',
  summary: 'Get the current session',
  description: 'Returns the user of the session and its CSRF token.',
  method: 'GET',
  path: '/v2/session',
  unknownQuery: 'ignore',
  responses: { 200: SessionEntry },
  errors: [],
  async handle(_input, { accounts, signIn }, session) {
    const logoutUrl = session.apiKeyId === null ? (signIn?.logoutUrl() ?? null) : null;
    return respond(200, presentSession(session, await accounts.isOperator(session.principal), logoutUrl));
  },
});

const endSession = sessionOperation({
  operationId: 'endSession',
  audit: WRITES_OWN_ENTRY,
  tag: 'Session',
  summary: 'Sign out',
  description: 'Ends the current session and deletes its cookie.',
  method: 'DELETE',
  path: '/v2/session',
  unknownQuery: 'refuse',
  responses: { 200: Ok },
  errors: ['bad-parameter'],
  async handle({ request }, { accounts }, session) {
    await accounts.endSession(session);
    return respond(200, 'OK' as const, { 'set-cookie': clearCookie(request.isHttps) });
  },
});

const listSessions = accountOperation({
  operationId: 'listSessions',
  tag: 'Session',
  summary: 'List your sessions',
  description: 'Returns the active sessions of the user, most recent first.',
  method: 'GET',
  path: '/v2/sessions',
  unknownQuery: 'refuse',
  responses: { 200: Type.Array(OwnSession) },
  errors: ['bad-parameter'],
  async handle(_input, { accounts }, principal) {
    const sessions = await accounts.listSessions(principal);
    return respond(
      200,
      sessions.map(({ sessionId, apiKeyId, createdAt, expiresAt }) => ({
        id: sessionId,
        ...(apiKeyId === null ? {} : { api_key_id: apiKeyId }),
        creation_time: toSeconds(createdAt),
        expires_at: toSeconds(expiresAt),
        current: sessionId === principal.sessionId,
      })),
    );
  },
});

const revokeSession = accountOperation({
  operationId: 'revokeSession',
  audit: WRITES_OWN_ENTRY,
  tag: 'Session',
  summary: 'End one of your sessions',
  description: 'The browser with this session is signed out.',
  method: 'DELETE',
  path: '/v2/sessions/{id}',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({ id: RecordId('Id of the session.') }),
  responses: { 200: Ok },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.endOwnSession(principal, path.id));
    return OK;
  },
});

const revokeSessions = accountOperation({
  operationId: 'revokeSessions',
  audit: WRITES_OWN_ENTRY,
  tag: 'Session',
  summary: 'Sign out everywhere',
  description: 'Ends all sessions of the user, including the one that makes the request. API keys stay valid.',
  method: 'DELETE',
  path: '/v2/sessions',
  unknownQuery: 'refuse',
  responses: { 200: EndedSessions },
  errors: ['bad-parameter'],
  async handle({ request }, { accounts }, principal) {
    const endedCount = await accounts.endSessions(principal);
    if (principal.sessionId === undefined) return respond(200, { ended: endedCount });
    return respond(200, { ended: endedCount }, { 'set-cookie': clearCookie(request.isHttps) });
  },
});

export const sessionOperations: readonly Operation[] = [
  createSession,
  createSessionWithLink,
  getSession,
  endSession,
  listSessions,
  revokeSession,
  revokeSessions,
];
