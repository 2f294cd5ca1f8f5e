import { type Client, serve } from '@everstep/sdk';

const KEY = 'mail-provider';

/** Each step is one delivery, so each counts for the limits of the key. */
export const newsletter = serve<{ to: string }, void>(async (context) => {
  await context.run('send', () => sent.push(context.payload.to));
});
export const sent: string[] = [];

/** At most two deliveries at a time, and at most 100 a minute, over all runs with this key. */
export async function sendTo(client: Client, workflowUrl: string, to: readonly string[]): Promise<void> {
  const flowControl = { key: KEY, parallelism: 2, rate: 100, period: '1m' };
  await client.triggerMany(to.map((address) => ({ workflowUrl, body: { to: address }, flowControl })));
}

/** The provider is in trouble: nothing goes out until somebody resumes it. What is triggered meanwhile waits. */
export async function stopMail(client: Client): Promise<void> {
  await client.flowControl.pause(KEY);
}

/** Slower for a while, whatever triggers say, until `unpin`. */
export async function resumeSlowly(client: Client): Promise<void> {
  await client.flowControl.pin(KEY, { rate: 1, period: '1m' });
  await client.flowControl.resume(KEY);
}

export async function waitingMails(client: Client): Promise<number> {
  const { waitListSize } = await client.flowControl.get(KEY);
  return waitListSize;
}
