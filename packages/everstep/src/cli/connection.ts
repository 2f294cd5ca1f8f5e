/** Finds the server of a command: from flags, the environment, or the credentials in the local data directory. */
import { join, resolve } from 'node:path';
import { Client } from '@everstep/sdk';
import { readCredentials } from '../bootstrap/credentials.js';
import { UsageError } from './exit-codes.js';
import type { Shell } from './output.js';

export interface ConnectionOptions {
  readonly url?: string;
  readonly token?: string;
  readonly dataDir?: string;
}

/** The URL of a server, and a token for it. */
export interface ServerConnection {
  readonly url: string;
  readonly token: string;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Returns the URL and the token of the server. Rejects with UsageError if no token is found or the URL is invalid. */
export async function findServer(options: ConnectionOptions, shell: Pick<Shell, 'env' | 'cwd'>): Promise<ServerConnection> {
  const server = await selectServer(options, shell);
  if (/^https?:\/\//i.test(server.url) && URL.canParse(server.url)) return server;
  throw new UsageError(`--url must be an http or https URL; got "${server.url}"`);
}

async function selectServer(options: ConnectionOptions, { env, cwd }: Pick<Shell, 'env' | 'cwd'>): Promise<ServerConnection> {
  const url = options.url || env.EVERSTEP_URL;
  const token = options.token || env.EVERSTEP_TOKEN;
  if (url && token) return { url, token };
  const dataDir = resolve(cwd, options.dataDir || env.EVERSTEP_DATA_DIR || '.everstep');
  const storedCredentials = await readCredentials(dataDir);
  // A stored token is sent only to the URL that it was created for.
  if (!token && storedCredentials && (!url || url === storedCredentials.url))
    return { url: url ?? storedCredentials.url ?? DEFAULT_URL, token: storedCredentials.token };
  if (token) return { url: url ?? storedCredentials?.url ?? DEFAULT_URL, token };
  throw new UsageError(
    `No token: set --token or EVERSTEP_TOKEN, or run this command next to the data directory of the server (looked in ${join(dataDir, 'credentials.json')}).`,
  );
}

/** Returns a client for the server. Rejects with UsageError if no token is found or the URL is invalid. */
export async function connect(options: ConnectionOptions, shell: Pick<Shell, 'env' | 'cwd'>): Promise<Client> {
  const { url, token } = await findServer(options, shell);
  return new Client({ baseUrl: url, token });
}
