/**
 * Counts messages a second time, from the tasks and steps that were actually written. Every delivery has an id, and its
 * retries have the same id. The server must have counted the same number, even after rejected, lost or killed commits.
 */
import assert from 'node:assert/strict';
import type { Task } from '../engine/runs/run.js';
import type { Store } from '../ports/stores/store.js';

const DELIVERED_TASKS: readonly Task['kind'][] = ['advance', 'step', 'call', 'callback'];

export class MessageLedger {
  private readonly messageIds = new Set<string>();

  /** Returns a store that counts messages. Applied writes are counted even if the response is lost on its way to the server. */
  watch(store: Store): Store {
    return {
      ...store,
      commit: async (units) => {
        const results = await store.commit(units);
        for (const [index, { writes }] of units.entries()) {
          if (results[index]?.kind !== 'applied') continue;
          for (const write of writes) {
            // The later steps of a checkpoint have no task.
            if (write.kind === 'record-step' && write.step.type === 'Run') this.messageIds.add(write.step.messageId);
            if (write.kind === 'put-task' && DELIVERED_TASKS.includes(write.task.kind)) this.messageIds.add(write.task.messageId);
          }
        }
        return results;
      },
    };
  }

  /** Checks that each message is billed to the instance once. */
  async check(store: Store, instanceId: string): Promise<void> {
    const usage = await store.accounts.usage({ instanceId, fromMonth: '0000-01' });
    const billedMessages = usage.reduce((sum, { messages }) => sum + messages, 0);
    assert.ok(billedMessages > 0);
    assert.equal(billedMessages, this.messageIds.size, 'each message is counted once');
  }
}
