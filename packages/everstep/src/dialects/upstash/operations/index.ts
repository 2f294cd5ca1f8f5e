/** The operations that only clients of this dialect know, or that answer them otherwise than others. */
import { ApiError } from '../../../contract/error-codes.js';
import type { Operation } from '../../../http-api/operation.js';
import type { PublishItems } from './batch-items.js';
import { hookOperations } from './hooks.js';
import { managementOperations } from './management.js';
import { openApiDocumentOf, openApiOperation } from './openapi.js';
import { publishOperations } from './publish.js';
import { runOperations } from './runs.js';

/** `serviceVersion` is named beside the version of the API. */
export const upstashOpenApiDocument = (serviceVersion: string): object =>
  openApiDocumentOf([...UPSTASH_OPERATIONS, ...UPSTASH_MANAGEMENT_OPERATIONS], serviceVersion);

const publishItems: PublishItems = () => {
  throw new ApiError('bad-request', 'plain messages are not taken by this version of the service');
};

/** Of the runtime API. */
export const UPSTASH_OPERATIONS: readonly Operation[] = [
  ...publishOperations(publishItems),
  ...runOperations,
  ...hookOperations,
  openApiOperation(upstashOpenApiDocument),
];
/** Of the management API. */
export const UPSTASH_MANAGEMENT_OPERATIONS: readonly Operation[] = managementOperations;
