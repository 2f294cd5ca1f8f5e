import { type Client, serve } from '@everstep/sdk';

const DAY_MS = 86_400_000;

export const ping = serve<unknown, string>(async (context) => context.run('ping', () => 'pong'));

/** What succeeded is kept for a week, and never more than 100,000 runs of it; dead letters for a quarter. */
export async function keepLittle(client: Client): Promise<void> {
  await client.settings.update({
    retention: {
      succeeded: { maxAgeMs: 7 * DAY_MS, maxCount: 100_000 },
      deadLetter: { maxAgeMs: 90 * DAY_MS, maxCount: null },
    },
  });
}
