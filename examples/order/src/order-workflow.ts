/**
 * An order, from basket to receipt. It reads like any async function; each step is recorded when it is done, so after a
 * crash, a deploy or a resume from the dead letter queue the function goes on where it was.
 */
import { NonRetryableError, type WorkflowContext } from '@everstep/sdk';
import type { CardPayment } from './card-processor.js';
import { type Order, parseOrder, type Receipt } from './order.js';
import type { Shipment } from './shipping-workflow.js';
import { OutOfStockError, PaymentError, type Shop } from './shop.js';

const MAX_FRAUD_SCORE = 0.9;
/** From this price on the customer is asked again. */
const CONFIRM_FROM_CENTS = 5_000;
const CONFIRM_WITHIN = '1d';
/** The carrier takes one thing at a time, whoever's it is. */
const CARRIER = { key: 'carrier', parallelism: 1 };

/** The event that the shop's website sends when the customer confirms. */
export const confirmationOf = (orderId: string): string => `confirmed-${orderId}`;

export function orderWorkflow(shop: Shop) {
  return async (ctx: WorkflowContext<Order>): Promise<Receipt> => {
    const { order, totalCents } = await ctx.run('validate order', () => {
      const parsed = parseOrder(ctx.payload);
      // No retry makes a bad order good.
      if (typeof parsed === 'string') throw new NonRetryableError(`not an order: ${parsed}`);
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
    if (fraudScore > MAX_FRAUD_SCORE) throw new NonRetryableError(`order ${order.orderId} looks like fraud (${fraudScore})`);

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

/** The service makes the request, and tries again by itself: nothing of the shop is busy meanwhile. */
async function chargeCard(ctx: WorkflowContext<Order>, order: Order, amountCents: number): Promise<string> {
  const answer = await ctx.call<CardPayment>('charge payment', {
    url: new URL('/card-processor', ctx.url),
    method: 'POST',
    headers: { 'Idempotency-Key': ctx.runId },
    body: { orderId: order.orderId, amountCents },
    retries: 3,
    retryDelay: '400 * (1 + retried)',
  });
  if (!answer.ok) throw new PaymentError(`the card processor answered ${answer.status}`);
  return answer.body.paymentId;
}
