import { type Client, serve } from '@everstep/sdk';

const DAY_MS = 86_400_000;

export const ping = serve<unknown, string>(async (context) => context.run('ping', () => 'pong'));

/** Keeps succeeded runs for 7 days, up to 100,000 of them, and dead letters for 90 days. */
export async function setRetention(client: Client): Promise<void> {
  await client.settings.update({
    retention: {
      succeeded: { maxAgeMs: 7 * DAY_MS, maxCount: 100_000 },
      deadLetter: { maxAgeMs: 90 * DAY_MS, maxCount: null },
    },
  });
}
