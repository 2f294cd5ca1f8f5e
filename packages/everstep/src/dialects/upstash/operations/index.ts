/** The operations that only clients of this dialect know, or that answer them otherwise than others. */
import type { Operation } from '../../../http-api/operation.js';
import { managementOperations } from './management.js';
import { openApiDocumentOf, openApiOperation } from './openapi.js';

/** `serviceVersion` is named beside the version of the API. */
export const upstashOpenApiDocument = (serviceVersion: string): object =>
  openApiDocumentOf([...UPSTASH_OPERATIONS, ...UPSTASH_MANAGEMENT_OPERATIONS], serviceVersion);

/** Of the runtime API. */
export const UPSTASH_OPERATIONS: readonly Operation[] = [openApiOperation(upstashOpenApiDocument)];
/** Of the management API. */
export const UPSTASH_MANAGEMENT_OPERATIONS: readonly Operation[] = managementOperations;
