import { type ConnectedWorker, connect, serve, type WorkflowContext } from '@everstep/sdk';

interface Order {
  readonly sku: string;
  readonly customer: string;
}

async function pack(context: WorkflowContext<Order>): Promise<string> {
  const { sku, customer } = context.payload;
  await context.run('reserve', () => `reserved ${sku}`);
  return context.run('pack', () => `packed ${sku} for ${customer}`);
}

/** The same workflow can be served over HTTP and over connections. */
const refund = serve<Order, string>((context) => context.run('refund', () => `refunded ${context.payload.customer}`), {
  failureFunction: ({ runId, error }) => console.error(`refund ${runId} failed: ${error}`),
});

/** Connects the app. `token` and `baseUrl` are EVERSTEP_TOKEN and EVERSTEP_URL if you omit them. */
export function start(baseUrl: string, token: string): ConnectedWorker<'pack' | 'refund'> {
  return connect({ app: 'shop', workflows: { pack, refund }, maxConcurrency: 20, baseUrl, token });
}
