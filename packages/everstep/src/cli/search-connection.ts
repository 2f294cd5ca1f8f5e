/** Which search index a command talks to, and with which token: flags, the environment, or the management API. */
import { SearchClient, type SearchNamespace } from '@everstep/sdk';
import type { Command } from 'commander';
import { type AdminOptions, adminLoginOf } from './admin-connection.js';
import { UsageError } from './exit-codes.js';
import type { Shell } from './output.js';

export interface SearchConnectionOptions extends AdminOptions {
  readonly url?: string;
  readonly token?: string;
  readonly index?: string;
  readonly namespace?: string;
}

export function withSearchConnection(command: Command): Command {
  return command
    .option('--url <url>', 'endpoint of the index (or EVERSTEP_SEARCH_URL)')
    .option('--token <token>', 'a token of the index (or EVERSTEP_SEARCH_TOKEN)')
    .option('--index <indexId>', 'use this index with a login, as the admin commands log in')
    .option('--management-url <url>', 'with --index: the management API (or EVERSTEP_MANAGEMENT_URL)')
    .option('--email <email>', 'with --index: e-mail of the user (or EVERSTEP_ADMIN_EMAIL)')
    .option('--api-key <key>', 'with --index: API key of the user (or EVERSTEP_ADMIN_API_KEY)')
    .option('--data-dir <path>', 'with --index: local data directory to take the login from (or EVERSTEP_DATA_DIR)')
    .option('--json', 'print JSON');
}

export const withNamespace = (command: Command): Command =>
  withSearchConnection(command).option('--namespace <name>', 'the namespace (default: the one without a name)');

const MISSING =
  'No search index: give --index and log in as for the admin commands, or --url and --token, or EVERSTEP_SEARCH_URL and EVERSTEP_SEARCH_TOKEN.';

/** Rejects with UsageError when no index can be found, or the URL is none. */
async function connectSearch(options: SearchConnectionOptions, shell: Pick<Shell, 'env' | 'cwd'>): Promise<SearchClient> {
  const { index } = options;
  if (index !== undefined) {
    if (options.url || options.token) throw new UsageError('Give --index, or --url and --token, not both.');
    const { baseUrl, ...login } = await adminLoginOf(options, shell);
    return new SearchClient({ url: `${baseUrl.replace(/\/+$/, '')}/search/${encodeURIComponent(index)}`, login });
  }
  const { EVERSTEP_SEARCH_URL, EVERSTEP_SEARCH_TOKEN } = shell.env;
  const url = options.url || EVERSTEP_SEARCH_URL;
  const token = options.token || EVERSTEP_SEARCH_TOKEN;
  if (!url || !token) throw new UsageError(MISSING);
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new UsageError(`--url must be an http or https URL; it is "${url}"`);
  return new SearchClient({ url, token });
}

/** The options of a command as they were typed, the index that they name, and in it the namespace. */
export async function openSearch<Options extends SearchConnectionOptions>(
  command: Command,
  shell: Shell,
): Promise<{ readonly index: SearchClient; readonly documents: SearchNamespace; readonly options: Options }> {
  const options = command.opts<Options>();
  const index = await connectSearch(options, shell);
  return { index, documents: index.namespace(options.namespace), options };
}
