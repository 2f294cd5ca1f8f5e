/** The audit log of a service: what requests add to it, and what is done with it in the background. */
import type { AuditStore } from '../ports/audit-store.js';
import type { Log } from '../ports/log.js';
import type { MessageSender } from '../ports/message-sender.js';
import { AuditPush, INSTALLATION } from './audit-push.js';
import { AuditRecords, type AuditRecordsOptions } from './audit-records.js';
import { AuditUpkeep, type AuditUpkeepOptions } from './audit-upkeep.js';

export interface AuditOptions extends AuditRecordsOptions, Omit<AuditUpkeepOptions, 'push' | 'audit' | 'log'> {
  readonly audit: AuditStore;
  readonly log: Log;
  readonly sender: MessageSender;
  /** Where new entries are pushed; null: nowhere. */
  readonly webhookUrl: string | null;
}

export interface Audit {
  readonly records: AuditRecords;
  start(): void;
  /** Resolves when what was counted is written, and nothing is under way. */
  stop(): Promise<void>;
}

export function createAudit(options: AuditOptions): Audit {
  const { webhookUrl } = options;
  const records = new AuditRecords(options);
  const push = webhookUrl === null ? null : new AuditPush({ ...options, url: webhookUrl });
  const upkeep = new AuditUpkeep({ ...options, push });
  return {
    records,
    start: () => upkeep.start(),
    async stop() {
      await records.writeRefused();
      await upkeep.stop();
    },
  };
}

/** Which keys sign a message, by the ID of the queue instance. */
interface Keys {
  readonly privateKey: (instanceId: string) => { readonly kid: string; readonly privateKey: string } | null;
  readonly messageKeyFor: (instanceId: string, origin: string) => string | null;
}

/** Adds the key that signs messages of the installation itself; null: there are none. */
export const withAuditKey = ({ privateKey, messageKeyFor }: Keys, key: string | null): Keys => ({
  privateKey: (instanceId) => (instanceId === INSTALLATION ? null : privateKey(instanceId)),
  messageKeyFor: (instanceId, origin) => (instanceId === INSTALLATION ? key : messageKeyFor(instanceId, origin)),
});
