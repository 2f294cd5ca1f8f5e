import { type Client, serve } from '@everstep/sdk';

export const report = serve<unknown, string>(async (context) => context.run('write', () => 'written'));

/** Holds deliveries to the app before a deployment. No retry attempts are used. */
export async function holdBeforeDeployment(client: Client, appUrl: string): Promise<void> {
  await client.destinations.hold({ url: appUrl, reason: 'version 12 is being rolled out' });
}

/** Releases the app after the deployment. Waiting deliveries are sent in order. */
export async function releaseAfterDeployment(client: Client, appUrl: string): Promise<void> {
  await client.destinations.release(new URL(appUrl).origin);
}

/** Turns on the breaker: it holds a destination after five failures in a row, and probes it once a minute. */
export async function enableBreaker(client: Client): Promise<void> {
  await client.settings.update({ breaker: { enabled: true, failures: 5, probeEveryMs: 60_000 } });
}
