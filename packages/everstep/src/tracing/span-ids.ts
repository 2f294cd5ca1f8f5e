/**
 * Ids of traces and spans. They are derived from stored keys and ids, so that every node and every process returns the same
 * ids, before and after a crash. Keys contain 80 random bits, so the id of a trace cannot be guessed.
 */
import { hash } from 'node:crypto';

const TRACE_ID_LENGTH = 32;
const SPAN_ID_LENGTH = 16;

const deriveId = (source: string, length: number): string => hash('sha256', source, 'hex').slice(0, length);

/** Returns the id of the trace that starts with a run. */
export const traceIdOf = (runKey: string): string => deriveId(`trace ${runKey}`, TRACE_ID_LENGTH);

/** Returns the id of the span of a trigger: from the decision to create the run until the run is durable. */
export const triggerSpanId = (runKey: string): string => deriveId(`trigger ${runKey}`, SPAN_ID_LENGTH);

/** Returns the id of the span of a run. */
export const runSpanId = (runKey: string): string => deriveId(`run ${runKey}`, SPAN_ID_LENGTH);

/** Returns the id of the span of a step. A step keeps the id of its message in all attempts. */
export const stepSpanId = (messageId: string): string => deriveId(`step ${messageId}`, SPAN_ID_LENGTH);

/** Returns the id of the span of an attempt. An attempt that is repeated after a crash has the same id. */
export const attemptSpanId = (messageId: string, retried: number): string =>
  deriveId(`attempt ${messageId} ${retried}`, SPAN_ID_LENGTH);
