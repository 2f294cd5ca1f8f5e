/** Recovery links: a link gives a user one API key. An operator creates it for a user without a valid key. */
import { createHash } from 'node:crypto';
import { LIMITS } from '../../config/limits.js';
import type { ApiKeyRecord } from '../../ports/stores/account-store.js';
import { type AccountRules, done, notFound, refuse } from '../account-rules.js';
import type { AccountService } from '../account-service.js';
import { hashOfApiKey } from '../users/api-key-hash.js';
import { isOperator } from '../users/user-rules.js';

const SECRET = /^rec_[A-Za-z0-9_-]{43}$/;
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
const NO_LINK = refuse(
  'not-found',
  'there is no recovery link with this secret; it was used, replaced or deleted, or it has expired',
);

export interface RecoveryOptions {
  readonly rules: AccountRules;
  /** Counts an invalid secret as a failed login from the address. */
  readonly countFailure: (client: { readonly address: string }) => void;
}

export function createRecovery({ rules, countFailure }: RecoveryOptions): Pick<AccountService, 'createRecoveryLink' | 'recover'> {
  const { accounts, now } = rules;

  return {
    createRecoveryLink: (principal, userId) =>
      rules.withUserLock(principal, async () => {
        const user = (await isOperator(rules, principal.user.userId)) ? await accounts.findUser({ userId }) : null;
        if (!user) return notFound('user');
        if (user.disabledAt !== undefined) return refuse('conflict', 'the user is disabled; enable the user first');
        const secret = rules.newSecret('rec');
        const createdAt = now();
        const expiresAt = createdAt + LIMITS.recoveryLinkLifeMs;
        const accountIds = [...new Set([userId, principal.user.userId])];
        const change = { action: 'user.create-recovery-link', subject: userId, details: { email: user.email }, accountIds };
        const audit = rules.audit(principal, change);
        await accounts.putRecoveryLink({ userId, secretHash: hashOf(secret), createdAt, expiresAt, audit });
        return done({ secret, expiresAt });
      }),

    async recover({ secret, address }) {
      const secretHash = hashOf(secret);
      const user = SECRET.test(secret) ? await accounts.findRecovery({ secretHash, at: now() }) : null;
      // An invalid secret takes no turn, so that it cannot delay the changes of accounts.
      if (!user) {
        countFailure({ address });
        return NO_LINK;
      }
      const { userId } = user;
      return rules.withLock(async () => {
        const at = now();
        const apiKey = rules.newSecret('ek');
        const apiKeyId = rules.newId('key');
        const record: ApiKeyRecord = { apiKeyId, userId, name: 'recovered', keyHash: hashOfApiKey(apiKey), createdAt: at };
        const change = { action: 'user.recover', subject: userId, details: { apiKeyId }, accountIds: [userId] };
        const audit = rules.audit({ user, address }, change);
        const isAccepted = await accounts.useRecoveryLink({ secretHash, at, apiKey: record, audit });
        return isAccepted ? done({ email: user.email, apiKey, record }) : NO_LINK;
      }, [userId]);
    },
  };
}
