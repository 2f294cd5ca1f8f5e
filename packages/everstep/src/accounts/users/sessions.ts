/** Sessions: after a login, a secret in a cookie identifies the user until the session is unused for too long. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { LIMITS } from '../../config/limits.js';
import type { SessionRecord } from '../../ports/stores/account-store.js';
import { type AccountRules, done, notFound } from '../account-rules.js';
import type { AccountService, Principal, Session, StartedSession } from '../account-service.js';
import { sessionIdOf } from './session-id.js';

/** Format of a secret. Prefix `eh` is for the https cookie, see `http-api/sessions/cookie.ts`. */
const SECRET = /^e[hs]_[A-Za-z0-9_-]{43}$/;
/** Extending a session is a write, so it does not happen with every request. */
const EXTEND_AFTER_MS = 10 * 60_000;

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
/** Derived from the secret, so nothing else must be stored. It does not reveal the secret. */
const csrfTokenOf = (secret: string): string => createHmac('sha256', secret).update('everstep csrf token').digest('base64url');

/** Returns whether the request contains the CSRF token of the session. */
export function isCsrfToken(session: Session, token: string | undefined): boolean {
  const [expectedToken, sentToken] = [Buffer.from(session.csrfToken), Buffer.from(token ?? '')];
  return expectedToken.length === sentToken.length && timingSafeEqual(expectedToken, sentToken);
}

type SessionPart = Pick<
  AccountService,
  'beginSession' | 'findSession' | 'endSession' | 'listSessions' | 'endOwnSession' | 'endSessions'
>;

/** Credential with which a session was started: an API key, or a sign-in with an identity provider. */
export type SessionOrigin = { readonly apiKeyId: string } | { readonly issuer: string };

export interface Sessions extends SessionPart {
  /** Starts a session. Returns null if the user was disabled or the key was revoked in the meantime. */
  start(principal: Principal, origin: SessionOrigin, isHttps: boolean): Promise<StartedSession | null>;
}

export function createSessions(rules: AccountRules, logIn: AccountService['logIn']): Sessions {
  const { accounts, now } = rules;

  const extendedExpiry = (createdAt: number): number => Math.min(now() + LIMITS.sessionIdleMs, createdAt + LIMITS.sessionMaxMs);

  const toSession = (
    secret: string,
    { user, address }: Principal,
    { apiKeyId, expiresAt }: Pick<SessionRecord, 'apiKeyId' | 'expiresAt'>,
  ): Session => ({
    principal: { user, address, sessionId: sessionIdOf(hashOf(secret)) },
    sessionHash: hashOf(secret),
    apiKeyId,
    csrfToken: csrfTokenOf(secret),
    expiresAt,
  });

  async function start({ user, address }: Principal, origin: SessionOrigin, isHttps: boolean): Promise<StartedSession | null> {
    const secret = rules.newSecret(isHttps ? 'eh' : 'es');
    const createdAt = now();
    const { userId } = user;
    const session: SessionRecord = {
      sessionHash: hashOf(secret),
      userId,
      apiKeyId: 'apiKeyId' in origin ? origin.apiKeyId : null,
      createdAt,
      expiresAt: extendedExpiry(createdAt),
    };
    const change = { action: 'session.begin', subject: userId, details: origin, accountIds: [userId] };
    const audit = rules.audit({ user, address }, change);
    if (!(await accounts.createSession({ session, audit }))) return null;
    return { secret, session: toSession(secret, { user, address }, session) };
  }

  return {
    start,

    async beginSession({ isHttps = false, ...credential }) {
      const login = await logIn(credential);
      if (login.kind !== 'in') return login;
      const startedSession = await start(login.principal, { apiKeyId: login.apiKeyId }, isHttps);
      return startedSession ? { kind: 'in', ...startedSession } : { kind: 'refused' };
    },

    async findSession({ secret, address }) {
      if (!SECRET.test(secret)) return null;
      const sessionHash = hashOf(secret);
      const storedSession = await accounts.findSession({ sessionHash });
      if (!storedSession) return null;
      const { session, user } = storedSession;
      if (session.expiresAt <= now() || user.disabledAt !== undefined) {
        await accounts.deleteSession({ sessionHash });
        return null;
      }
      const expiresAt = extendedExpiry(session.createdAt);
      if (expiresAt - session.expiresAt < EXTEND_AFTER_MS) return toSession(secret, { user, address }, session);
      await accounts.extendSession({ sessionHash, expiresAt });
      return toSession(secret, { user, address }, { ...session, expiresAt });
    },

    async endSession({ principal, sessionHash }) {
      const { userId } = principal.user;
      const audit = rules.audit(principal, { action: 'session.end', subject: userId, accountIds: [userId] });
      await accounts.deleteSession({ sessionHash, audit });
    },

    async listSessions({ user }) {
      const at = now();
      const records = await accounts.listSessions({ userId: user.userId });
      return records
        .filter(({ expiresAt }) => expiresAt > at)
        .map(({ sessionHash, apiKeyId, createdAt, expiresAt }) => ({
          sessionId: sessionIdOf(sessionHash),
          apiKeyId,
          createdAt,
          expiresAt,
        }));
    },

    async endOwnSession(principal, sessionId) {
      const { userId } = principal.user;
      const session = (await accounts.listSessions({ userId })).find(({ sessionHash }) => sessionIdOf(sessionHash) === sessionId);
      const change = { action: 'session.end', subject: userId, details: { sessionId }, accountIds: [userId] };
      const audit = rules.audit(principal, change);
      const isEnded = session && (await accounts.deleteSession({ sessionHash: session.sessionHash, audit }));
      return isEnded ? done(null) : notFound('session');
    },

    async endSessions(principal) {
      const { userId } = principal.user;
      const audit = rules.audit(principal, { action: 'session.end-all', subject: userId, accountIds: [userId] });
      return accounts.deleteSessions({ userId, audit });
    },
  };
}
