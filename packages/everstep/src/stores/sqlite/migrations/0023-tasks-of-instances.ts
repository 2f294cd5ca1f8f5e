/** Version 23: the queue instance of a task, so that due tasks are read by instance, whatever others have due. */
export const tasksOfInstances = `
ALTER TABLE task ADD COLUMN tenant INTEGER;
UPDATE task SET tenant = (SELECT r.tenant FROM run r WHERE r.seq = task.run_seq);
CREATE INDEX task_of_tenant_by_due_time ON task (tenant, due_at, run_seq, slot) WHERE due_at IS NOT NULL;
`;
