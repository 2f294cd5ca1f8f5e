/** Failure function of the order workflow. It only informs the customer, because the run may still be resumed. */
import type { FailureFunction } from '@everstep/sdk';
import { type Order, parseOrder } from './order.js';
import type { Shop } from './shop.js';

export function orderFailed(shop: Shop): FailureFunction<Order> {
  return async ({ payload, runId }) => {
    const order = parseOrder(payload);
    // An invalid order has no customer to inform.
    if (typeof order === 'string') return;
    await shop.sendApology(order, runId);
  };
}
