/** Finds the search index and token of a command: from flags, the environment, or the management API. */
import { SearchClient, type SearchNamespace } from '@everstep/sdk';
import type { Command } from 'commander';
import { type AdminOptions, adminLoginOf } from './commands/admin/admin-connection.js';
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
    .option('--token <token>', 'token of the index (or EVERSTEP_SEARCH_TOKEN)')
    .option('--index <indexId>', 'index id; connect with the credentials of everstep admin instead of a token')
    .option('--management-url <url>', 'with --index: URL of the management API (or EVERSTEP_MANAGEMENT_URL)')
    .option('--email <email>', 'with --index: email of the user (or EVERSTEP_ADMIN_EMAIL)')
    .option('--api-key <key>', 'with --index: API key of the user (or EVERSTEP_ADMIN_API_KEY)')
    .option('--data-dir <path>', 'with --index: data directory to read the email and API key from (or EVERSTEP_DATA_DIR)')
    .option('--json', 'print JSON');
}

export const withNamespace = (command: Command): Command =>
  withSearchConnection(command).option('--namespace <name>', 'namespace (default: the unnamed namespace)');

const NO_INDEX_TEXT =
  'No search index: set --url and --token (or EVERSTEP_SEARCH_URL and EVERSTEP_SEARCH_TOKEN), or set --index and the credentials of everstep admin.';

/** Connects to the selected search index. Rejects with UsageError if no index is selected or the URL is invalid. */
async function connectSearch(options: SearchConnectionOptions, shell: Pick<Shell, 'env' | 'cwd'>): Promise<SearchClient> {
  const { index } = options;
  if (index !== undefined) {
    if (options.url || options.token) throw new UsageError('Give either --index, or --url and --token, not both.');
    const { baseUrl, ...login } = await adminLoginOf(options, shell);
    return new SearchClient({ url: `${baseUrl.replace(/\/+$/, '')}/search/${encodeURIComponent(index)}`, login });
  }
  const { EVERSTEP_SEARCH_URL, EVERSTEP_SEARCH_TOKEN } = shell.env;
  const url = options.url || EVERSTEP_SEARCH_URL;
  const token = options.token || EVERSTEP_SEARCH_TOKEN;
  if (!url || !token) throw new UsageError(NO_INDEX_TEXT);
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new UsageError(`--url must be an http or https URL; got "${url}"`);
  return new SearchClient({ url, token });
}

/** Returns the parsed options of a command, the index they select, and the namespace in it. */
export async function openSearch<Options extends SearchConnectionOptions>(
  command: Command,
  shell: Shell,
): Promise<{ readonly index: SearchClient; readonly documents: SearchNamespace; readonly options: Options }> {
  const options = command.opts<Options>();
  const index = await connectSearch(options, shell);
  return { index, documents: index.namespace(options.namespace), options };
}
