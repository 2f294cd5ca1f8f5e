import { type Client, serve } from '@everstep/sdk';

/** Waits for an event and a sleep in parallel. */
export const contract = serve<unknown, string>(async (context) => {
  await Promise.all([
    context.waitForEvent('signature', 'contract signed', { timeout: '14d' }),
    context.sleep('withdrawal period', '7d'),
  ]);
  return context.run('archive', () => 'archived');
});

/** Returns a summary, and one line for each thing that the run waits for. */
export async function explainRun(client: Client, runId: string): Promise<string[]> {
  const { summary, tasks } = await client.runs.explain(runId);
  const lines = tasks.map(({ stepName, what, reasons }) => {
    const because = reasons.map(({ message }) => message).join(' Then: ');
    return `${stepName ?? what}: ${because}`;
  });
  return [summary, ...lines];
}
