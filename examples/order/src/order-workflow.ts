/**
 * The order workflow: an ordinary async function. Everstep records the result of each step, so the function continues
 * after the last recorded step if the app crashes or is deployed again, or if the run is resumed.
 */
import { NonRetryableError, type WorkflowContext } from '@everstep/sdk';
import type { CardPayment } from './card-processor.js';
import { type Order, parseOrder, type Receipt } from './order.js';
import type { Shipment } from './shipping-workflow.js';
import { OutOfStockError, PaymentError, type Shop } from './shop.js';

const MAX_FRAUD_SCORE = 0.9;
/** Orders from this price on must be confirmed by the customer. */
const CONFIRM_FROM_CENTS = 5_000;
const CONFIRM_WITHIN = '1d';
/** The carrier takes one parcel at a time, across all runs. */
const CARRIER = { key: 'carrier', parallelism: 1 };

/** Returns the id of the event that the shop sends when the customer confirms an order. */
export const confirmationOf = (orderId: string): string => `confirmed-${orderId}`;

export function orderWorkflow(shop: Shop) {
  return async (ctx: WorkflowContext<Order>): Promise<Receipt> => {
    const { order, totalCents } = await ctx.run('validate order', () => {
      const parsed = parseOrder(ctx.payload);
      // Retrying an invalid order cannot help.
      if (typeof parsed === 'string') throw new NonRetryableError(`invalid order: ${parsed}`);
      try {
        return { order: parsed, totalCents: shop.priceCents(parsed) };
      } catch (error) {
        if (error instanceof OutOfStockError) throw new NonRetryableError(error.message);
        throw error;
      }
    });

    await ctx.run('reserve stock', () => shop.reserveStock(order));

    if (totalCents >= CONFIRM_FROM_CENTS) {
      const confirmation = await ctx.waitForEvent('customer confirms', confirmationOf(order.orderId), {
        timeout: CONFIRM_WITHIN,
      });
      if (confirmation.timeout) throw new NonRetryableError(`order ${order.orderId} was not confirmed within ${CONFIRM_WITHIN}`);
    }

    const [paymentId, fraudScore] = await Promise.all([
      order.payWith === 'card'
        ? chargeCard(ctx, order, totalCents)
        : ctx.run('charge payment', () => shop.chargeBank(order, totalCents, ctx.runId)),
      ctx.run('check fraud', () => shop.fraudScore(order)),
      ctx.run('notify warehouse', () => shop.notifyWarehouse(order)),
    ]);
    if (fraudScore > MAX_FRAUD_SCORE)
      throw new NonRetryableError(`order ${order.orderId} was rejected as fraud (score ${fraudScore})`);

    const shipping = await ctx.invoke<Shipment>('ship', {
      workflow: new URL('/shipping', ctx.url),
      payload: order,
      flowControl: CARRIER,
    });
    if (shipping.state !== 'succeeded') throw new NonRetryableError(`order ${order.orderId} was not shipped: ${shipping.state}`);

    await ctx.run('send receipt', () => shop.sendReceipt(order));
    return { orderId: order.orderId, totalCents, paymentId, trackingNumber: shipping.body.trackingNumber };
  };
}

/** Everstep sends the request and retries it; the shop runs no code until the response arrives. */
async function chargeCard(ctx: WorkflowContext<Order>, order: Order, amountCents: number): Promise<string> {
  const response = await ctx.call<CardPayment>('charge payment', {
    url: new URL('/card-processor', ctx.url),
    method: 'POST',
    headers: { 'Idempotency-Key': ctx.runId },
    body: { orderId: order.orderId, amountCents },
    retries: 3,
    retryDelay: '400 * (1 + retried)',
  });
  if (!response.ok) throw new PaymentError(`card processor returned status ${response.status}`);
  return response.body.paymentId;
}
