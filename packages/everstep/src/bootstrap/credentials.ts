/**
 * Credentials for the server, stored in the data directory so that a later start can use them again. Only the owner of the
 * directory can read them. The store contains only hashes of API keys, and the encrypted key that signs tokens.
 */

import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@everstep/sdk/protocol';
import { updatePrivately } from './private-file.js';
import { fileError } from './start-error.js';

export interface Credentials {
  readonly instanceId: string;
  readonly region: string;
  /** Token for all operations of the runtime API. */
  readonly token: string;
  /** Token for GET operations of the runtime API. */
  readonly readOnlyToken: string;
  readonly currentSigningKey: string;
  readonly nextSigningKey: string;
  readonly adminEmail: string;
  readonly adminApiKey: string;
}

export interface ServerAddresses {
  readonly url: string;
  readonly managementUrl: string;
}

export type StoredCredentials = Credentials & Partial<ServerAddresses>;

const FIELDS = [
  'instanceId',
  'region',
  'token',
  'readOnlyToken',
  'currentSigningKey',
  'nextSigningKey',
  'adminEmail',
  'adminApiKey',
] as const satisfies readonly (keyof Credentials)[];

export const credentialsFile = (dataDir: string): string => join(dataDir, 'credentials.json');

function parseCredentials(text: string): StoredCredentials | null {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const fields = new Map<string, unknown>(Object.entries(value));
  const textField = (name: string): string => {
    const field = fields.get(name);
    return typeof field === 'string' ? field : '';
  };
  if (FIELDS.some((name) => textField(name) === '')) return null;
  return {
    instanceId: textField('instanceId'),
    region: textField('region'),
    token: textField('token'),
    readOnlyToken: textField('readOnlyToken'),
    currentSigningKey: textField('currentSigningKey'),
    nextSigningKey: textField('nextSigningKey'),
    adminEmail: textField('adminEmail'),
    adminApiKey: textField('adminApiKey'),
    ...(textField('url') && textField('managementUrl')
      ? { url: textField('url'), managementUrl: textField('managementUrl') }
      : {}),
  };
}

/** Returns the stored credentials; null if the file is missing or invalid. */
export async function readCredentials(dataDir: string): Promise<StoredCredentials | null> {
  try {
    return parseCredentials(await readFile(credentialsFile(dataDir), 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Stores the credentials. Writes nothing if the file already contains them. Rejects with StartError if it cannot be written. */
export async function storeCredentials(dataDir: string, credentials: StoredCredentials): Promise<void> {
  const file = credentialsFile(dataDir);
  await updatePrivately(file, `${JSON.stringify(credentials, null, 2)}\n`).catch((error) => {
    throw fileError(`The credentials file ${file} is not writable`, error);
  });
}

/** Moves the credentials of another store aside, so that they are not lost. Returns their new path. */
export async function setCredentialsAside(dataDir: string, { instanceId }: Credentials): Promise<string> {
  const newPath = join(dataDir, `credentials.${instanceId.replace(/[^A-Za-z0-9_-]/g, '_')}.json`);
  await rename(credentialsFile(dataDir), newPath);
  return newPath;
}
