/** The process of the hostile client. Its parent process makes it prepare, start and stop. */
import { ATTACKS } from './attacks.js';
import { type HostileAccess, HostileClient } from './hostile-client.js';

export type Order =
  | { readonly kind: 'prepare'; readonly attack: string; readonly access: HostileAccess }
  | { readonly kind: 'begin' }
  | { readonly kind: 'stop' };

/** Result of an order. `responses` has the number of responses by status; status 0 means a closed connection. */
export type OrderResult =
  | { readonly kind: 'done'; readonly order: Order['kind']; readonly responses: Readonly<Record<string, number>> }
  | { readonly kind: 'failed'; readonly error: string };

const isOrder = (message: unknown): message is Order => typeof message === 'object' && message !== null && 'kind' in message;

let client: HostileClient | null = null;
let attack = ATTACKS[0];

async function execute(order: Order): Promise<void> {
  if (order.kind === 'prepare') {
    attack = ATTACKS.find(({ name }) => name === order.attack);
    client = new HostileClient(order.access);
  }
  if (!client || !attack) throw new Error('unknown attack');
  if (order.kind === 'prepare') await attack.prepare?.(client);
  else if (order.kind === 'begin') await attack.begin(client);
  else await client.stop();
}

process.on('message', (order) => {
  if (!isOrder(order)) return;
  const report = (result: OrderResult): void => void process.send?.(result);
  execute(order).then(
    () => report({ kind: 'done', order: order.kind, responses: Object.fromEntries(client?.responses ?? []) }),
    (error: unknown) => report({ kind: 'failed', error: String(error) }),
  );
});
process.once('disconnect', () => process.exit());
process.send?.({ kind: 'ready' });
