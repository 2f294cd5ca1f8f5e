/**
 * Identifiers in Crockford's base 32. They are unguessable (80 random bits). As text they sort by creation time, because they
 * start with it (Unix ms).
 * Keeps invariant 22.
 */
import type { AlertSettings } from './alerts/alert-settings.js';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARACTERS = 10;
const RANDOM_BYTES = 10;

/** Prefix of the id of a run, message, dead letter, webhook, schedule, repair, worker connection, alert, alert event or note. */
export type IdPrefix = 'wfr' | 'msg' | 'dlq' | 'whk' | 'sch' | 'rep' | 'con' | 'alr' | 'ale' | 'nte';

/** The time and the randomness from which an id is generated. */
export interface IdSource {
  /** Time of creation, Unix ms. */
  readonly now: number;
  readonly random: { bytes(count: number): Uint8Array };
}

/** The inputs of a decision: the time, randomness, and settings of the server. */
export interface DecisionContext extends IdSource {
  /** Public URL of the server, without a trailing slash. Webhook URLs start with it. */
  readonly publicUrl: string;
  /** Limit of the bodies that steps send, and of results. If absent or null, only the limits of the server apply. */
  readonly messageLimit?: MessageLimit | null;
  /** Alert rules and lifecycle webhooks of the instance. Absent or null if there are none. */
  readonly alerts?: AlertSettings | null;
}

/** The message size limit of a plan. */
export interface MessageLimit {
  /** Name of the plan. */
  readonly plan: string;
  readonly maxBytes: number;
}

/** Returns a key of 26 characters: 10 for the time, 16 for randomness. */
export function newKey(context: IdSource): string {
  let timeText = '';
  let remainingTime = context.now;
  for (let i = 0; i < TIME_CHARACTERS; i++) {
    timeText = ALPHABET[remainingTime % 32] + timeText;
    remainingTime = Math.floor(remainingTime / 32);
  }
  const bytes = context.random.bytes(RANDOM_BYTES);
  let randomText = '';
  let pendingBitCount = 0;
  let pendingBits = 0;
  for (const byte of bytes) {
    pendingBits = ((pendingBits << 8) | byte) & 0xfff;
    pendingBitCount += 8;
    while (pendingBitCount >= 5) {
      pendingBitCount -= 5;
      randomText += ALPHABET[(pendingBits >> pendingBitCount) & 31];
    }
  }
  return timeText + randomText;
}

/** Returns a new id with a prefix. */
export function newId(prefix: IdPrefix, context: IdSource): string {
  return `${prefix}_${newKey(context)}`;
}

/** Number of values that distinguish decisions on the same state. */
const VERSION_SPREAD = 2 ** 24;
const SPREAD_BYTES = 3;

/**
 * Returns the version that follows `version`. Its random part distinguishes decisions: two processes can decide on the same
 * state, and each continues from its own result, but only one of them is written. With a simple counter, the next decision of
 * the other process would appear to follow from the written one.
 */
export function nextVersion(version: number, { random }: Pick<IdSource, 'random'>): number {
  let randomPart = 0;
  for (const byte of random.bytes(SPREAD_BYTES)) randomPart = randomPart * 256 + byte;
  return (Math.floor(version / VERSION_SPREAD) + 1) * VERSION_SPREAD + randomPart;
}

/** Returns the id of a plain message. It contains the key of its run, so that the run can be found without a lookup. */
export const messageIdOf = (runKey: string): string => `msg_${runKey}`;

/** Returns the key in the id of a plain message, or null if the id cannot belong to a plain message. */
export const runKeyOfMessage = (messageId: string): string | null => (messageId.startsWith('msg_') ? messageId.slice(4) : null);
