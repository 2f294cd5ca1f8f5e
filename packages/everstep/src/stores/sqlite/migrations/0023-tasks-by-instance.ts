/** Version 23: indexes to read the due tasks and schedules of one queue instance without those of other instances. */
export const tasksByInstance = `
ALTER TABLE task ADD COLUMN tenant INTEGER;
UPDATE task SET tenant = (SELECT r.tenant FROM run r WHERE r.seq = task.run_seq);
CREATE INDEX task_of_tenant_by_due_time ON task (tenant, due_at, run_seq, slot) WHERE due_at IS NOT NULL;
CREATE INDEX schedule_of_tenant_by_next_tick ON schedule (tenant, next_at) WHERE next_at IS NOT NULL;
`;
