/** What the shop does when an order has failed for good. It may be resumed yet, so nothing is given up: only told. */
import type { FailureFunction } from '@everstep/sdk';
import { type Order, parseOrder } from './order.js';
import type { Shop } from './shop.js';

export function orderFailed(shop: Shop): FailureFunction<Order> {
  return async ({ payload, runId }) => {
    const order = parseOrder(payload);
    // Nobody is known who could be told.
    if (typeof order === 'string') return;
    await shop.sendApology(order, runId);
  };
}
