/**
 * Somebody else's service that takes card payments, played by this process: the workflow reaches it with `ctx.call`. It
 * is busy at the first request for each payment, and takes a key by which it knows a payment that it has made already.
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
  private readonly busyWith = new Set<string>();

  /** `POST { orderId, amountCents }` with an `Idempotency-Key`. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const key = request.headers['idempotency-key'];
    const payment = await readPayment(request);
    if (typeof key !== 'string' || payment === null) return void answer(400, { error: 'this is no payment' });
    await pause(80);
    const paid = this.payments.get(key);
    if (paid) return void answer(200, paid);
    if (!this.busyWith.has(key)) {
      this.busyWith.add(key);
      return void answer(503, { error: 'the card processor is busy' });
    }
    this.busyWith.delete(key);
    const made = { paymentId: `pay-${payment.orderId}-${payment.amountCents}` };
    this.payments.set(key, made);
    answer(200, made);
  }
}
