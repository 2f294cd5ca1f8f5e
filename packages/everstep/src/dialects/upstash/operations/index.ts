/** Operations that exist only in this dialect, or whose answers differ in it. */
import type { Operation } from '../../../http-api/operation.js';
import { dlqOperations } from './dlq.js';
import { enqueueOperations } from './enqueue.js';
import { flowControlOperations } from './flow-control.js';
import { hookOperations } from './hooks.js';
import { logOperations } from './logs.js';
import { managementOperations } from './management.js';
import { messageOperations } from './messages.js';
import { describedBy, openApiDocumentOf } from './openapi.js';
import { publishItemOperations } from './publish.js';
import { queueOperations } from './queues.js';
import { runOperations } from './runs.js';
import { scheduleOperations } from './schedules.js';
import { urlGroupOperations } from './url-groups.js';
import { workflowBulkOperations } from './workflow-bulk.js';
import { cancelWorkflowRuns } from './workflow-cancel.js';
import { workflowDeadLetterOperations } from './workflow-dead-letters.js';
import { workflowEventOperations } from './workflow-events.js';
import { workflowLogOperations } from './workflow-logs.js';

/** `serviceVersion` is shown next to the version of the API. */
export const upstashOpenApiDocument = (serviceVersion: string): object =>
  openApiDocumentOf([...UPSTASH_OPERATIONS, ...UPSTASH_MANAGEMENT_OPERATIONS], serviceVersion);

const described = describedBy(upstashOpenApiDocument);

/** Operations of the runtime API. */
export const UPSTASH_OPERATIONS: readonly Operation[] = [
  ...publishItemOperations,
  ...enqueueOperations,
  ...messageOperations,
  ...queueOperations,
  ...urlGroupOperations,
  ...scheduleOperations,
  ...flowControlOperations,
  ...dlqOperations,
  ...logOperations,
  ...runOperations,
  ...hookOperations,
  cancelWorkflowRuns,
  ...workflowLogOperations,
  ...workflowEventOperations,
  ...workflowDeadLetterOperations,
  ...workflowBulkOperations,
  described.operation,
];
/** Operations of the management API. */
export const UPSTASH_MANAGEMENT_OPERATIONS: readonly Operation[] = managementOperations;

/** The operations of this dialect, by the API that serves them. */
export const UPSTASH_API = {
  runtime: UPSTASH_OPERATIONS,
  management: UPSTASH_MANAGEMENT_OPERATIONS,
  references: [described.reference],
};
