/** Version 23: due schedules, and due unclaimed tasks, are read by instance, regardless of how many others have. */
export const tasksByInstance = `
CREATE INDEX task_unclaimed_of_instance ON task (instance_id, due_at, run_key, slot)
  WHERE due_at IS NOT NULL AND claimed_by IS NULL;
CREATE INDEX schedule_of_instance_by_next_tick ON schedule (instance_id, next_at, seq) WHERE next_at IS NOT NULL;
`;
