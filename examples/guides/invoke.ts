import { serve } from '@everstep/sdk';

interface Invoice {
  readonly customer: string;
  readonly cents: number;
}

/** A workflow like any other: it can be triggered, too. */
export const invoice = serve<Invoice, { invoiceId: string }>(async (context) => {
  const { customer, cents } = context.payload;
  if (cents <= 0) await context.cancel();
  const invoiceId = await context.run('number', () => `inv-${customer}-${cents}`);
  return { invoiceId };
});

/** Bills all customers at the end of the month, each in a run of its own. */
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
  return invoices.map((one) => (one.state === 'succeeded' ? one.body.invoiceId : one.state));
});
