/** What a queue instance may call: the operator opens private destinations to it, its owner narrows what it calls. */
import { parseDestinationRule, RULE_FORMS } from '../config/destination-rules.js';
import { LIMITS } from '../config/limits.js';
import type { OutboundRules } from '../ports/account-store.js';
import { type AccountRules, done, notFound, refuse } from './account-rules.js';
import type { AccountService, Outcome } from './account-service.js';
import type { ChangeInstance, FindInstance } from './instance-rules.js';

type OutboundPart = Pick<AccountService, 'outboundRules' | 'setOutboundRules' | 'setAllowedDestinations'>;

export interface OutboundOptions {
  readonly rules: AccountRules;
  readonly find: FindInstance;
  readonly change: ChangeInstance;
  readonly isOperator: (userId: string) => Promise<boolean>;
}

export const NO_RULES: OutboundRules = Object.freeze({ allow: [], deny: [], only: null });

/** An audit log is kept forever: a long list is only counted there. */
const MAX_TOLD_LENGTH = 1_000;

function told(entries: readonly string[]): string {
  const text = entries.join(', ');
  return text.length > MAX_TOLD_LENGTH ? `${entries.length} destinations` : text;
}

const isEmpty = ({ allow, deny, only }: OutboundRules): boolean => allow.length === 0 && deny.length === 0 && only === null;

/** Null when all entries are destinations. */
function faultIn(field: string, entries: readonly string[]): Outcome<never> | null {
  if (entries.length > LIMITS.maxOutboundRules)
    return refuse('invalid', `the body.${field} must have at most ${LIMITS.maxOutboundRules} entries, and has ${entries.length}`);
  const index = entries.findIndex((entry) => entry.length > LIMITS.maxOutboundRuleLength || !parseDestinationRule(entry));
  if (index === -1) return null;
  const shown = JSON.stringify(entries[index]?.slice(0, 100));
  return refuse('invalid', `the body.${field}[${index}] ${shown} is invalid; use ${RULE_FORMS}`);
}

export function createOutboundRules({ rules, find, change, isOperator }: OutboundOptions): OutboundPart {
  return {
    async outboundRules(principal, instanceId) {
      const seen = await find(principal, instanceId, 'see');
      if (seen.kind === 'seen') return done(seen.instance.outboundRules ?? NO_RULES);
      const instance = (await isOperator(principal.user.userId)) && (await rules.accounts.findInstance({ instanceId }));
      return instance ? done(instance.outboundRules ?? NO_RULES) : seen;
    },

    setOutboundRules: (principal, { instanceId, deny, only }) =>
      rules.inTurnOfInstance(instanceId, async () => {
        const seen = await find(principal, instanceId, 'change');
        if (seen.kind !== 'seen') return seen;
        const fault = faultIn('deny', deny) ?? faultIn('only', only ?? []);
        if (fault) return fault;
        const made = { ...(seen.instance.outboundRules ?? NO_RULES), deny, only };
        const details = { deny: told(deny), only: only && told(only) };
        const action = { action: 'queue.set-outbound-rules', details, accountIds: [seen.owner] };
        return change(principal, instanceId, { outboundRules: isEmpty(made) ? null : made }, action);
      }),

    setAllowedDestinations: (principal, { instanceId, allow }) =>
      rules.inTurnOfInstance(instanceId, async () => {
        const { userId } = principal.user;
        const seen = await find(principal, instanceId, 'see');
        const mayDoIt = await isOperator(userId);
        if (!mayDoIt) {
          if (seen.kind !== 'seen') return seen;
          return refuse('forbidden', 'only the operator of this installation allows private destinations');
        }
        const instance = await rules.accounts.findInstance({ instanceId });
        if (!instance) return notFound('queue instance');
        const fault = faultIn('allow', allow);
        if (fault) return fault;
        const made = { ...(instance.outboundRules ?? NO_RULES), allow };
        const accountIds = [...new Set([instance.accountId ?? userId, userId])];
        const action = { action: 'queue.set-allowed-destinations', details: { allow: told(allow) }, accountIds };
        return change(principal, instanceId, { outboundRules: isEmpty(made) ? null : made }, action);
      }),
  };
}
