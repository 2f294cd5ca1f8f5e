/** A delivery: one request (or frame) that the server must send for a task of a run, and the limits that apply to it. */

/** Identifies a delivery: at most one is pending for a slot of a run. */
export interface DeliveryRef {
  readonly runKey: string;
  readonly slot: number;
}

/** The limits that apply to the delivery. */
export interface DeliveryLimits {
  readonly instanceId: string;
  readonly flowControlKey: string | null;
  /** Queue of a plain message. The message must have its turn there before any other limit applies. */
  readonly queue?: string;
  /** Scheme, host and port of the destination; a worker URL as a whole. */
  readonly origin: string;
  /** Name of the workers that serve the workflow. The delivery needs a slot of one of them. Absent if it is sent over HTTP. */
  readonly workers?: string;
  /**
   * The node that lent the delivery to this one. The gates of that node have let it pass, and count it until this node reports
   * its end. The gates of this node do not limit it.
   */
  readonly lentBy?: string;
  /** Set if the timeout is so long that the delivery takes one of the slots for long deliveries. */
  readonly isLong?: true;
}

export interface Delivery extends DeliveryRef {
  readonly limits: DeliveryLimits;
}

/** What a delivery shows about its destination. */
export type DeliveryResult =
  /** A response that shows that the destination works: any protocol reply, or a status below 500 except 429. */
  | { readonly kind: 'delivered' }
  /** A network error, a timeout, a 5xx without a protocol reply, or 429. */
  | { readonly kind: 'failed'; readonly error: string }
  /** Another node made the delivery, and its result is not known. The destination may work or not. */
  | { readonly kind: 'unknown' }
  /** Nothing was sent. The slot and the start of a rate are returned. */
  | { readonly kind: 'not-sent' };

export const NOT_SENT: DeliveryResult = { kind: 'not-sent' };

/** Returns what limits the number of deliveries in flight, in addition to the slots: the host, or the workers of the workflow. */
export const hostOf = ({ origin, workers }: Pick<DeliveryLimits, 'origin' | 'workers'>): string => workers ?? origin;

/** Returns the key of a delivery for maps. */
export const deliveryKeyOf = ({ runKey, slot }: DeliveryRef): string => `${runKey}/${slot}`;
