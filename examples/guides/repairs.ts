import { type Client, NonRetryableError, type Repair, serve } from '@everstep/sdk';

export const deployment = { isBroken: true };

export const invoice = serve<{ order: number }, string>(async (context) => {
  const { order } = context.payload;
  const number = await context.run('number', () => 1000 + order);
  return context.run('send', () => {
    if (deployment.isBroken) throw new NonRetryableError('template "invoice" is missing');
    return `sent ${number}`;
  });
});

/** Freezes what failed in the night, and says what a resume of it would do. Nothing is done yet. */
export const planTheNight = (client: Client): Promise<Repair> =>
  client.repairs.plan('resume', { filter: { label: ['invoices'] } });

/** Ten first, which may not fail again but for one; and the others when somebody has looked at them. */
export const tryTen = (client: Client, { repairId }: Repair): Promise<Repair> =>
  client.repairs.start(repairId, {
    ratePerSecond: 5,
    canary: { count: 10, maxFailurePercent: 10, thenContinue: false },
  });

/** The rest, twenty a second. */
export const doTheRest = (client: Client, { repairId }: Repair): Promise<Repair> =>
  client.repairs.continue(repairId, { ratePerSecond: 20 });

/** The entries that failed again, and where they are now. */
export async function failedAgain(client: Client, { repairId }: Repair): Promise<readonly string[]> {
  const entries: string[] = [];
  for await (const { newDlqId } of client.repairs.allItems(repairId, { state: 'failed' })) if (newDlqId) entries.push(newDlqId);
  return entries;
}
