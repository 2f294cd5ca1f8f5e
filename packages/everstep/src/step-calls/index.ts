export { type AddressPoliciesOptions, createAddressPolicies } from './address-policies.js';
export type { AddressPolicy, AddressVerdict, OwnListener } from './address-policy.js';
export { createHttpMessageSender } from './http-message-sender.js';
export { createHttpStepCaller, type OutboundOptions } from './http-step-caller.js';
export { createNameResolver } from './names/index.js';
export { createOutbound, type Outbound } from './outbound.js';
