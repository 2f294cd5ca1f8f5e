/** Operations that exist only in this dialect, or whose responses differ in it. */
import type { Operation } from '../operation.js';
import { flowControlOperations } from './flow-control.js';
import { hookOperations } from './hooks.js';
import { logOperations } from './logs.js';
import { managementOperations } from './management.js';
import { dlqOperations } from './messages/dlq.js';
import { enqueueOperations } from './messages/enqueue.js';
import { messageOperations } from './messages/messages.js';
import { publishItemOperations } from './messages/publish.js';
import { queueOperations } from './messages/queues.js';
import { scheduleOperations } from './messages/schedules.js';
import { urlGroupOperations } from './messages/url-groups.js';
import { documentOperationsOf, openApiDocumentOf } from './openapi.js';
import { runOperations } from './workflows/runs.js';
import { workflowBulkOperations } from './workflows/workflow-bulk.js';
import { cancelWorkflowRuns } from './workflows/workflow-cancel.js';
import { workflowDeadLetterOperations } from './workflows/workflow-dead-letters.js';
import { workflowEventOperations } from './workflows/workflow-events.js';
import { workflowLogOperations } from './workflows/workflow-logs.js';

/** Returns the OpenAPI document of this dialect. `serviceVersion` is shown next to the version of the API. */
export const upstashOpenApiDocument = (serviceVersion: string): object =>
  openApiDocumentOf([...UPSTASH_OPERATIONS, ...UPSTASH_MANAGEMENT_OPERATIONS], serviceVersion);

const documentOperations = documentOperationsOf(upstashOpenApiDocument);

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
  documentOperations.operation,
];
/** Operations of the management API. */
export const UPSTASH_MANAGEMENT_OPERATIONS: readonly Operation[] = managementOperations;

/** The operations of this dialect, by the API that serves them. */
export const UPSTASH_API = {
  runtime: UPSTASH_OPERATIONS,
  management: UPSTASH_MANAGEMENT_OPERATIONS,
  references: [documentOperations.reference],
};
