export { AdminClient, type AdminClientOptions, type AuditLogOptions, acceptInvitation } from './client/administration/admin.js';
export type { AuditExportOptions, AuditVerifyOptions } from './client/administration/admin-audit.js';
export type { NarrowedDestinations, NewInstance } from './client/administration/admin-instances.js';
export type { NewSearchIndex, SearchIndexType } from './client/administration/admin-search.js';
export type { MemberRole } from './client/administration/admin-teams.js';
export type { DeleteUserOptions, UserListOptions } from './client/administration/admin-users.js';
export type {
  AlertDestinationOptions,
  AlertListOptions,
  AlertRuleOptions,
  LifecycleWebhookOptions,
} from './client/alerts.js';
export { type BatchItem, type BatchItemResult, Client, type ClientOptions } from './client/client.js';
export type {
  BulkOptions,
  DeadLetterGroupOptions,
  DeadLetterListOptions,
} from './client/dead-letters/dead-letters.js';
export type {
  RepairItemOptions,
  RepairListOptions,
  RepairPlanOptions,
  RepairStartOptions,
} from './client/dead-letters/repairs.js';
export type { DestinationName, PinnedLimits, UnpinnedLimits } from './client/flow-control.js';
export type * from './client/generated/index.js';
export type { NotifyEvent } from './client/runs/events.js';
export type {
  CancelManyOptions,
  CompareOptions,
  RunAttemptOptions,
  RunLogFilter,
  RunLogOptions,
  RunSearchOptions,
} from './client/runs/runs.js';
export type { ScheduleOptions } from './client/schedules.js';
export {
  type DocumentChoice,
  type DocumentsById,
  SearchClient,
  type SearchClientOptions,
  type SearchNamespace,
} from './client/search.js';
export type { FlowControlSettings, ListOrder, RunOverrides, SingleRecoverOptions, TriggerOptions } from './client/settings.js';
export type { LogFields, Workflow, WorkflowContext } from './context.js';
export type { Duration, Instant } from './duration.js';
export type { EncryptionOptions, PayloadCipher } from './encryption/envelope.js';
export type { Endpoint, EndpointRequest, EndpointResponse, ServeOptions, WorkflowEndpoint } from './endpoint.js';
export { createEndpoint } from './endpoint.js';
export { DecryptionError, EverstepError, NonRetryableError, PayloadError, RetryAfterError } from './errors.js';
export type { CheckpointOptions } from './executor/checkpoint.js';
export type { FailureFunction, RunFailure } from './failure-function.js';
export type { HookFailure, HookRun, HookStep, WorkflowHooks } from './hooks/workflow-hooks.js';
export type { PayloadSchema, RawPayload } from './payload.js';
export * from './protocol.js';
export { serve, type WorkflowHandler } from './serve.js';
export type { HoldOptions, NoticeOutcome, ServedWorkflow, WorkflowOptions } from './served-workflow.js';
export type { PublicSigningKey } from './signature/cryptography.js';
export type { SignatureOptions, SigningKeys } from './signature/request-signature.js';
export {
  type SignatureCheck,
  type SignatureClaims,
  type SignatureInput,
  type SignatureKeys,
  verifySignature,
} from './signature/signature.js';
export type { JsonOf } from './step-result.js';
export type * from './steps/step-types.js';
export { type ConnectedWorker, type ConnectOptions, connect, type WorkerState } from './worker/connect.js';
export type { DrainSignal } from './worker/signals.js';
export type { SocketConstructor, SocketLike } from './worker/worker-connection.js';
