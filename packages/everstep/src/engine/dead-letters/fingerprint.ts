/** The fingerprint of a failure, by which dead letters are grouped. */

import type { ErrorSource } from '@everstep/sdk/protocol';
import type { DeliveryFailure } from '../runs/run.js';
import type { FailureGroup } from './dead-letter-groups.js';
import { normalizeMessage, normalizeStepName } from './normalized-text.js';
import { sha256 } from './sha256.js';

/**
 * Version of the rules. Failures that were grouped by other rules have other fingerprints; their groups are replaced in the
 * background (`runtime/services/group-upkeep.ts`).
 */
export const RULES_VERSION = 2;
/** 64 bits, which is sufficient for the groups of one instance. */
const FINGERPRINT_DIGITS = 16;

/** The properties of a failure that determine its group. */
export interface FailureDescription {
  readonly kind: FailureGroup['kind'];
  readonly workflowUrl: string;
  /** The step that failed; null for the code between steps, and for a message. */
  readonly stepName: string | null;
  /** HTTP status of the last response, if there was one. */
  readonly status: number | null;
  /** Cause of the failure if there was no response. Null if it is no longer known. */
  readonly cause: DeliveryFailure['cause'] | null;
  readonly message: string;
  /** The location in the user's code that threw the error, if it is known. */
  readonly source?: ErrorSource | undefined;
}

/** A larger column is in generated code, where every build changes it. */
const MAX_COLUMN = 200;

/**
 * Returns the location without the parts that change with other code: the directory and the line. In a function without a name,
 * the column distinguishes several locations.
 */
function locationOf({ file, function: name, column = 0 }: ErrorSource): string {
  const fileName = file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1);
  const suffix = name === undefined ? (column > 0 && column <= MAX_COLUMN ? `:${column}` : '') : `#${normalizeStepName(name)}`;
  return normalizeStepName(fileName) + suffix;
}

/** Some endpoints name the step only in the message; see `dialects/upstash/step-codec.ts`. */
const STEP_IN_MESSAGE = /^step "([^"]{1,1024})": (.*)$/s;

/**
 * Returns the group of a failure. The result depends only on the arguments, in later versions too, as long as `RULES_VERSION`
 * does not change.
 */
export function groupOf(failure: FailureDescription): FailureGroup {
  const { kind, workflowUrl, stepName, status, cause, message, source } = failure;
  const match = STEP_IN_MESSAGE.exec(message);
  const originalName = stepName ?? match?.[1] ?? null;
  const normalizedStep = originalName === null ? null : normalizeStepName(originalName);
  const normalizedText = normalizeMessage(match?.[2] ?? message);
  const location = source ? locationOf(source) : null;
  const digest = sha256(JSON.stringify([RULES_VERSION, kind, normalizedStep, status ?? cause, normalizedText, location]));
  return {
    fingerprint: digest.slice(0, FINGERPRINT_DIGITS),
    rules: RULES_VERSION,
    kind,
    stepName: normalizedStep,
    message: normalizedText,
    workflowUrl,
  };
}
