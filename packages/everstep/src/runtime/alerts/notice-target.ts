/** Where a notice is sent, and what happens if its destination does not exist. */
import { type AlertDestination, displayUrl } from '../../engine/alerts/alert-settings.js';
import type { DeliveryFailure } from '../../engine/runs/run.js';
import type { Message } from '../../ports/message-sender.js';

const SECRET_BYTES = 24;

/** Returns a new secret of a webhook: the prefix `whsec_` and a random key in Base64. */
export const newWebhookSecret = (random: { bytes(count: number): Uint8Array }): string =>
  `whsec_${Buffer.from(random.bytes(SECRET_BYTES)).toString('base64')}`;

/** Returns the URL or the addresses of the destination, and how a notice to it is signed. */
export function targetOf(
  destination: AlertDestination,
  messageId: string,
): Pick<Message, 'url' | 'webhook' | 'mail' | 'isNotice'> {
  const isNotice = true;
  switch (destination.kind) {
    case 'webhook':
      return { isNotice, url: destination.url, webhook: { id: messageId, secret: destination.secret } };
    case 'slack':
      return { isNotice, url: destination.url };
    case 'email':
      return { isNotice, url: displayUrl(destination), mail: { id: messageId, to: destination.to } };
  }
}

/** The failure of a notice whose destination is unknown. It is retried, because another process may have just created it. */
export const unknownDestinationFailure = (name: string): DeliveryFailure => ({
  cause: 'refused',
  message: `the alert destination "${name}" does not exist`,
  status: null,
  responseHeaders: {},
  responseBody: new Uint8Array(),
  retry: { kind: 'backoff' },
});
