/**
 * Credentials for the server, stored in the data directory so that a later start can use them again. Only the owner of the
 * directory can read them. The store contains only hashes of API keys, and the encrypted key that signs tokens.
 */

import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@everstep/sdk/protocol';
import { writePrivately } from './private-file.js';

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

export interface ServiceAddresses {
  readonly url: string;
  readonly managementUrl: string;
}

export type KeptCredentials = Credentials & Partial<ServiceAddresses>;

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

function parse(text: string): KeptCredentials | null {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const fields = new Map<string, unknown>(Object.entries(value));
  const read = (name: string): string => {
    const field = fields.get(name);
    return typeof field === 'string' ? field : '';
  };
  if (FIELDS.some((name) => read(name) === '')) return null;
  return {
    instanceId: read('instanceId'),
    region: read('region'),
    token: read('token'),
    readOnlyToken: read('readOnlyToken'),
    currentSigningKey: read('currentSigningKey'),
    nextSigningKey: read('nextSigningKey'),
    adminEmail: read('adminEmail'),
    adminApiKey: read('adminApiKey'),
    ...(read('url') && read('managementUrl') ? { url: read('url'), managementUrl: read('managementUrl') } : {}),
  };
}

/** Returns the stored credentials; null when the file is missing or invalid. */
export async function readCredentials(dataDir: string): Promise<KeptCredentials | null> {
  try {
    return parse(await readFile(credentialsFile(dataDir), 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

export function keepCredentials(dataDir: string, credentials: KeptCredentials): Promise<void> {
  return writePrivately(credentialsFile(dataDir), `${JSON.stringify(credentials, null, 2)}\n`);
}

/** Moves the credentials of another store aside, so that they are not lost. Returns their new path. */
export async function setCredentialsAside(dataDir: string, { instanceId }: Credentials): Promise<string> {
  const aside = join(dataDir, `credentials.${instanceId.replace(/[^A-Za-z0-9_-]/g, '_')}.json`);
  await rename(credentialsFile(dataDir), aside);
  return aside;
}
