import { serve } from '@everstep/sdk';

export interface Order {
  readonly items: readonly { readonly cents: number; readonly count: number }[];
  readonly bankUrl: string;
}

/** Adds up an order in cheap steps, which are recorded together, and then charges it. */
export const charge = serve<Order, string>(
  async (context) => {
    const { items, bankUrl } = context.payload;
    let cents = 0;
    for (const [index, item] of items.entries()) {
      cents += await context.run(`item ${index + 1}`, () => item.cents * item.count);
    }
    const id = await context.run('id', () => crypto.randomUUID());
    // Everything above is recorded before the server sends this request.
    await context.call('charge', { url: bankUrl, method: 'POST', body: { id, cents }, retries: 3 });
    return id;
  },
  { checkpoint: { maxSteps: 50, maxMs: 100 } },
);
