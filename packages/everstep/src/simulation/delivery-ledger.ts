/** Records all deliveries of the server in a simulation, for the checkers. */
import assert from 'node:assert/strict';
import type { MessageSender } from '../ports/message-sender.js';
import type { StepCaller } from '../ports/step-caller.js';

export class DeliveryLedger {
  private readonly deliveryCounts = new Map<string, number>();
  private forbiddenCount = 0;

  /** Returns a caller that records all deliveries. `isForbidden` returns whether nothing may currently be delivered. */
  watch(caller: StepCaller & MessageSender, isForbidden: () => boolean): StepCaller & MessageSender {
    const countIfForbidden = (): void => {
      if (isForbidden()) this.forbiddenCount++;
    };
    return {
      call: async (call, ...options) => {
        const { run, messageId, retried } = call.request;
        const deliveryKey = `${run.key} ${messageId} ${retried}`;
        countIfForbidden();
        const outcome = await caller.call(call, ...options);
        // A worker that requests the journal has executed nothing, and receives the same attempt again.
        const isCounted = outcome.kind !== 'reply' || outcome.reply.kind !== 'journal-needed';
        if (isCounted) this.deliveryCounts.set(deliveryKey, (this.deliveryCounts.get(deliveryKey) ?? 0) + 1);
        return outcome;
      },
      send: (message, ...options) => {
        // Messages without an id, such as calls, may be sent twice.
        countIfForbidden();
        return caller.send(message, ...options);
      },
      close: () => caller.close(),
    };
  }

  /** Number of attempts that were delivered more than once. */
  get repeatedCount(): number {
    return [...this.deliveryCounts.values()].filter((count) => count > 1).length;
  }

  check(): void {
    assert.equal(this.forbiddenCount, 0, 'nothing is delivered while the store rejects writes');
  }
}
