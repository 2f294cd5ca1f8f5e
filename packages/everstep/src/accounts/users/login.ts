/** Login with an email and an API key. */
import { timingSafeEqual } from 'node:crypto';
import { LIMITS } from '../../config/limits.js';
import type { Log } from '../../ports/log.js';
import type { AccountRules } from '../account-rules.js';
import type { AccountService, Login } from '../account-service.js';
import { hashOfApiKey } from './api-key-hash.js';
import type { FailedLogins } from './failed-logins.js';
import { LoginPlaces } from './login-places.js';

/** Queried if there is no user, so that the login takes the same time. */
const UNKNOWN_USER = 'usr_nobody';
/** Compared if there is no key. No known value has this hash. */
const NO_HASH = '0'.repeat(64);

/** Returns whether one of the hashes matches. All are compared in any case. */
function includesHash(hashes: readonly string[], hash: string): boolean {
  const hashBytes = Buffer.from(hash, 'hex');
  let equal = 0;
  for (const hash of [NO_HASH, ...hashes]) {
    const storedHash = Buffer.from(hash, 'hex');
    equal += storedHash.length === hashBytes.length && timingSafeEqual(storedHash, hashBytes) ? 1 : 0;
  }
  return equal > 0;
}

/** Failed logins without an account are only counted per day, under this id. */
const INSTALLATION = '';
/** Minimum time between log lines about unknown emails. */
const LOG_AFTER_MS = 60_000;

export interface LoginOptions {
  readonly rules: AccountRules;
  readonly failed: FailedLogins;
  readonly log?: Pick<Log, 'warn'>;
}

export function createLogin({ rules, failed: failedLogins, log }: LoginOptions): Pick<AccountService, 'logIn' | 'loginWaitMs'> {
  const { accounts, now } = rules;
  const places = new LoginPlaces({ accounts });
  let unknown = { failures: 0, loggedAt: Number.NEGATIVE_INFINITY };

  /** Makes a durable write like the one for a known user, so that both take the same time. */
  async function countUnknown(): Promise<void> {
    const at = now();
    unknown = { ...unknown, failures: unknown.failures + 1 };
    if (at - unknown.loggedAt >= LOG_AFTER_MS) {
      log?.warn({ failures: unknown.failures }, 'login attempts failed for unknown email addresses');
      unknown = { failures: 0, loggedAt: at };
    }
    await accounts.countOfDay([{ instanceId: INSTALLATION, what: 'unknown-login', count: 1, at }]);
  }

  async function logIn({ email: rawEmail, apiKey, address }: Parameters<AccountService['logIn']>[0]): Promise<Login> {
    // One character over the limit, so a longer email never matches a user.
    const email = rawEmail.toLowerCase().slice(0, LIMITS.maxEmailLength + 1);
    const user = await accounts.findUserByEmail({ email });
    const place = { userId: user?.userId ?? UNKNOWN_USER, address };
    const [keys, notedAt] = await Promise.all([accounts.listApiKeys({ userId: place.userId }), places.notedAt(place)]);
    // No wait may occur from here to the count, so that concurrent attempts are counted one by one.
    const retryAfterMs = failedLogins.waitMs({ email, address }, notedAt !== null, now());
    if (retryAfterMs > 0) return { kind: 'wait', retryAfterMs };
    const mayLogIn = user !== null && user.disabledAt === undefined;
    const valid = keys.filter(({ revokedAt }) => mayLogIn && revokedAt === undefined);
    const hashBytes = hashOfApiKey(apiKey);
    const isKnown = includesHash(
      valid.map(({ keyHash }) => keyHash),
      hashBytes,
    );
    // The time may reveal the matching key, but only to a caller who has it.
    const matchingKey = isKnown ? valid.find(({ keyHash }) => keyHash === hashBytes) : undefined;
    if (user && matchingKey) {
      // The login succeeds even if it cannot be recorded. The next login tries again.
      await places.note(place, notedAt, now()).catch(() => {});
      failedLogins.recordSuccess({ email, address });
      const { apiKeyId } = matchingKey;
      return { kind: 'in', principal: { user, address, apiKeyId }, apiKeyId };
    }
    failedLogins.record({ email, address }, now());
    // A submitted email is only stored if a user has it: some users enter their key there.
    if (user) {
      const { userId } = user;
      const change = { action: 'login.fail', subject: userId, accountIds: [userId] };
      await accounts.addAudit(rules.audit({ user, address }, change));
    } else await countUnknown();
    return { kind: 'refused' };
  }

  return { logIn, loginWaitMs: ({ address }) => failedLogins.waitMsOfAddress(address, now()) };
}
