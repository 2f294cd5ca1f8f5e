/** Outbound rules of a queue instance: the operator allows private destinations, and the owner restricts destinations. */
import { parseDestinationRule, RULE_FORMS } from '../../config/destination-rules.js';
import { LIMITS } from '../../config/limits.js';
import type { OutboundRules } from '../../ports/stores/account-store.js';
import { type AccountRules, done, notFound, refuse } from '../account-rules.js';
import type { AccountService, Outcome } from '../account-service.js';
import type { ChangeInstance, FindInstance } from './visible-instance.js';

type OutboundPart = Pick<AccountService, 'outboundRules' | 'setOutboundRules' | 'setAllowedDestinations'>;

export interface OutboundOptions {
  readonly rules: AccountRules;
  readonly find: FindInstance;
  readonly change: ChangeInstance;
  readonly isOperator: (userId: string) => Promise<boolean>;
}

export const NO_RULES: OutboundRules = Object.freeze({ allow: [], deny: [], only: null });

/** Audit entries are kept forever, so only the length of a long list is logged. */
const MAX_LOGGED_LENGTH = 1_000;

function listForAudit(entries: readonly string[]): string {
  const text = entries.join(', ');
  return text.length > MAX_LOGGED_LENGTH ? `${entries.length} destinations` : text;
}

const isEmpty = ({ allow, deny, only }: OutboundRules): boolean => allow.length === 0 && deny.length === 0 && only === null;

/** Returns the refusal of a list that is too long or has an invalid entry, or null if the list is valid. */
function checkEntries(field: string, entries: readonly string[]): Outcome<never> | null {
  if (entries.length > LIMITS.maxOutboundRules)
    return refuse('invalid', `body.${field} must have at most ${LIMITS.maxOutboundRules} entries, but has ${entries.length}`);
  const index = entries.findIndex((entry) => entry.length > LIMITS.maxOutboundRuleLength || !parseDestinationRule(entry));
  if (index === -1) return null;
  const entryText = JSON.stringify(entries[index]?.slice(0, 100));
  return refuse('invalid', `body.${field}[${index}] ${entryText} is invalid; use ${RULE_FORMS}`);
}

export function createOutboundRules({ rules, find, change, isOperator }: OutboundOptions): OutboundPart {
  return {
    async outboundRules(principal, instanceId) {
      const lookup = await find(principal, instanceId, 'see');
      if (lookup.kind === 'found') return done(lookup.instance.outboundRules ?? NO_RULES);
      const instance = (await isOperator(principal.user.userId)) && (await rules.accounts.findInstance({ instanceId }));
      return instance ? done(instance.outboundRules ?? NO_RULES) : lookup;
    },

    setOutboundRules: (principal, { instanceId, deny, only }) =>
      rules.withInstanceLock(principal, instanceId, async () => {
        const lookup = await find(principal, instanceId, 'change');
        if (lookup.kind !== 'found') return lookup;
        const refusal = checkEntries('deny', deny) ?? checkEntries('only', only ?? []);
        if (refusal) return refusal;
        const newRules = { ...(lookup.instance.outboundRules ?? NO_RULES), deny, only };
        const details = { deny: listForAudit(deny), only: only && listForAudit(only) };
        const action = { action: 'queue.set-outbound-rules', details, accountIds: [lookup.owner] };
        return change(principal, instanceId, { outboundRules: isEmpty(newRules) ? null : newRules }, action);
      }),

    setAllowedDestinations: (principal, { instanceId, allow }) =>
      rules.withInstanceLock(principal, instanceId, async () => {
        const { userId } = principal.user;
        const lookup = await find(principal, instanceId, 'see');
        const isCallerOperator = await isOperator(userId);
        if (!isCallerOperator) {
          if (lookup.kind !== 'found') return lookup;
          return refuse('forbidden', 'only the operator of this installation can allow private destinations');
        }
        const instance = await rules.accounts.findInstance({ instanceId });
        if (!instance) return notFound('queue instance');
        const refusal = checkEntries('allow', allow);
        if (refusal) return refusal;
        const newRules = { ...(instance.outboundRules ?? NO_RULES), allow };
        const accountIds = [...new Set([instance.accountId ?? userId, userId])];
        const action = { action: 'queue.set-allowed-destinations', details: { allow: listForAudit(allow) }, accountIds };
        return change(principal, instanceId, { outboundRules: isEmpty(newRules) ? null : newRules }, action);
      }),
  };
}
