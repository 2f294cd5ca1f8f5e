/** The contents of a backup directory, and its manifest. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@everstep/sdk/protocol';
import { SECRETS_KEY_FILE } from '../bootstrap/secrets-key.js';
import { codeOf } from '../bootstrap/start-error.js';
import type { StoreCounts } from '../stores/sqlite/connection/store-at-rest.js';

export const STORE_FILE = 'everstep.db';
export const SEARCH_DIRECTORY = 'search';
export const CREDENTIALS_FILE = 'credentials.json';
/** File that is written last. A directory without it is not a backup. */
export const MANIFEST_FILE = 'manifest.json';
const FORMAT = 'everstep-backup-1';
const ENCRYPTED_FORMAT = 'everstep-backup-2';

/** Reports why a backup could not be made or used. The message is for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** Parts of the data directory that a backup includes besides the store. */
export interface BackupParts {
  readonly credentials: boolean;
  /** The key file of the secrets, if the data directory has one. */
  readonly secretsKey: boolean;
}

export interface BackedUpFile {
  /** Path relative to the backup directory, with `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** How the files of a backup are encrypted. `salt` is in base64url. */
export type Encryption =
  | { readonly method: 'key'; readonly keyId: string; readonly salt: string }
  | { readonly method: 'passphrase'; readonly salt: string };

export interface Manifest {
  readonly format: typeof FORMAT | typeof ENCRYPTED_FORMAT;
  /** Absent if the files are not encrypted. Sizes and checksums always refer to the decrypted files. */
  readonly encryption?: Encryption;
  /** Authenticates all other fields of an encrypted backup. */
  readonly seal?: string;
  /** Version of the program that made the backup. */
  readonly version: string;
  /**
   * Time when the backup started, in ISO 8601. The backup includes everything acknowledged before this time, and may include
   * what was acknowledged until `endedAt`.
   */
  readonly beganAt: string;
  readonly endedAt: string;
  /** Version of the store's tables. */
  readonly schema: number;
  readonly counts: StoreCounts & { readonly documents: number };
  readonly files: readonly BackedUpFile[];
}

/** Returns the sealed text: the manifest without its seal. */
export const sealedText = ({ seal: _, ...rest }: Manifest): string => JSON.stringify(rest);

/** Returns the manifest as JSON text. `sealOf` is required for an encrypted backup and computes its seal. */
export function manifestText(fields: Omit<Manifest, 'format' | 'seal'>, sealOf?: (text: string) => string): string {
  const manifest: Manifest = { format: fields.encryption ? ENCRYPTED_FORMAT : FORMAT, ...fields };
  const sealedManifest = sealOf ? { ...manifest, seal: sealOf(sealedText(manifest)) } : manifest;
  return `${JSON.stringify(sealedManifest, null, 2)}\n`;
}

const isString = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;
/** Matches only known file names, so that a manifest cannot refer to other paths. */
const BACKED_UP_PATH = new RegExp(`^(?:${STORE_FILE}|${CREDENTIALS_FILE}|${SECRETS_KEY_FILE}|${SEARCH_DIRECTORY}/[\\w-]+\\.db)$`);

const isBackedUpFile = (value: unknown): value is BackedUpFile =>
  isObject(value) &&
  isString(value.path) &&
  BACKED_UP_PATH.test(value.path) &&
  Number.isSafeInteger(value.bytes) &&
  isString(value.sha256) &&
  /^[0-9a-f]{64}$/.test(value.sha256);

const SALT = /^[\w-]{43}$/;
const isEncryption = (value: unknown): boolean =>
  isObject(value) &&
  isString(value.salt) &&
  SALT.test(value.salt) &&
  (value.method === 'passphrase' || (value.method === 'key' && isString(value.keyId) && /^[0-9a-f]{12}$/.test(value.keyId)));

function isManifest(value: unknown): value is Manifest {
  if (!isObject(value)) return false;
  if (value.format === ENCRYPTED_FORMAT) {
    if (!isEncryption(value.encryption) || !isString(value.seal)) return false;
  } else if (value.format !== FORMAT || value.encryption !== undefined) return false;
  const { version, beganAt, endedAt, schema, counts, files } = value;
  if (![version, beganAt, endedAt].every(isString) || !Number.isSafeInteger(schema)) return false;
  if (!isObject(counts) || !Object.values(counts).every(Number.isSafeInteger)) return false;
  return Array.isArray(files) && files.every(isBackedUpFile) && files.some(({ path }) => path === STORE_FILE);
}

/** Reads the manifest. Rejects with BackupError if it is missing or invalid. */
export async function readManifest(directory: string): Promise<Manifest> {
  const file = join(directory, MANIFEST_FILE);
  const text = await readFile(file, 'utf8').catch((error) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new BackupError(`${directory} does not contain a complete backup: ${MANIFEST_FILE} is missing.`);
  });
  const value: unknown = (() => {
    try {
      return parseJson(text);
    } catch {
      return null;
    }
  })();
  if (isManifest(value)) return value;
  throw new BackupError(`${file} is damaged, or was made by an unsupported version of Everstep.`);
}

/** Returns the SHA-256 hash of a file in hexadecimal. Rejects if the signal is aborted. */
export async function digestOf(file: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) {
    signal?.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
}
