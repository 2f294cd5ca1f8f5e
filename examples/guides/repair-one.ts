import { type Client, NonRetryableError, serve } from '@everstep/sdk';

/** What is deployed calls its first step so. */
export const deployed = { quoteStep: 'quote' };

interface Quote {
  readonly cents: number;
}

export const order = serve<{ article: string }, string>(async (context) => {
  const quote = await context.run(deployed.quoteStep, (): Quote => ({ cents: context.payload.article === 'book' ? -1 : 1000 }));
  const receipt = await context.run('charge', () => {
    if (quote.cents < 0) throw new NonRetryableError(`a price of ${quote.cents} cents`);
    return `charged ${quote.cents}`;
  });
  return context.run('ship', () => `${receipt}, shipped`);
});

/** What is other than in the last run that went well. */
export async function whatIsDifferent(client: Client, runId: string): Promise<string> {
  const { firstDifference } = await client.runs.compare(runId);
  return firstDifference?.message ?? 'nothing';
}

/** Goes on from the step that failed, with the right price in place of the one that was recorded. */
export async function correctPrice(client: Client, runId: string, cents: number): Promise<string> {
  const quote: Quote = { cents };
  const forked = await client.runs.fork(runId, {
    fromStep: 2,
    results: [{ stepId: 1, result: quote }],
    note: 'price corrected by hand',
  });
  return forked.workflowRunId;
}

/** Charged by phone: the step is not done, and the code goes on behind it. */
export async function chargedByPhone(client: Client, runId: string): Promise<string> {
  const forked = await client.runs.fork(runId, { fromStep: 2, results: [{ stepId: 2, result: 'charged by phone' }] });
  return forked.workflowRunId;
}

/** Of the failed orders, those that the present code would not replay. */
export async function unfit(client: Client): Promise<string[]> {
  const { checks } = await client.dlq.check({ filter: { label: ['order'] } });
  return checks.filter(({ outcome }) => outcome === 'differs').map(({ workflowRunId }) => workflowRunId);
}
