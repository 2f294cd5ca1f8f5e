import { type Client, NonRetryableError, RetryAfterError, serve } from '@everstep/sdk';

export const bank = { isUp: false, reserved: 0 };

export const payout = serve<{ cents: number }, string>(async (context) => {
  const { cents } = context.payload;
  if (!(cents > 0)) throw new NonRetryableError(`invalid amount: ${cents} cents`);
  await context.run('reserve', () => {
    bank.reserved += cents;
  });
  return context.run('transfer', () => {
    if (!bank.isUp) throw new RetryAfterError('the bank is down', '1m');
    return `transferred ${cents}`;
  });
});

/** Resumes all failed payouts after the last completed step. Returns how many were resumed. */
export async function resumePayouts(client: Client): Promise<number> {
  let count = 0;
  for await (const _run of client.dlq.resumeAll({ label: 'payout' }, { retries: 5 })) count++;
  return count;
}
