import { serve } from '@everstep/sdk';

/** Orders a transfer and waits for the callback of the bank. */
export const transfer = serve<{ bankUrl: string; cents: number }, string>(async (context) => {
  const { bankUrl, cents } = context.payload;
  const webhook = await context.createWebhook('bank');
  await context.call('order transfer', {
    url: bankUrl,
    method: 'POST',
    body: { cents, callMeAt: webhook.webhookUrl },
  });
  const result = await context.waitForWebhook('transfer completed', webhook, { timeout: '3d' });
  if (result.timeout) return 'no callback from the bank';
  const { request } = result;
  return `${request.method} ${request.query}: ${request.text()}`;
});
