import { type Client, NonRetryableError, type Repair, serve } from '@everstep/sdk';

export const deployment = { isBroken: true };

export const invoice = serve<{ order: number }, string>(async (context) => {
  const { order } = context.payload;
  const number = await context.run('assign number', () => 1000 + order);
  return context.run('send', () => {
    if (deployment.isBroken) throw new NonRetryableError('template "invoice" is missing');
    return `sent ${number}`;
  });
});

/** Plans a resume of all failed invoices. Nothing is resumed yet. */
export const planResume = (client: Client): Promise<Repair> => client.repairs.plan('resume', { filter: { label: ['invoices'] } });

/** Resumes ten runs. The repair stops if more than one of them fails; otherwise it waits for approval. */
export const startCanary = (client: Client, { repairId }: Repair): Promise<Repair> =>
  client.repairs.start(repairId, {
    ratePerSecond: 5,
    canary: { count: 10, maxFailurePercent: 10, thenContinue: false },
  });

/** Resumes the other runs, 20 per second. */
export const continueRest = (client: Client, { repairId }: Repair): Promise<Repair> =>
  client.repairs.continue(repairId, { ratePerSecond: 20 });

/** Returns the new dead letters of runs that failed again. */
export async function failedAgain(client: Client, { repairId }: Repair): Promise<readonly string[]> {
  const entries: string[] = [];
  for await (const { newDlqId } of client.repairs.allItems(repairId, { state: 'failed' })) if (newDlqId) entries.push(newDlqId);
  return entries;
}
