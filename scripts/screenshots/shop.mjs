// The app of the screenshots: a shop whose orders fail in three ways.
import { NonRetryableError, serve } from '@everstep/sdk';

function charge(id) {
  const cause = new Error('connect ECONNREFUSED 10.0.0.7:5432');
  throw new NonRetryableError(`payment service answered 503 for order ${id}`, { cause });
}

function findAddress(order) {
  return order.customer.address.street;
}

function template(id) {
  throw new NonRetryableError(`the template of refund ${id} was not found`);
}

/** Processes an order. Its payload names the step that fails, so that the data is the same each time. */
export const checkout = serve(async (context) => {
  const { id, fails } = context.payload;
  const { shelf } = await context.run('reserve', () => ({ shelf: `A${id % 7}` }));
  await context.run('charge', () => (fails === 'charge' ? charge(id) : { charge: `ch_${id}`, cents: 1999 }));
  await context.sleep('cooling-off period', '2h');
  return context.run('ship', () => (fails === 'ship' ? findAddress(context.payload) : `parcel from ${shelf}`));
});

export const refund = serve(async (context) => {
  const { id, fails } = context.payload;
  await context.run('find', () => id);
  return context.run('mail', () => (fails === 'mail' ? template(id) : 'sent'));
});
