import { type Client, serve } from '@everstep/sdk';

const approvalOf = (orderId: string) => `order/${orderId}/approved`;
const refusalOf = (orderId: string) => `order/${orderId}/refused`;

/** An order waits until somebody decides on it, for two days at most. */
export const order = serve<{ orderId: string; packingRunId: string }, string>(async (context) => {
  const { orderId, packingRunId } = context.payload;
  const decision = await context.waitForAny<{ by: string }>('decision', [approvalOf(orderId), refusalOf(orderId)], {
    timeout: '2d',
  });
  if (decision.timeout) return 'nobody decided';
  const { by } = decision.eventData;
  if (decision.eventId === refusalOf(orderId)) return `refused by ${by}`;
  await context.notify('tell packing', 'go', { orderId }, { workflowRunId: packingRunId });
  return `approved by ${by}`;
});

/** Packing has work of its own first; if it is told to go before it waits for that, the event is kept for it. */
export const packing = serve<unknown, string>(async (context) => {
  await context.sleep('print labels', '1h');
  const go = await context.waitForEvent<{ orderId: string }>('go', 'go', { timeout: '7d' });
  return go.timeout ? 'unpacked' : `packed ${go.eventData.orderId}`;
});

/** What the button "approve" does. False when no order waits for it. */
export async function approve(client: Client, orderId: string, by: string): Promise<boolean> {
  const notified = await client.notify({ eventId: approvalOf(orderId), eventData: { by } });
  return notified.length > 0;
}
