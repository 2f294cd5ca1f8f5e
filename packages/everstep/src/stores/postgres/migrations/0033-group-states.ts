/** Version 33: groups of dead letters that users have decided about are found without reading all groups. */
export const groupStates = `
CREATE INDEX dead_letter_group_triaged ON dead_letter_group (instance_id, kind, last_seen_at DESC, fingerprint)
  WHERE triage IS NOT NULL;
`;
