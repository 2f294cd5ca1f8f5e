import { type Client, serve } from '@everstep/sdk';

/** A 30-day trial that you can cancel early. */
export const trial = serve<{ active: boolean }, string>(async (context) => {
  if (!context.payload.active) await context.cancel();
  await context.sleep('trial period', '30d');
  return context.run('end', () => 'trial ended');
});

/** Cancels one run by its id. */
export async function cancelTrial(client: Client, runId: string): Promise<void> {
  await client.runs.cancel(runId);
}

/** Cancels all active runs with a label. Returns how many were canceled. */
export async function cancelTrialsOf(client: Client, customer: string): Promise<number> {
  const { cancelled } = await client.runs.cancelMany({ label: customer });
  return cancelled;
}
