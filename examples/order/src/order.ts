/** Types of the order workflow: its payload and its result. */

export interface OrderLine {
  readonly product: string;
  readonly quantity: number;
}

export interface Order {
  readonly orderId: string;
  readonly customer: string;
  readonly payWith: 'card' | 'bank';
  readonly lines: readonly OrderLine[];
}

export interface Receipt {
  readonly orderId: string;
  readonly totalCents: number;
  readonly paymentId: string;
  readonly trackingNumber: string;
}

const isLine = (value: unknown): value is OrderLine =>
  typeof value === 'object' &&
  value !== null &&
  'product' in value &&
  typeof value.product === 'string' &&
  'quantity' in value &&
  typeof value.quantity === 'number' &&
  Number.isSafeInteger(value.quantity) &&
  value.quantity > 0;

/** Returns the order if it is valid, otherwise the reason why it is not. */
export function parseOrder(value: unknown): Order | string {
  if (typeof value !== 'object' || value === null) return 'the order must be a JSON object';
  const { orderId, customer, payWith, lines } = value as Partial<Record<keyof Order, unknown>>;
  if (typeof orderId !== 'string' || orderId === '') return 'orderId must be a non-empty string';
  if (typeof customer !== 'string' || !customer.includes('@')) return 'customer must be an email address';
  if (payWith !== 'card' && payWith !== 'bank') return 'payWith must be "card" or "bank"';
  if (!Array.isArray(lines) || lines.length === 0 || !lines.every(isLine))
    return 'lines must be a non-empty list of { product, quantity }';
  return { orderId, customer, payWith, lines };
}
