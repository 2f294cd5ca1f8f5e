/** Connection options of every client command. */
import type { Client } from '@everstep/sdk';
import type { Command } from 'commander';
import { type ConnectionOptions, connect } from '../connection.js';
import type { Shell } from '../output.js';

export interface ClientOptions extends ConnectionOptions {
  readonly json?: boolean;
}

/** Adds the options that select the server, and --json. */
export function withConnection(command: Command): Command {
  return command
    .option('--url <url>', 'URL of the server (or EVERSTEP_URL)')
    .option('--token <token>', 'API token (or EVERSTEP_TOKEN)')
    .option('--data-dir <path>', 'data directory to read the URL and token from (or EVERSTEP_DATA_DIR)')
    .option('--json', 'print JSON');
}

/** Returns the parsed options of a command and a client for the server they select. */
export async function openClient<Options extends ClientOptions>(
  command: Command,
  shell: Shell,
): Promise<{ readonly client: Client; readonly options: Options }> {
  const options = command.opts<Options>();
  return { client: await connect(options, shell), options };
}
