/** Logging in with an e-mail and an API key. */
import { timingSafeEqual } from 'node:crypto';
import { LIMITS } from '../config/limits.js';
import type { Log } from '../ports/log.js';
import type { AccountRules } from './account-rules.js';
import type { AccountService, Login } from './account-service.js';
import { hashOfApiKey } from './api-key-hash.js';
import type { FailedLogins } from './failed-logins.js';
import { LoginPlaces } from './login-places.js';

/** Looked up where there is no user, so that this takes as long. */
const NOBODY = 'usr_nobody';
/** Compared with where there is no key; nothing is known to have this hash. */
const NO_HASH = '0'.repeat(64);

/** True when one of them is the hash; all are compared, whichever it is. */
function oneOf(hashes: readonly string[], hash: string): boolean {
  const given = Buffer.from(hash, 'hex');
  let equal = 0;
  for (const each of [NO_HASH, ...hashes]) {
    const kept = Buffer.from(each, 'hex');
    equal += kept.length === given.length && timingSafeEqual(kept, given) ? 1 : 0;
  }
  return equal > 0;
}

/** Of failed logins that belong to no account nothing is kept but how many there were in a day. */
const INSTALLATION = '';
/** The operator reads of them at most this often. */
const LOG_AFTER_MS = 60_000;

export interface LoginOptions {
  readonly rules: AccountRules;
  readonly failed: FailedLogins;
  readonly log?: Pick<Log, 'warn'>;
}

export function createLogin({ rules, failed, log }: LoginOptions): Pick<AccountService, 'logIn' | 'loginWaitMs'> {
  const { accounts, now } = rules;
  const places = new LoginPlaces({ accounts });
  let unknown = { failures: 0, loggedAt: Number.NEGATIVE_INFINITY };

  /** A durable write like the one for a user who is known, so that one takes as long as the other. */
  async function countUnknown(): Promise<void> {
    const at = now();
    unknown = { ...unknown, failures: unknown.failures + 1 };
    if (at - unknown.loggedAt >= LOG_AFTER_MS) {
      log?.warn({ failures: unknown.failures }, 'login attempts failed for unknown email addresses');
      unknown = { failures: 0, loggedAt: at };
    }
    await accounts.countOfDay([{ instanceId: INSTALLATION, what: 'unknown-login', count: 1, at }]);
  }

  async function logIn({ email: asGiven, apiKey, address }: Parameters<AccountService['logIn']>[0]): Promise<Login> {
    // One character more than the limit is nobody's e-mail.
    const email = asGiven.toLowerCase().slice(0, LIMITS.maxEmailLength + 1);
    const user = await accounts.findUserByEmail({ email });
    const place = { userId: user?.userId ?? NOBODY, address };
    const [keys, notedAt] = await Promise.all([accounts.listApiKeys({ userId: place.userId }), places.notedAt(place)]);
    // From here to the count nothing waits: attempts that are sent at once are counted one by one.
    const retryAfterMs = failed.waitMs({ email, address }, notedAt !== null, now());
    if (retryAfterMs > 0) return { kind: 'wait', retryAfterMs };
    const mayLogIn = user !== null && user.disabledAt === undefined;
    const good = keys.filter(({ revokedAt }) => mayLogIn && revokedAt === undefined);
    const given = hashOfApiKey(apiKey);
    const isKnown = oneOf(
      good.map(({ keyHash }) => keyHash),
      given,
    );
    // Whoever has a good key may learn by the time which one it is.
    const used = isKnown ? good.find(({ keyHash }) => keyHash === given) : undefined;
    if (user && used) {
      // Who has a good key is let in, whether that can be noted or not; it is tried again at the next login.
      await places.note(place, notedAt, now()).catch(() => {});
      failed.recordGood({ email, address });
      const { apiKeyId } = used;
      return { kind: 'in', principal: { user, address, apiKeyId }, apiKeyId };
    }
    failed.record({ email, address }, now());
    // What was sent as an e-mail is kept only if it is one: some put the key there.
    if (user) {
      const { userId } = user;
      const told = { action: 'login.fail', subject: userId, accountIds: [userId] };
      await accounts.addAudit(rules.audit({ user, address }, told));
    } else await countUnknown();
    return { kind: 'refused' };
  }

  return { logIn, loginWaitMs: ({ address }) => failed.waitMsOfAddress(address, now()) };
}
