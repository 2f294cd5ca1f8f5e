/** Message keys sign plain messages to other origins. They are derived from the signing keys, so they rotate together. */
import { createHmac } from 'node:crypto';
import { MESSAGE_KEY_CONTEXT, SIGNING_KEY_PREFIX } from '@everstep/sdk/protocol';

const MAX_KEYS = 1_000;
const derived = new Map<string, string>();

export function messageKeyOf(signingKey: string): string {
  const known = derived.get(signingKey);
  if (known !== undefined) return known;
  const made = SIGNING_KEY_PREFIX + createHmac('sha256', signingKey).update(MESSAGE_KEY_CONTEXT).digest('base64url');
  if (derived.size >= MAX_KEYS) derived.clear();
  derived.set(signingKey, made);
  return made;
}
