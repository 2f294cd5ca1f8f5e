/** The address policy of each queue instance: the installation's policy, or its own if the instance has rules. */
import type { OutboundRules } from '../../ports/stores/account-store.js';
import { type AddressPolicy, type AddressPolicyOptions, createAddressPolicy } from './address-policy.js';

export interface AddressPoliciesOptions extends Omit<AddressPolicyOptions, 'rules'> {
  /** Returns the rules of an instance; null if it has none. */
  readonly rulesOf: (instanceId: string) => OutboundRules | null;
}

/** Maximum number of cached policies of instances. */
const MAX_POLICIES = 1_000;

/**
 * Returns a function that gives the current policy of an instance. Throws if an entry of the installation's lists is
 * invalid.
 */
export function createAddressPolicies(options: AddressPoliciesOptions): (instanceId: string) => AddressPolicy {
  const { rulesOf, ...shared } = options;
  const common = createAddressPolicy(shared);
  const instancePolicies = new Map<string, { readonly text: string; readonly policy: AddressPolicy }>();
  return (instanceId) => {
    const rules = rulesOf(instanceId);
    if (!rules) return common;
    const text = JSON.stringify(rules);
    const cached = instancePolicies.get(instanceId);
    if (cached?.text === text) return cached.policy;
    const policy = createAddressPolicy({ ...shared, rules });
    if (instancePolicies.size >= MAX_POLICIES) instancePolicies.clear();
    instancePolicies.set(instanceId, { text, policy });
    return policy;
  };
}
