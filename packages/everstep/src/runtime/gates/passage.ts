/** What passes the gates: deliveries, by the slot of the run that owes them. */

export interface Ticket {
  readonly runKey: string;
  readonly slot: number;
}

/** What a delivery has to pass. */
export interface Passage {
  readonly instanceId: string;
  readonly flowControlKey: string | null;
  /** Of a plain message: where it keeps its place in line, before all else. */
  readonly queue?: string;
  /** Scheme, host and port of the destination. */
  readonly origin: string;
  /** Its timeout is so long that it takes one of the slots for long deliveries. */
  readonly isLong?: true;
}

export type DeliveryResult =
  /** An answer that shows that the destination works: any protocol reply, 2xx, 4xx. */
  | { readonly kind: 'delivered' }
  /** A network error, a timeout, a 5xx without a protocol reply, 429 or 503. */
  | { readonly kind: 'failed'; readonly error: string }
  /** Nothing was sent: its slot and its rate start are given back. */
  | { readonly kind: 'not-made' };
