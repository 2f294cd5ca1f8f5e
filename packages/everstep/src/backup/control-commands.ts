/** Performs commands in the running server, because only the server can access its open files. */

import type { Log } from '../ports/log.js';
import type { AuditEntry } from '../ports/stores/account-store.js';
import type { EmbeddedStore } from '../stores/sqlite/index.js';
import type { EmbeddedDocuments } from '../stores/sqlite/search/index.js';
import {
  type BackupRequest,
  type ControlChannel,
  listenForCommands,
  type RotateRequest,
  type RotateResult,
} from './control-channel.js';
import { type BackupSource, copyEverything } from './copying.js';

export interface ControlCommandOptions {
  readonly dataDir: string;
  readonly store: EmbeddedStore;
  readonly documents: EmbeddedDocuments;
  readonly log: Log;
  readonly rotate: (request: RotateRequest) => Promise<RotateResult>;
  /** Writes the audit log entry of a command. */
  readonly record: (command: 'backup' | 'rotate-secrets', details: AuditEntry['details']) => Promise<void>;
}

/** Listens for commands of users with access to the data directory. Resolves with null if it cannot create the socket. */
export async function handleControlCommands(options: ControlCommandOptions): Promise<ControlChannel | null> {
  const { dataDir, store, documents, log } = options;
  const source: BackupSource = {
    dataDir,
    copyStore: (request) => store.copyTo(request),
    searchIndexIds: () => store.searchIndexes.listIds(),
    async copyDocuments({ indexId, file, signal }) {
      const endCopy = () => void documents.endCopy({ file }).catch(() => {});
      signal?.addEventListener('abort', endCopy, { once: true });
      try {
        return await documents.copyTo({ indexId, file });
      } finally {
        signal?.removeEventListener('abort', endCopy);
      }
    },
  };
  async function backUp(request: BackupRequest, signal: AbortSignal): Promise<readonly string[]> {
    const startedAt = performance.now();
    const writtenPaths = await copyEverything(source, { ...request, signal });
    await options.record('backup', { credentials: request.credentials });
    const durationMs = Math.round(performance.now() - startedAt);
    log.info({ to: request.to, files: writtenPaths.length, durationMs }, 'backup copied');
    return writtenPaths;
  }
  async function rotate(request: RotateRequest): Promise<RotateResult> {
    const result = await options.rotate(request);
    await options.record('rotate-secrets', { ...request });
    log.info({ ...request, ...result }, 'secrets rotated');
    return result;
  }
  try {
    return await listenForCommands({ dataDir, backUp, rotate });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ dataDir, error: reason }, 'could not create the command socket, backups require a stopped server');
    return null;
  }
}
