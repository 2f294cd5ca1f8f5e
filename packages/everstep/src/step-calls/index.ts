export { type AddressPolicy, type AddressPolicyOptions, type AddressVerdict, createAddressPolicy } from './address-policy.js';
export { createHttpMessageSender } from './http-message-sender.js';
export { createHttpStepCaller, type OutboundOptions } from './http-step-caller.js';
export { createOutbound, type Outbound } from './outbound.js';
