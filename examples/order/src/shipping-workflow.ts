/** The shipping workflow. The order workflow invokes it after the payment. */
import type { WorkflowContext } from '@everstep/sdk';
import type { Order } from './order.js';
import type { Shop } from './shop.js';

export interface Shipment {
  readonly trackingNumber: string;
}

const PICKUP_TIME = '1s';

export function shippingWorkflow(shop: Shop) {
  return async (ctx: WorkflowContext<Order>): Promise<Shipment> => {
    const order = ctx.payload;
    await ctx.run('pack', () => shop.pack(order));
    await ctx.sleep('until pickup', PICKUP_TIME);
    const trackingNumber = await ctx.run('hand to carrier', () => shop.ship(order));
    return { trackingNumber };
  };
}
