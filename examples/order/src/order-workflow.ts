/**
 * An order, from basket to receipt. It reads like any async function; each step is recorded when it is done, so after a
 * crash, a deploy or a resume from the dead letter queue the function goes on where it was.
 */
import { NonRetryableError, type WorkflowContext } from '@everstep/sdk';
import { type Order, parseOrder, type Receipt } from './order.js';
import { OutOfStockError, type Shop } from './shop.js';

const MAX_FRAUD_SCORE = 0.9;
const PACKING_TIME = '1s';

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

    const [paymentId, fraudScore] = await Promise.all([
      ctx.run('charge payment', () => shop.charge(order, totalCents, ctx.runId)),
      ctx.run('check fraud', () => shop.fraudScore(order)),
      ctx.run('notify warehouse', () => shop.notifyWarehouse(order)),
    ]);
    if (fraudScore > MAX_FRAUD_SCORE) throw new NonRetryableError(`order ${order.orderId} looks like fraud (${fraudScore})`);

    await ctx.sleep('packing time', PACKING_TIME);

    const trackingNumber = await ctx.run('ship', () => shop.ship(order));
    await ctx.run('send receipt', () => shop.sendReceipt(order));
    return { orderId: order.orderId, totalCents, paymentId, trackingNumber };
  };
}
