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
 * Returns a function that returns the current policy of an instance. Throws if an entry of the installation's lists is
 * invalid.
 */
export function createAddressPolicies(options: AddressPoliciesOptions): (instanceId: string) => AddressPolicy {
  const { rulesOf, ...sharedOptions } = options;
  const installationPolicy = createAddressPolicy(sharedOptions);
  const instancePolicies = new Map<string, { readonly rulesText: string; readonly policy: AddressPolicy }>();
  return (instanceId) => {
    const rules = rulesOf(instanceId);
    if (!rules) return installationPolicy;
    const rulesText = JSON.stringify(rules);
    const cachedEntry = instancePolicies.get(instanceId);
    if (cachedEntry?.rulesText === rulesText) return cachedEntry.policy;
    const policy = createAddressPolicy({ ...sharedOptions, rules });
    if (instancePolicies.size >= MAX_POLICIES) instancePolicies.clear();
    instancePolicies.set(instanceId, { rulesText, policy });
    return policy;
  };
}
