/** Login with an email and an API key. */
import { timingSafeEqual } from 'node:crypto';
import { LIMITS } from '../../config/limits.js';
import type { Log } from '../../ports/log.js';
import type { AccountRules } from '../account-rules.js';
import type { AccountService, Login } from '../account-service.js';
import { hashOfApiKey } from './api-key-hash.js';
import type { FailedLogins } from './failed-logins.js';
import { LoginLocations } from './login-locations.js';

/** Id that is queried if no user has the email, so that the login takes the same time. */
const UNKNOWN_USER = 'usr_nobody';
/** Hash that is always compared, even if the user has no key. No known API key has this hash. */
const NO_HASH = '0'.repeat(64);

/** Returns whether one of the stored hashes matches. Compares all of them, so that the time does not reveal a match. */
function includesHash(storedHashes: readonly string[], hash: string): boolean {
  const hashBytes = Buffer.from(hash, 'hex');
  let matches = 0;
  for (const storedHash of [NO_HASH, ...storedHashes]) {
    const storedBytes = Buffer.from(storedHash, 'hex');
    matches += storedBytes.length === hashBytes.length && timingSafeEqual(storedBytes, hashBytes) ? 1 : 0;
  }
  return matches > 0;
}

/** Failed logins without an account are only counted per day, under this id. */
const INSTALLATION = '';
/** Minimum time between log lines about unknown emails. */
const LOG_INTERVAL_MS = 60_000;

export interface LoginOptions {
  readonly rules: AccountRules;
  readonly failedLogins: FailedLogins;
  readonly log?: Pick<Log, 'warn'>;
}

export function createLogin({ rules, failedLogins, log }: LoginOptions): Pick<AccountService, 'logIn' | 'loginWaitMs'> {
  const { accounts, now } = rules;
  const locations = new LoginLocations({ accounts });
  let unknownEmails = { failures: 0, loggedAt: Number.NEGATIVE_INFINITY };

  /** Makes a durable write like the one for a known user, so that both take the same time. */
  async function countUnknownEmail(): Promise<void> {
    const at = now();
    unknownEmails = { ...unknownEmails, failures: unknownEmails.failures + 1 };
    if (at - unknownEmails.loggedAt >= LOG_INTERVAL_MS) {
      log?.warn({ failures: unknownEmails.failures }, 'sign-in attempts failed for unknown email addresses');
      unknownEmails = { failures: 0, loggedAt: at };
    }
    await accounts.countOfDay([{ instanceId: INSTALLATION, what: 'unknown-login', count: 1, at }]);
  }

  async function logIn({ email: rawEmail, apiKey, address }: Parameters<AccountService['logIn']>[0]): Promise<Login> {
    // Keeps one more character than the limit, so that a longer email never matches a user.
    const email = rawEmail.toLowerCase().slice(0, LIMITS.maxEmailLength + 1);
    const user = await accounts.findUserByEmail({ email });
    const location = { userId: user?.userId ?? UNKNOWN_USER, address };
    const [keys, lastLoginAt] = await Promise.all([
      accounts.listApiKeys({ userId: location.userId }),
      locations.lastLoginAt(location),
    ]);
    // Nothing may be awaited from here to the count, so that concurrent attempts are counted one by one.
    const retryAfterMs = failedLogins.waitMs({ email, address }, lastLoginAt !== null, now());
    if (retryAfterMs > 0) return { kind: 'wait', retryAfterMs };
    const mayLogIn = user !== null && user.disabledAt === undefined;
    const validKeys = keys.filter(({ revokedAt }) => mayLogIn && revokedAt === undefined);
    const sentHash = hashOfApiKey(apiKey);
    const hasMatch = includesHash(
      validKeys.map(({ keyHash }) => keyHash),
      sentHash,
    );
    // The time may reveal the matching key, but only to a caller who has it.
    const matchingKey = hasMatch ? validKeys.find(({ keyHash }) => keyHash === sentHash) : undefined;
    if (user && matchingKey) {
      // The login succeeds even if it cannot be recorded. The next login tries again.
      await locations.record(location, lastLoginAt, now()).catch(() => {});
      failedLogins.recordSuccess({ email, address });
      const { apiKeyId } = matchingKey;
      return { kind: 'in', principal: { user, address, apiKeyId }, apiKeyId };
    }
    failedLogins.recordFailure({ email, address }, now());
    // A submitted email is stored only if a user has it: some users enter their API key as the email by mistake.
    if (user) {
      const { userId } = user;
      const change = { action: 'login.fail', subject: userId, accountIds: [userId] };
      await accounts.addAudit(rules.audit({ user, address }, change));
    } else await countUnknownEmail();
    return { kind: 'refused' };
  }

  return { logIn, loginWaitMs: ({ address }) => failedLogins.waitMsOfAddress(address, now()) };
}
