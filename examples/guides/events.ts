import { type Client, serve } from '@everstep/sdk';

const approvalOf = (orderId: string) => `order/${orderId}/approved`;
const refusalOf = (orderId: string) => `order/${orderId}/refused`;

/** Waits up to two days for the order to be approved or refused. */
export const order = serve<{ orderId: string; packingRunId: string }, string>(async (context) => {
  const { orderId, packingRunId } = context.payload;
  const decision = await context.waitForAny<{ by: string }>('decision', [approvalOf(orderId), refusalOf(orderId)], {
    timeout: '2d',
  });
  if (decision.timeout) return 'no decision';
  const { by } = decision.eventData;
  if (decision.eventId === refusalOf(orderId)) return `refused by ${by}`;
  await context.notify('notify packing', 'go', { orderId }, { workflowRunId: packingRunId });
  return `approved by ${by}`;
});

/** Waits for the event `go`. An event that arrives before the wait starts is kept for the run. */
export const packing = serve<unknown, string>(async (context) => {
  await context.sleep('print labels', '1h');
  const go = await context.waitForEvent<{ orderId: string }>('go', 'go', { timeout: '7d' });
  return go.timeout ? 'unpacked' : `packed ${go.eventData.orderId}`;
});

/** Approves an order. Returns false if no run waits for the approval. */
export async function approve(client: Client, orderId: string, by: string): Promise<boolean> {
  const notified = await client.notify({ eventId: approvalOf(orderId), eventData: { by } });
  return notified.length > 0;
}
