import { NonRetryableError } from '@everstep/sdk';

/**
 * Processes an order. Everstep records the result of each step, so a finished step is not repeated after a failure.
 *
 * @param {import('@everstep/sdk').WorkflowContext<{ id: string, amountCents: number }>} context
 */
export async function processOrder(context) {
  const { id, amountCents } = context.payload;
  if (typeof id !== 'string' || !Number.isInteger(amountCents)) {
    throw new NonRetryableError('the payload must be an order, such as {"id":"o-1","amountCents":4200}');
  }

  await context.run('reserve stock', () => console.log(`Reserving stock for order ${id}`));

  // These two steps run in parallel.
  const [payment] = await Promise.all([
    context.run('charge payment', () => ({ paymentId: `pay-${id}` })),
    context.run('notify warehouse', () => console.log(`Notifying the warehouse of order ${id}`)),
  ]);

  // No request is open while the run sleeps.
  await context.sleep('grace period', '1s');

  return context.run('create receipt', () => ({ orderId: id, paymentId: payment.paymentId, amountCents }));
}
