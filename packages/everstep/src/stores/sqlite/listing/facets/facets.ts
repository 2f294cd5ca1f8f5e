/** Facets by which rows can be filtered. Their numbers are stored in the database file: they never change and are never reused. */
export const FACET = Object.freeze({
  /** Includes plain messages, with separate values; see stateValue. */
  runStatus: 1,
  runUrl: 2,
  runLabel: 3,
  runCallerIp: 4,
  runFlowControlKey: 5,
  runId: 6,

  /** State of the failure function, or NO_STATE. Every dead letter has one of these values, so together they cover all entries. */
  deadLetterState: 17,
  deadLetterUrl: 18,
  deadLetterLabel: 19,
  deadLetterCallerIp: 20,
  deadLetterFlowControlKey: 21,
  deadLetterRunId: 22,
  /** Prefixes of the run id that end at a separator, see separatedPrefixes. */
  deadLetterRunIdPrefix: 23,
  /** Time when the run was created, Unix ms, as decimal digits. */
  deadLetterRunCreatedAt: 24,
  deadLetterQueue: 25,
  deadLetterUrlGroup: 26,
  deadLetterSchedule: 27,
  /** Response status as decimal digits; entries from versions without messages have none. */
  deadLetterResponseStatus: 28,
  /** Fingerprint of the group. */
  deadLetterFingerprint: 29,

  /** Messages are never listed with workflow runs, so they have separate facets and neither index grows with the other. */
  messageUrl: 33,
  messageLabel: 34,
  messageCallerIp: 35,
  messageFlowControlKey: 36,
  messageQueue: 37,
  messageUrlGroup: 38,
  messageSchedule: 39,
});

export type Facet = (typeof FACET)[keyof typeof FACET];

export interface FacetValue {
  readonly facet: Facet;
  readonly value: string;
}

export const NO_STATE = '';

export type RunKind = 'workflow' | 'message';

/**
 * Returns the state of a run, or of the failure function of a dead letter, as it is stored in the index. States of messages have a
 * prefix, which distinguishes them from states of workflow runs.
 */
export const stateValue = (kind: RunKind, state: string): string => (kind === 'workflow' ? state : `message ${state}`);

const RUN_KINDS: readonly RunKind[] = ['workflow', 'message'];

/** Returns the stored values of the states for runs of this kind, or for all kinds if it is undefined. */
export const stateValues = (kind: RunKind | undefined, states: readonly string[]): readonly string[] =>
  (kind === undefined ? RUN_KINDS : [kind]).flatMap((runKind) => states.map((state) => stateValue(runKind, state)));

const MAX_SEPARATED_PREFIXES = 8;

/**
 * Returns the prefixes of an id that end with something other than an ASCII letter or digit, shortest first, at most eight: ids are
 * often grouped by such prefixes (`order-`, `order-eu-`). A search by a prefix that very many ids share then need not read every
 * id.
 */
export function separatedPrefixes(id: string): readonly string[] {
  const prefixes: string[] = [];
  for (let end = 1; end <= id.length && prefixes.length < MAX_SEPARATED_PREFIXES; end++) {
    if (isSeparator(id.charCodeAt(end - 1))) prefixes.push(id.slice(0, end));
  }
  return prefixes;
}

function isSeparator(code: number): boolean {
  const letter = code | 0x20;
  const isLetter = letter >= 0x61 && letter <= 0x7a;
  const isDigit = code >= 0x30 && code <= 0x39;
  return code < 0x80 && !isLetter && !isDigit;
}
