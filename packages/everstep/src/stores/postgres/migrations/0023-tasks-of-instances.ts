/** Version 23: tasks that no node has claimed are read by instance, whatever others have due. */
export const tasksOfInstances = `
CREATE INDEX task_unclaimed_of_instance ON task (instance_id, due_at, run_key, slot)
  WHERE due_at IS NOT NULL AND claimed_by IS NULL;
`;
