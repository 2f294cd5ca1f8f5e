/**
 * Sends notices of changed limits, one transaction at a time: PostgreSQL commits transactions with notices one after the other, so
 * many of them would delay all others.
 */
import type { FlowKeyId } from '../control/flow-control-records.js';

/** Maximum number of notices in one transaction. */
const MAX_KEYS_AT_ONCE = 500;

export class LimitNotices {
  private readonly send: (keys: readonly FlowKeyId[]) => Promise<void>;
  private readonly waitingKeys = new Map<string, FlowKeyId>();
  private isSending = false;

  /** `send` never rejects. */
  constructor(send: (keys: readonly FlowKeyId[]) => Promise<void>) {
    this.send = send;
  }

  /** Sends a notice for each key, soon. A key that waits already gets one notice. */
  add(keys: readonly FlowKeyId[]): void {
    for (const flowKey of keys) this.waitingKeys.set(`${flowKey.instanceId}\n${flowKey.key}`, flowKey);
    if (!this.isSending) void this.sendWaiting();
  }

  private async sendWaiting(): Promise<void> {
    this.isSending = true;
    while (this.waitingKeys.size > 0) {
      const nextKeys = [...this.waitingKeys].slice(0, MAX_KEYS_AT_ONCE);
      for (const [id] of nextKeys) this.waitingKeys.delete(id);
      await this.send(nextKeys.map(([, flowKey]) => flowKey));
    }
    this.isSending = false;
  }
}
