/**
 * Version 20: outbound rules of a queue instance, in addition to the installation's settings; JSON, null for no rules of its own.
 */
export const outboundRules = `
ALTER TABLE queue_instance ADD COLUMN outbound_rules text;
`;
