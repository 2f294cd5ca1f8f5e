/** Records all deliveries of the server in a simulation, for the checkers. */
import assert from 'node:assert/strict';
import type { MessageSender } from '../ports/message-sender.js';
import type { StepCaller } from '../ports/step-caller.js';

export class DeliveryLedger {
  private readonly deliveries = new Map<string, number>();
  private tooEarly = 0;

  /** Returns a caller that records all deliveries. `isForbidden` returns whether nothing may currently be delivered. */
  watch(caller: StepCaller & MessageSender, isForbidden: () => boolean): StepCaller & MessageSender {
    const check = (): void => {
      if (isForbidden()) this.tooEarly++;
    };
    return {
      call: async (call, ...more) => {
        const { run, messageId, retried } = call.request;
        const delivery = `${run.key} ${messageId} ${retried}`;
        check();
        const outcome = await caller.call(call, ...more);
        // A worker that requests the journal has executed nothing, and receives the same attempt again.
        const isTaken = outcome.kind !== 'reply' || outcome.reply.kind !== 'journal-needed';
        if (isTaken) this.deliveries.set(delivery, (this.deliveries.get(delivery) ?? 0) + 1);
        return outcome;
      },
      send: (message, ...more) => {
        // Messages without an id, such as calls, may be sent twice.
        check();
        return caller.send(message, ...more);
      },
      close: () => caller.close(),
    };
  }

  /** Number of attempts that were delivered more than once. */
  get repeated(): number {
    return [...this.deliveries.values()].filter((count) => count > 1).length;
  }

  check(): void {
    assert.equal(this.tooEarly, 0, 'nothing is delivered while the store rejects writes');
  }
}
