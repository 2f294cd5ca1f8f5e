/** Lists and unlinks the identities with which a user signs in. */
import { createHash } from 'node:crypto';
import type { LinkedIdentity } from '../../ports/stores/accounts/sign-in.js';
import { type AccountRules, done, notFound, refuse } from '../account-rules.js';
import type { AccountService } from '../account-service.js';
import { auditEntryOf, findUserFor } from '../users/user-rules.js';

const ID_LENGTH = 32;

/** The id has no characters that a URL cannot represent; a subject can have them. */
const idOf = ({ issuer, subject }: LinkedIdentity): string =>
  `idn_${createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex')
    .slice(0, ID_LENGTH)}`;

export function createLinkedIdentities(rules: AccountRules): Pick<AccountService, 'identitiesOf' | 'unlinkIdentityOf'> {
  const { accounts } = rules;
  const listIdentities = async (userId: string) =>
    (await accounts.listIdentities({ userId })).map((identity) => ({ identityId: idOf(identity), ...identity }));
  const hasValidKey = async (userId: string): Promise<boolean> =>
    (await accounts.listApiKeys({ userId })).some(({ revokedAt }) => revokedAt === undefined);

  return {
    async identitiesOf(principal, userId) {
      const lookup = await findUserFor(rules, principal, userId, 'operator-or-self');
      return lookup.kind === 'found' ? done(await listIdentities(userId)) : lookup;
    },

    unlinkIdentityOf: (principal, { userId, identityId }) =>
      rules.withUserLock(principal, async () => {
        const lookup = await findUserFor(rules, principal, userId, 'operator-or-self');
        if (lookup.kind !== 'found') return lookup;
        const identities = await listIdentities(userId);
        const identity = identities.find((linked) => linked.identityId === identityId);
        if (!identity) return notFound('identity');
        const { issuer, subject } = identity;
        if (principal.user.userId === userId && identities.length === 1 && !(await hasValidKey(userId)))
          return refuse(
            'conflict',
            'this is your only identity and you have no valid API key, so you could not sign in without it; create an API key first',
          );
        const audit = auditEntryOf(rules, principal, 'user.unlink-identity', lookup.user, { issuer });
        const isUnlinked = await accounts.unlinkIdentity({ identity: { issuer, subject }, userId, audit });
        return isUnlinked ? done(null) : notFound('identity');
      }),
  };
}
