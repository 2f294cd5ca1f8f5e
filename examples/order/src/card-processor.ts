/**
 * Simulates a third-party API for card payments; the workflow calls it with `ctx.call`. It responds to the first
 * request for each payment with 503, so that the demo shows a retry. It recognizes repeated payments by their idempotency key.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

export interface CardPayment {
  readonly paymentId: string;
}

interface PaymentRequest {
  readonly orderId: string;
  readonly amountCents: number;
}

const MAX_REQUEST_BYTES = 10_000;

async function readPayment(request: IncomingMessage): Promise<PaymentRequest | null> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_REQUEST_BYTES) return null;
  }
  try {
    const { orderId, amountCents } = JSON.parse(text) as Partial<Record<keyof PaymentRequest, unknown>>;
    return typeof orderId === 'string' && typeof amountCents === 'number' ? { orderId, amountCents } : null;
  } catch {
    return null;
  }
}

export class CardProcessor {
  private readonly payments = new Map<string, CardPayment>();
  private readonly rejectedOnce = new Set<string>();

  /** Handles `POST { orderId, amountCents }` with the header `Idempotency-Key`. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const respond = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const key = request.headers['idempotency-key'];
    const payment = await readPayment(request);
    if (typeof key !== 'string' || payment === null)
      return void respond(400, { error: 'send { orderId, amountCents } as JSON, with the header Idempotency-Key' });
    await pause(80);
    const existingPayment = this.payments.get(key);
    if (existingPayment) return void respond(200, existingPayment);
    if (!this.rejectedOnce.has(key)) {
      this.rejectedOnce.add(key);
      return void respond(503, { error: 'card processor busy, retry later' });
    }
    this.rejectedOnce.delete(key);
    const newPayment = { paymentId: `pay-${payment.orderId}-${payment.amountCents}` };
    this.payments.set(key, newPayment);
    respond(200, newPayment);
  }
}
