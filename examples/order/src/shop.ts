/**
 * Simulates the systems of a shop. They are slow and can fail. Operations that must not happen twice take an idempotency
 * key.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Order } from './order.js';

const PRICES_CENTS: Readonly<Record<string, number>> = { book: 1990, lamp: 4500, chair: 12900 };
const MAX_KEPT_MAILS = 1_000;

export class OutOfStockError extends Error {
  override readonly name = 'OutOfStockError';
}

export class PaymentError extends Error {
  override readonly name = 'PaymentError';
}

export class Shop {
  /** Whether the payment service of the bank is available. */
  bankIsUp = false;
  private readonly paymentIds = new Map<string, string>();
  private readonly apologies = new Map<string, string>();

  priceCents(order: Order): number {
    let totalCents = 0;
    for (const { product, quantity } of order.lines) {
      const priceCents = PRICES_CENTS[product];
      if (priceCents === undefined) throw new OutOfStockError(`unknown product "${product}"`);
      totalCents += priceCents * quantity;
    }
    return totalCents;
  }

  async reserveStock(order: Order): Promise<string> {
    await pause(60);
    return `res-${order.orderId}`;
  }

  /** Throws while the bank is down. */
  async chargeBank(order: Order, amountCents: number, key: string): Promise<string> {
    await pause(80);
    const existingPaymentId = this.paymentIds.get(key);
    if (existingPaymentId) return existingPaymentId;
    if (!this.bankIsUp) throw new PaymentError('the bank is unavailable (503)');
    const paymentId = `pay-${order.orderId}-${amountCents}`;
    this.paymentIds.set(key, paymentId);
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

  async pack(order: Order): Promise<{ readonly parcels: number }> {
    await pause(60);
    return { parcels: order.lines.length };
  }

  async ship(order: Order): Promise<string> {
    await pause(70);
    return `TRACK-${order.orderId.toUpperCase()}`;
  }

  async sendReceipt(order: Order): Promise<void> {
    await pause(30);
    if (!order.customer.includes('@')) throw new Error('the customer has no email address');
  }

  /** Sends one apology per key. Further calls with the same key do nothing. */
  async sendApology(order: Order, key: string): Promise<void> {
    await pause(30);
    if (this.apologies.has(key)) return;
    this.apologies.set(key, `Dear ${order.customer}, your order ${order.orderId} is delayed. We are working on it.`);
    const [oldestKey] = this.apologies.keys();
    if (this.apologies.size > MAX_KEPT_MAILS && oldestKey !== undefined) this.apologies.delete(oldestKey);
  }

  /** Returns the apology with this key, or undefined if none was sent. */
  apologyFor(key: string): string | undefined {
    return this.apologies.get(key);
  }
}
