/** Queued messages that are due and must not be offered yet, because older messages of their queues may not be read yet. */
import { type Delivery, type DeliveryRef, deliveryKeyOf } from '../gates/delivery.js';

interface DeferredMessage {
  readonly delivery: Delivery;
  readonly dueAt: number;
}

export class DeferredMessages {
  /** Keyed by delivery. */
  private readonly messages = new Map<string, DeferredMessage>();
  /** Messages by instance, in the order of their due times. Includes messages that were removed. */
  private readonly lines = new Map<string, DeferredMessage[]>();

  add(delivery: Delivery, dueAt: number): void {
    const key = deliveryKeyOf(delivery);
    if (this.messages.has(key)) return;
    const { instanceId } = delivery.limits;
    const message = { delivery, dueAt };
    this.messages.set(key, message);
    const line = this.lines.get(instanceId) ?? [];
    this.lines.set(instanceId, line);
    // Usually the message that is added last is also due last.
    const index = line.findLastIndex((earlier) => earlier.dueAt <= dueAt) + 1;
    line.splice(index, 0, message);
  }

  /** Removes a message that a scan has found, or that has ended. */
  remove(ref: DeliveryRef): void {
    if (this.messages.size > 0) this.messages.delete(deliveryKeyOf(ref));
  }

  /** Removes and returns the messages that are due before the time (Unix ms) of their instance, in order. */
  takeBefore(timeOf: (instanceId: string) => number): readonly Delivery[] {
    const deliveries: Delivery[] = [];
    for (const [instanceId, line] of this.lines) {
      const time = timeOf(instanceId);
      const firstLater = line.findIndex(({ dueAt }) => dueAt >= time);
      for (const message of line.splice(0, firstLater < 0 ? line.length : firstLater)) {
        const key = deliveryKeyOf(message.delivery);
        // The message was removed, and perhaps added again with another due time.
        if (this.messages.get(key) !== message) continue;
        this.messages.delete(key);
        deliveries.push(message.delivery);
      }
      if (line.length === 0) this.lines.delete(instanceId);
    }
    return deliveries;
  }
}
