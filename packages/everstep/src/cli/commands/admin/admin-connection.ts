/** Finds the management API and login of an admin command: from flags, the environment, or the local data directory. */
import { join, resolve } from 'node:path';
import { AdminClient } from '@everstep/sdk';
import type { Command } from 'commander';
import { readCredentials } from '../../../bootstrap/credentials.js';
import { UsageError } from '../../exit-codes.js';
import type { Shell } from '../../output.js';

export interface AdminOptions {
  readonly managementUrl?: string;
  readonly email?: string;
  readonly apiKey?: string;
  readonly dataDir?: string;
  readonly json?: boolean;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Adds the options that select the management API and the login, and --json. */
export function withAdminConnection(command: Command): Command {
  return command
    .option('--management-url <url>', 'URL of the management API (or EVERSTEP_MANAGEMENT_URL)')
    .option('--email <email>', 'email of the user (or EVERSTEP_ADMIN_EMAIL)')
    .option('--api-key <key>', 'API key of the user (or EVERSTEP_ADMIN_API_KEY)')
    .option('--data-dir <path>', 'data directory to read the URL, email and API key from (or EVERSTEP_DATA_DIR)')
    .option('--json', 'print JSON');
}

function requireHttpUrl(url: string): string {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new UsageError(`--management-url must be an http or https URL; got "${url}"`);
  return url;
}

/** Returns the URL for commands that need no login. Throws UsageError for an invalid URL. */
export const managementUrlOf = ({ managementUrl }: AdminOptions, { env }: Pick<Shell, 'env'>): string =>
  requireHttpUrl(managementUrl || env.EVERSTEP_MANAGEMENT_URL || DEFAULT_URL);

/** A login and the URL of its management API. */
export interface AdminLogin {
  readonly baseUrl: string;
  readonly email: string;
  readonly apiKey: string;
}

/** Returns the login and the URL. Rejects with UsageError if no login is found or the URL is invalid. */
export async function adminLoginOf(options: AdminOptions, { env, cwd }: Pick<Shell, 'env' | 'cwd'>): Promise<AdminLogin> {
  const configuredUrl = options.managementUrl || env.EVERSTEP_MANAGEMENT_URL;
  const configuredKey = options.apiKey || env.EVERSTEP_ADMIN_API_KEY;
  const configuredEmail = options.email || env.EVERSTEP_ADMIN_EMAIL;
  const dataDir = resolve(cwd, options.dataDir || env.EVERSTEP_DATA_DIR || '.everstep');
  const storedCredentials = configuredUrl && configuredKey && configuredEmail ? null : await readCredentials(dataDir);
  // A stored key is sent only to the URL it was created for, and only with the email it belongs to.
  const isStoredKeyAllowed =
    storedCredentials !== null &&
    (!configuredUrl || configuredUrl === storedCredentials.managementUrl) &&
    (!configuredEmail || configuredEmail.toLowerCase() === storedCredentials.adminEmail.toLowerCase());
  const apiKey = configuredKey || (isStoredKeyAllowed ? storedCredentials.adminApiKey : undefined);
  if (!apiKey) {
    throw new UsageError(
      `No API key: set --api-key or EVERSTEP_ADMIN_API_KEY, or run this command next to the data directory of the server (looked in ${join(dataDir, 'credentials.json')}).`,
    );
  }
  const email = configuredEmail || (configuredKey ? undefined : storedCredentials?.adminEmail);
  if (!email)
    throw new UsageError('No email: set --email or EVERSTEP_ADMIN_EMAIL to the email of the user who owns the API key.');
  const baseUrl = requireHttpUrl(configuredUrl || storedCredentials?.managementUrl || DEFAULT_URL);
  return { baseUrl, email, apiKey };
}

/** Returns a client for the management API. Rejects with UsageError if no login is found or the URL is invalid. */
export const connectAdmin = async (options: AdminOptions, shell: Pick<Shell, 'env' | 'cwd'>): Promise<AdminClient> =>
  new AdminClient(await adminLoginOf(options, shell));

/** Returns the parsed options of a command and a client for the management API they select. */
export async function openAdmin<Options extends AdminOptions>(
  command: Command,
  shell: Shell,
): Promise<{ readonly admin: AdminClient; readonly options: Options }> {
  const options = command.opts<Options>();
  return { admin: await connectAdmin(options, shell), options };
}
