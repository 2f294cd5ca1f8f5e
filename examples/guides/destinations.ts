import { type Client, serve } from '@everstep/sdk';

export const report = serve<unknown, string>(async (context) => context.run('write', () => 'written'));

/** Before a deployment: nothing is delivered to the app, and no attempt is used up. */
export async function beforeDeployment(client: Client, appUrl: string): Promise<void> {
  await client.destinations.hold({ url: appUrl, reason: 'version 12 is being rolled out' });
}

/** Afterwards: all that waited goes out, in order. */
export async function afterDeployment(client: Client, appUrl: string): Promise<void> {
  await client.destinations.release(new URL(appUrl).origin);
}

/** Does the same by itself: after five failures in a row, until one try in each minute gets through. */
export async function guardDestinations(client: Client): Promise<void> {
  await client.settings.update({ breaker: { enabled: true, failures: 5, probeEveryMs: 60_000 } });
}
