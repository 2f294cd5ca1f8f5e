import { type Client, NonRetryableError, serve } from '@everstep/sdk';

/** Name of the first step in the deployed code. */
export const deployed = { quoteStep: 'quote' };

interface Quote {
  readonly cents: number;
}

export const order = serve<{ article: string }, string>(async (context) => {
  const quote = await context.run(deployed.quoteStep, (): Quote => ({ cents: context.payload.article === 'book' ? -1 : 1000 }));
  const receipt = await context.run('charge', () => {
    if (quote.cents < 0) throw new NonRetryableError(`invalid price: ${quote.cents} cents`);
    return `charged ${quote.cents}`;
  });
  return context.run('ship', () => `${receipt}, shipped`);
});

/** Compares the run with the last successful run of the same workflow. */
export async function firstDifferenceOf(client: Client, runId: string): Promise<string> {
  const { firstDifference } = await client.runs.compare(runId);
  return firstDifference?.message ?? 'no difference';
}

/** Forks the run from the failed step, with a corrected price as the result of step 1. */
export async function correctPrice(client: Client, runId: string, cents: number): Promise<string> {
  const quote: Quote = { cents };
  const forked = await client.runs.fork(runId, {
    fromStep: 2,
    results: [{ stepId: 1, result: quote }],
    note: 'price corrected by hand',
  });
  return forked.workflowRunId;
}

/** Forks the run with a result for the failed step, so that the step does not run. */
export async function skipCharge(client: Client, runId: string): Promise<string> {
  const forked = await client.runs.fork(runId, { fromStep: 2, results: [{ stepId: 2, result: 'charged by phone' }] });
  return forked.workflowRunId;
}

/** Returns the failed orders that the deployed code cannot replay. */
export async function incompatibleRuns(client: Client): Promise<string[]> {
  const { checks } = await client.dlq.check({ filter: { label: ['order'] } });
  return checks.filter(({ outcome }) => outcome === 'differs').map(({ workflowRunId }) => workflowRunId);
}
