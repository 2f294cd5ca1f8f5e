/** Signs webhooks by the rules of Standard Webhooks: HMAC-SHA256 over the id, the time and the body. */
import { createHmac } from 'node:crypto';
import type { WebhookSignature } from '../../ports/message-sender.js';

const SECRET_PREFIX = /^whsec_/;
const SECOND_MS = 1_000;

/** Returns the headers of a signed webhook. `now` is in Unix ms. */
export function webhookHeaders(
  { id, secret }: WebhookSignature,
  body: Uint8Array,
  now: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / SECOND_MS));
  const key = Buffer.from(secret.replace(SECRET_PREFIX, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
