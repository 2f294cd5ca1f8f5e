/** The audit log of a server: entries of requests, and background work. */

import type { Log } from '../ports/log.js';
import type { MessageSender } from '../ports/message-sender.js';
import type { AuditStore } from '../ports/stores/audit-store.js';
import { AuditPush, INSTALLATION } from './audit-push.js';
import { AuditRecords, type AuditRecordsOptions } from './audit-records.js';
import { AuditUpkeep, type AuditUpkeepOptions } from './audit-upkeep.js';

export interface AuditOptions extends AuditRecordsOptions, Omit<AuditUpkeepOptions, 'push' | 'audit' | 'log'> {
  readonly audit: AuditStore;
  readonly log: Log;
  readonly sender: MessageSender;
  /** URL to which new entries are pushed; null if they are not pushed. */
  readonly webhookUrl: string | null;
}

export interface Audit {
  readonly records: AuditRecords;
  start(): void;
  /** Resolves when all counts are written and no work is in progress. */
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

/** Signing keys of messages, by the id of the queue instance. */
interface MessageKeys {
  readonly privateKey: (instanceId: string) => { readonly kid: string; readonly privateKey: string } | null;
  readonly messageKeyFor: (instanceId: string, origin: string) => string | null;
}

/** Adds the key that signs messages of the installation itself, such as pushed audit entries; null if there is none. */
export const addAuditKey = ({ privateKey, messageKeyFor }: MessageKeys, key: string | null): MessageKeys => ({
  privateKey: (instanceId) => (instanceId === INSTALLATION ? null : privateKey(instanceId)),
  messageKeyFor: (instanceId, origin) => (instanceId === INSTALLATION ? key : messageKeyFor(instanceId, origin)),
});
