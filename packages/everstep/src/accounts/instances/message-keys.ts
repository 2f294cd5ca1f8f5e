/**
 * Message keys sign plain messages to origins that do not belong to the instance. They are derived from the signing keys,
 * so they rotate with them.
 */
import { createHmac } from 'node:crypto';
import { MESSAGE_KEY_CONTEXT, SIGNING_KEY_PREFIX } from '@everstep/sdk/protocol';

const MAX_CACHED_KEYS = 1_000;
const derivedKeys = new Map<string, string>();

export function messageKeyOf(signingKey: string): string {
  const cachedKey = derivedKeys.get(signingKey);
  if (cachedKey !== undefined) return cachedKey;
  const messageKey = SIGNING_KEY_PREFIX + createHmac('sha256', signingKey).update(MESSAGE_KEY_CONTEXT).digest('base64url');
  if (derivedKeys.size >= MAX_CACHED_KEYS) derivedKeys.clear();
  derivedKeys.set(signingKey, messageKey);
  return messageKey;
}
