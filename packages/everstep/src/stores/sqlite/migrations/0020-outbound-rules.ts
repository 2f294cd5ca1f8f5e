/**
 * Version 20: outbound rules of a queue instance, in addition to the installation's settings, as JSON; null if there are
 * none.
 */
export const outboundRules = `
ALTER TABLE queue_instance ADD COLUMN outbound_rules TEXT;
`;
