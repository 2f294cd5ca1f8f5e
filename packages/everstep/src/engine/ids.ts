/**
 * Identifiers: unguessable (80 random bits), sortable by creation (48 bits of
 * Unix ms in front), in Crockford's base 32, so that they sort as text.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARACTERS = 10;
const RANDOM_BYTES = 10;

export type IdPrefix = 'wfr' | 'msg' | 'dlq';

/** The time and randomness that a decision may use. */
export interface DecisionContext {
  /** Unix ms. */
  readonly now: number;
  readonly random: { bytes(count: number): Uint8Array };
}

/** 26 characters: 10 of time, 16 of randomness. */
export function newKey(context: DecisionContext): string {
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

export function newId(prefix: IdPrefix, context: DecisionContext): string {
  return `${prefix}_${newKey(context)}`;
}
