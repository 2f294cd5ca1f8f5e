import { serve } from '@everstep/sdk';

/** Orders a transfer, and goes on when the bank calls back. */
export const transfer = serve<{ bankUrl: string; cents: number }, string>(async (context) => {
  const { bankUrl, cents } = context.payload;
  const webhook = await context.createWebhook('bank');
  await context.call('order transfer', {
    url: bankUrl,
    method: 'POST',
    body: { cents, callMeAt: webhook.webhookUrl },
  });
  const answer = await context.waitForWebhook('transfer is done', webhook, { timeout: '3d' });
  if (answer.timeout) return 'the bank has not called back';
  const { request } = answer;
  return `${request.method} ${request.query}: ${request.text()}`;
});
