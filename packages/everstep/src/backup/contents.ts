/** What lies in the directory of a back-up, and what its manifest says of it. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@everstep/sdk/protocol';
import { SECRETS_KEY_FILE } from '../bootstrap/secrets-key.js';
import { codeOf } from '../bootstrap/start-error.js';
import type { StoreCounts } from '../stores/sqlite/store-at-rest.js';

export const STORE_FILE = 'everstep.db';
export const SEARCH_DIRECTORY = 'search';
export const CREDENTIALS_FILE = 'credentials.json';
/** Written last: a directory without it is no back-up. */
export const MANIFEST_FILE = 'manifest.json';
const FORMAT = 'everstep-backup-1';
const ENCRYPTED_FORMAT = 'everstep-backup-2';

/** Why a back-up could not be made, or cannot be used; the message is for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** What of the data directory is in a back-up besides the store. */
export interface BackupParts {
  readonly credentials: boolean;
  /** The file with the key of the secrets in the store, if the data directory has one. */
  readonly secretsKey: boolean;
}

export interface BackedUpFile {
  /** Below the directory of the back-up, with `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** How the files of a back-up are encrypted. */
export type Encryption =
  | { readonly method: 'key'; readonly keyId: string /** Base64url. */; readonly salt: string }
  | { readonly method: 'passphrase'; readonly salt: string };

export interface Manifest {
  readonly format: typeof FORMAT | typeof ENCRYPTED_FORMAT;
  /** Absent: the files are as they were. Sizes and sums are of what they were before. */
  readonly encryption?: Encryption;
  /** Of an encrypted back-up: authenticates all else. */
  readonly seal?: string;
  /** Of the program that made it. */
  readonly version: string;
  /** ISO 8601. All that was acknowledged before is in it, and something of what was acknowledged until `endedAt`. */
  readonly beganAt: string;
  readonly endedAt: string;
  /** Of the store's tables. */
  readonly schema: number;
  readonly counts: StoreCounts & { readonly documents: number };
  readonly files: readonly BackedUpFile[];
}

/** What is sealed: the manifest without its seal. */
export const sealedText = ({ seal: _, ...rest }: Manifest): string => JSON.stringify(rest);

/** `sealOf` seals the manifest of an encrypted back-up. */
export function manifestText(facts: Omit<Manifest, 'format' | 'seal'>, sealOf?: (text: string) => string): string {
  const manifest: Manifest = { format: facts.encryption ? ENCRYPTED_FORMAT : FORMAT, ...facts };
  const whole = sealOf ? { ...manifest, seal: sealOf(sealedText(manifest)) } : manifest;
  return `${JSON.stringify(whole, null, 2)}\n`;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;
/** Only names that we give: a manifest leads nowhere else. */
const PATHS = new RegExp(`^(?:${STORE_FILE}|${CREDENTIALS_FILE}|${SECRETS_KEY_FILE}|${SEARCH_DIRECTORY}/[\\w-]+\\.db)$`);

const isFile = (value: unknown): value is BackedUpFile =>
  isObject(value) &&
  isText(value.path) &&
  PATHS.test(value.path) &&
  Number.isSafeInteger(value.bytes) &&
  isText(value.sha256) &&
  /^[0-9a-f]{64}$/.test(value.sha256);

const SALT = /^[\w-]{43}$/;
const isEncryption = (value: unknown): boolean =>
  isObject(value) &&
  isText(value.salt) &&
  SALT.test(value.salt) &&
  (value.method === 'passphrase' || (value.method === 'key' && isText(value.keyId) && /^[0-9a-f]{12}$/.test(value.keyId)));

function isManifest(value: unknown): value is Manifest {
  if (!isObject(value)) return false;
  if (value.format === ENCRYPTED_FORMAT) {
    if (!isEncryption(value.encryption) || !isText(value.seal)) return false;
  } else if (value.format !== FORMAT || value.encryption !== undefined) return false;
  const { version, beganAt, endedAt, schema, counts, files } = value;
  if (![version, beganAt, endedAt].every(isText) || !Number.isSafeInteger(schema)) return false;
  if (!isObject(counts) || !Object.values(counts).every(Number.isSafeInteger)) return false;
  return Array.isArray(files) && files.every(isFile) && files.some(({ path }) => path === STORE_FILE);
}

/** Rejects with BackupError when there is none, or it is not one of ours. */
export async function readManifest(directory: string): Promise<Manifest> {
  const file = join(directory, MANIFEST_FILE);
  const written = await readFile(file, 'utf8').catch((error) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new BackupError(`${directory} holds no back-up, or one that was not finished: it has no ${MANIFEST_FILE}.`);
  });
  const value: unknown = (() => {
    try {
      return parseJson(written);
    } catch {
      return null;
    }
  })();
  if (isManifest(value)) return value;
  throw new BackupError(`${file} is damaged, or of a version of Everstep that this one does not know.`);
}

/** SHA-256 of a file, in hex. */
export async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}
