import { serve } from '@everstep/sdk';

interface Invoice {
  readonly customer: string;
  readonly cents: number;
}

/** Creates one invoice. You can also trigger this workflow directly. */
export const invoice = serve<Invoice, { invoiceId: string }>(async (context) => {
  const { customer, cents } = context.payload;
  if (cents <= 0) await context.cancel();
  const invoiceId = await context.run('assign number', () => `inv-${customer}-${cents}`);
  return { invoiceId };
});

/** Bills all customers, each in a separate run. */
export const billing = serve<{ invoiceUrl: string; due: Invoice[] }, string[]>(async (context) => {
  const { invoiceUrl, due } = context.payload;
  const invoices = await Promise.all(
    due.map((payload) =>
      context.invoke<{ invoiceId: string }>(`bill ${payload.customer}`, {
        workflow: invoiceUrl,
        payload,
        flowControl: { key: 'invoices', parallelism: 10 },
      }),
    ),
  );
  return invoices.map((result) => (result.state === 'succeeded' ? result.body.invoiceId : result.state));
});
