/** Version 18: an index of queued messages that are due and unclaimed, so that reading them does not read other tasks. */
export const queuedTasks = `
CREATE INDEX task_queued ON task (due_at, run_key, slot)
  WHERE queue IS NOT NULL AND due_at IS NOT NULL AND claimed_by IS NULL;
`;
