import { type Client, serve } from '@everstep/sdk';

/** A trial that may end before its time. */
export const trial = serve<{ active: boolean }, string>(async (context) => {
  if (!context.payload.active) await context.cancel();
  await context.sleep('the trial', '30d');
  return context.run('end', () => 'the trial is over');
});

/** One run, by its id. */
export async function cancelTrial(client: Client, runId: string): Promise<void> {
  await client.runs.cancel(runId);
}

/** All active runs with a label. Says how many there were. */
export async function cancelTrialsOf(client: Client, customer: string): Promise<number> {
  const { cancelled } = await client.runs.cancelMany({ label: customer });
  return cancelled;
}
