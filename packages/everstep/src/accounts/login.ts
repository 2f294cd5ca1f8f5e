/** Logging in with an e-mail and an API key. */
import { timingSafeEqual } from 'node:crypto';
import { LIMITS } from '../config/limits.js';
import type { AccountRules } from './account-rules.js';
import type { AccountService, Login } from './account-service.js';
import { hashOfApiKey } from './api-key-hash.js';
import { FailedLogins } from './failed-logins.js';

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

export function createLogin(rules: AccountRules): AccountService['logIn'] {
  const { accounts, now } = rules;
  const failed = new FailedLogins({
    ofBoth: LIMITS.maxFailedLogins,
    inAll: LIMITS.maxFailedLoginsInAll,
    windowMs: LIMITS.failedLoginWindowMs,
    remembered: LIMITS.rememberedLoginFailures,
  });
  return async ({ email: given, apiKey, address }): Promise<Login> => {
    // One character more than the limit is nobody's e-mail.
    const email = given.toLowerCase().slice(0, LIMITS.maxEmailLength + 1);
    const user = await accounts.findUserByEmail({ email });
    const keys = await accounts.listApiKeys({ userId: user?.userId ?? NOBODY });
    // From here to the count nothing waits: attempts that are sent at once are counted one by one.
    const retryAfterMs = failed.waitMs({ email, address }, now());
    if (retryAfterMs > 0) return { kind: 'wait', retryAfterMs };
    const good = keys.filter(({ revokedAt }) => revokedAt === undefined).map(({ keyHash }) => keyHash);
    const isKnown = oneOf(good, hashOfApiKey(apiKey));
    if (user && isKnown) {
      failed.succeeded({ email, address });
      return { kind: 'in', principal: { user, address } };
    }
    failed.record({ email, address }, now());
    // What was sent as an e-mail is kept only if it is one: some put the key there.
    const subject = user?.userId ?? '';
    const accountIds = user ? [user.userId] : [];
    await accounts.addAudit(rules.audit({ user, address }, { action: 'login.fail', subject, accountIds }));
    return { kind: 'refused' };
  };
}
