import type { Run } from '../../engine/runs/run.js';
import type { RunReference } from '../../engine/writes.js';

export const referenceOf = ({ key, workflowRunId, createdAt }: Run): RunReference => ({
  runKey: key,
  workflowRunId,
  createdAt,
});
