/** Runs `everstep rotate-secrets`: the server that uses the data directory rotates; without one, the command opens the store. */
import { existsSync } from 'node:fs';
import { type RotateRequest, type RotateResult, requestRotation } from '../backup/control-channel.js';
import { findSealer } from '../bootstrap/secrets-key.js';
import { StartError } from '../bootstrap/start-error.js';
import type { SecretKeys } from '../config/secret-keys.js';
import type { StoreSetting } from '../config/settings.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/stores/store.js';
import { rotateSecrets } from './rotating.js';

export interface RotateCommandOptions extends RotateRequest {
  /** Absolute path of the data directory. */
  readonly dataDir: string;
  readonly store: StoreSetting;
  readonly secretsKeys: SecretKeys | null;
  readonly log: Log;
}

async function openStore(store: StoreSetting, log: Log): Promise<Store> {
  if (store.kind === 'postgres') {
    const { openPostgresStore } = await import('../stores/postgres/index.js');
    return openPostgresStore({ url: store.url, log });
  }
  if (!existsSync(store.file))
    throw new StartError(`There is no store at ${store.file}. Set the data directory with --data-dir.`);
  const { openSqliteStore } = await import('../stores/sqlite/index.js');
  return openSqliteStore({ file: store.file });
}

/**
 * Rotates the secrets. The command changes a database directly, even while nodes use it. Rejects with BackupError, SecretsError,
 * StoreOpenError or StartError, whose messages are for the operator.
 */
export async function runRotateCommand(options: RotateCommandOptions): Promise<RotateResult> {
  const { dataDir, store: setting, secretsKeys, log, endTokens, onlyEncrypt } = options;
  const request = { endTokens, onlyEncrypt };
  const serverResult = setting.kind === 'file' ? await requestRotation(dataDir, request) : null;
  if (serverResult) return serverResult;
  const store = await openStore(setting, log);
  try {
    const sealer = await findSealer(store.accounts, { dataDir, secretsKeys, mode: 'serve', store: setting });
    return await rotateSecrets({ ...request, store, sealer, now: Date.now() });
  } finally {
    await store.close();
  }
}
