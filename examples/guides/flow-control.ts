import { type Client, serve } from '@everstep/sdk';

const KEY = 'mail-provider';

/** Each step is one delivery, so each step counts against the limits of the key. */
export const newsletter = serve<{ to: string }, void>(async (context) => {
  await context.run('send', () => sent.push(context.payload.to));
});
export const sent: string[] = [];

/** Starts a run per address. At most two deliveries run at a time, and at most 100 a minute, across all runs with this key. */
export async function sendTo(client: Client, workflowUrl: string, to: readonly string[]): Promise<void> {
  const flowControl = { key: KEY, parallelism: 2, rate: 100, period: '1m' };
  await client.triggerMany(to.map((address) => ({ workflowUrl, body: { to: address }, flowControl })));
}

/** Pauses the key. Runs can still be triggered; their deliveries wait until you resume the key. */
export async function pauseMail(client: Client): Promise<void> {
  await client.flowControl.pause(KEY);
}

/** Resumes the key at one delivery a minute. Triggers cannot change a pinned limit until you unpin it. */
export async function resumeSlowly(client: Client): Promise<void> {
  await client.flowControl.pin(KEY, { rate: 1, period: '1m' });
  await client.flowControl.resume(KEY);
}

/** Returns how many deliveries wait for the key. */
export async function countWaiting(client: Client): Promise<number> {
  const { waitListSize } = await client.flowControl.get(KEY);
  return waitListSize;
}
