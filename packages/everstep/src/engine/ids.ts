/**
 * Identifiers: unguessable (80 random bits), sortable by creation (48 bits of
 * Unix ms in front), in Crockford's base 32, so that they sort as text.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARACTERS = 10;
const RANDOM_BYTES = 10;

export type IdPrefix = 'wfr' | 'msg' | 'dlq' | 'whk' | 'sch' | 'rep';

/** What an id is made of. */
export interface IdSource {
  /** Unix ms. */
  readonly now: number;
  readonly random: { bytes(count: number): Uint8Array };
}

/** What a decision may use: the time, randomness, and where the service stands. */
export interface DecisionContext extends IdSource {
  /** Where the service is reached from outside, without a slash at the end: webhook URLs begin with it. */
  readonly publicUrl: string;
  /** The largest body that a step may send to somebody; absent or null: no limit but those of the service. */
  readonly messageLimit?: MessageLimit | null;
}

/** What a plan says of the size of a message. */
export interface MessageLimit {
  /** Name of the plan. */
  readonly plan: string;
  readonly maxBytes: number;
}

/** 26 characters: 10 of time, 16 of randomness. */
export function newKey(context: IdSource): string {
  let time = '';
  let rest = context.now;
  for (let i = 0; i < TIME_CHARACTERS; i++) {
    time = ALPHABET[rest % 32] + time;
    rest = Math.floor(rest / 32);
  }
  const bytes = context.random.bytes(RANDOM_BYTES);
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(held >> bits) & 31];
    }
  }
  return time + text;
}

export function newId(prefix: IdPrefix, context: IdSource): string {
  return `${prefix}_${newKey(context)}`;
}

/** Decisions that are taken on the same state are told apart by so many values. */
const VERSION_SPREAD = 2 ** 24;
const SPREAD_BYTES = 3;

/**
 * The version of what is decided on that one. Two processes may decide on the same state, each go on from what it made of
 * it, and only one of the two is taken: with a mere count, what the other one decided next would seem to follow from that.
 */
export function nextVersion(version: number, { random }: Pick<IdSource, 'random'>): number {
  let lot = 0;
  for (const byte of random.bytes(SPREAD_BYTES)) lot = lot * 256 + byte;
  return (Math.floor(version / VERSION_SPREAD) + 1) * VERSION_SPREAD + lot;
}

/** The id of a plain message: made of the key of its run, so that it leads there by itself. */
export const messageIdOf = (runKey: string): string => `msg_${runKey}`;

/** The key in the id of a plain message; null for what can be no such id. */
export const keyOfMessage = (messageId: string): string | null => (messageId.startsWith('msg_') ? messageId.slice(4) : null);
