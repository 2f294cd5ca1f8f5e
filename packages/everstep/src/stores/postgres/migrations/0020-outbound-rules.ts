/**
 * Version 20: outbound rules of a queue instance, which apply in addition to the settings of the installation. They are JSON; null
 * if the instance has none.
 */
export const outboundRules = `
ALTER TABLE queue_instance ADD COLUMN outbound_rules text;
`;
