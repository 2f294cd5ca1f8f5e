export { type AddressPoliciesOptions, createAddressPolicies } from './addresses/address-policies.js';
export type { AddressPolicy, AddressVerdict, OwnListener } from './addresses/address-policy.js';
export { createHttpMessageSender } from './http-message-sender.js';
export { createHttpStepCaller, type OutboundOptions } from './http-step-caller.js';
export { createNameResolver } from './names/index.js';
export { createOutbound, type Outbound } from './outbound.js';
