/** The operations that only clients of this dialect know, or that answer them otherwise than others. */
import type { Operation } from '../../../http-api/operation.js';

/** Of the runtime API. */
export const UPSTASH_OPERATIONS: readonly Operation[] = [];
/** Of the management API. */
export const UPSTASH_MANAGEMENT_OPERATIONS: readonly Operation[] = [];
