/** The options that every client command has. */
import type { Client } from '@everstep/sdk';
import type { Command } from 'commander';
import { type ConnectionOptions, connect } from '../connection.js';
import type { Shell } from '../output.js';

export interface ClientOptions extends ConnectionOptions {
  readonly json?: boolean;
}

export function withConnection(command: Command): Command {
  return command
    .option('--url <url>', 'the service (or EVERSTEP_URL)')
    .option('--token <token>', 'API token (or EVERSTEP_TOKEN)')
    .option('--data-dir <path>', 'local data directory to take URL and token from (or EVERSTEP_DATA_DIR)')
    .option('--json', 'print JSON');
}

/** The options of a command as they were typed, and a client for the service they name. */
export async function open<Options extends ClientOptions>(
  command: Command,
  shell: Shell,
): Promise<{ readonly client: Client; readonly options: Options }> {
  const options = command.opts<Options>();
  return { client: await connect(options, shell), options };
}
