/** The address policy of each queue instance: that of the installation, and one of its own where it has rules. */
import type { OutboundRules } from '../ports/account-store.js';
import { type AddressPolicy, type AddressPolicyOptions, createAddressPolicy } from './address-policy.js';

export interface AddressPoliciesOptions extends Omit<AddressPolicyOptions, 'rules'> {
  /** Null where the instance has none. */
  readonly rulesOf: (instanceId: string) => OutboundRules | null;
}

/** Policies of instances that are kept; beyond it they are made again. */
const MAX_POLICIES = 1_000;

/** Gives the policy of an instance as its rules are now. Throws when an entry of the installation's lists is invalid. */
export function createAddressPolicies(options: AddressPoliciesOptions): (instanceId: string) => AddressPolicy {
  const { rulesOf, ...shared } = options;
  const common = createAddressPolicy(shared);
  const ofInstances = new Map<string, { readonly text: string; readonly policy: AddressPolicy }>();
  return (instanceId) => {
    const rules = rulesOf(instanceId);
    if (!rules) return common;
    const text = JSON.stringify(rules);
    const known = ofInstances.get(instanceId);
    if (known?.text === text) return known.policy;
    const policy = createAddressPolicy({ ...shared, rules });
    if (ofInstances.size >= MAX_POLICIES) ofInstances.clear();
    ofInstances.set(instanceId, { text, policy });
    return policy;
  };
}
