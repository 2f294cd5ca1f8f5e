/** What a failure has in common with others: their fingerprint, by which dead letters are grouped. */
import type { FailureGroup } from './dead-letter-groups.js';
import { normalisedMessage, normalisedStepName } from './normalised-text.js';
import type { DeliveryFailure } from './run.js';
import { sha256 } from './sha256.js';

/** Changes whenever the rules do: what was grouped by other rules is another group. */
const RULES = 1;
/** 64 bits: enough for groups of one instance. */
const FINGERPRINT_DIGITS = 16;

export interface FailedAs {
  readonly kind: FailureGroup['kind'];
  readonly workflowUrl: string;
  /** The step that failed; null for the code between steps, and for a message. */
  readonly stepName: string | null;
  /** HTTP status of the last answer, when there was one. */
  readonly status: number | null;
  /** Where there was none: what went wrong instead. Null when that is not known any more. */
  readonly cause: DeliveryFailure['cause'] | null;
  readonly message: string;
}

/** Some endpoints tell the step in the message alone: see `dialects/upstash/step-codec.ts`. */
const TOLD_STEP = /^step "([^"]{1,1024})": (.*)$/s;

/** Depends on nothing but what it is given, now and in later versions, as long as `RULES` is the same. */
export function groupOf({ kind, workflowUrl, stepName, status, cause, message }: FailedAs): FailureGroup {
  const told = TOLD_STEP.exec(message);
  const name = stepName ?? told?.[1] ?? null;
  const step = name === null ? null : normalisedStepName(name);
  const words = normalisedMessage(told?.[2] ?? message);
  const digest = sha256(JSON.stringify([RULES, kind, step, status ?? cause, words]));
  return { fingerprint: digest.slice(0, FINGERPRINT_DIGITS), kind, stepName: step, message: words, workflowUrl };
}
