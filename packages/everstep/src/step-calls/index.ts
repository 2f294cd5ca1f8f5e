export { type AddressPolicy, type AddressPolicyOptions, type AddressVerdict, createAddressPolicy } from './address-policy.js';
export { createHttpStepCaller, type HttpStepCallerOptions } from './http-step-caller.js';
