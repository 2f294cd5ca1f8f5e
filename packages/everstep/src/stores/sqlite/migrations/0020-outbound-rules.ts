/** Version 20: what a queue instance may call, beside the settings of the installation; JSON, null for nothing of its own. */
export const outboundRules = `
ALTER TABLE queue_instance ADD COLUMN outbound_rules TEXT;
`;
