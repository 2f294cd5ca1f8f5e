/**
 * The systems that a shop talks to, played by this process. As in life, they are slow, they fail at times, and a call
 * that is made twice must not have its effect twice: each takes a key that makes it idempotent.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Order } from './order.js';

const PRICES_CENTS: Readonly<Record<string, number>> = { book: 1990, lamp: 4500, chair: 12900 };

export class OutOfStockError extends Error {
  override readonly name = 'OutOfStockError';
}

export class PaymentError extends Error {
  override readonly name = 'PaymentError';
}

export class Shop {
  /** Whether the bank's payment service answers. */
  bankIsUp = false;
  private readonly payments = new Map<string, string>();
  private readonly cardAttempts = new Map<string, number>();

  priceCents(order: Order): number {
    let totalCents = 0;
    for (const { product, quantity } of order.lines) {
      const priceCents = PRICES_CENTS[product];
      if (priceCents === undefined) throw new OutOfStockError(`there is no product "${product}"`);
      totalCents += priceCents * quantity;
    }
    return totalCents;
  }

  async reserveStock(order: Order): Promise<string> {
    await pause(60);
    return `res-${order.orderId}`;
  }

  /** The card processor drops the first connection for each payment; the bank may be down altogether. */
  async charge(order: Order, amountCents: number, key: string): Promise<string> {
    await pause(80);
    const paid = this.payments.get(key);
    if (paid) return paid;
    if (order.payWith === 'bank' && !this.bankIsUp) throw new PaymentError('the bank does not answer (503)');
    if (order.payWith === 'card') {
      const attempt = (this.cardAttempts.get(key) ?? 0) + 1;
      this.cardAttempts.set(key, attempt);
      if (attempt === 1) throw new PaymentError('the card processor closed the connection');
      this.cardAttempts.delete(key);
    }
    const paymentId = `pay-${order.orderId}-${amountCents}`;
    this.payments.set(key, paymentId);
    return paymentId;
  }

  async fraudScore(order: Order): Promise<number> {
    await pause(120);
    return order.customer.endsWith('@example.com') ? 0.02 : 0.4;
  }

  async notifyWarehouse(order: Order): Promise<{ readonly pickList: readonly string[] }> {
    await pause(40);
    return { pickList: order.lines.map(({ product, quantity }) => `${quantity} x ${product}`) };
  }

  async ship(order: Order): Promise<string> {
    await pause(70);
    return `TRACK-${order.orderId.toUpperCase()}`;
  }

  async sendReceipt(order: Order): Promise<void> {
    await pause(30);
    if (!order.customer.includes('@')) throw new Error('no address to send to');
  }
}
