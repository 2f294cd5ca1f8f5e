/** `everstep store status|distribute|move`: distributes the tables of a PostgreSQL store over several servers. */
import { Command } from 'commander';
import { SETTINGS } from '../../../config/settings.js';
import { wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { json, type Shell, table } from '../../output.js';
import { settingOf } from './server-settings.js';

const STORE_FLAG = '--store <url>';
const STORE_HELP = 'postgres://user:password@host:port/database of the coordinator (or EVERSTEP_STORE)';
const JSON_HELP = 'print the result as JSON';
const MAX_LISTED_INSTANCES = 1000;

interface StoreOptions {
  readonly store?: string;
  readonly json?: boolean;
}

function urlOf({ store }: StoreOptions, shell: Shell): string {
  const location = settingOf(SETTINGS.store, store, shell);
  if (location?.kind === 'postgres') return location.url;
  throw new UsageError('No database: set --store or EVERSTEP_STORE to postgres://user:password@host:port/database.');
}

/** Loads the functions for the database, which no other commands need. */
const loadSharding = () => import('../../../stores/postgres/sharding/administration.js');

function statusCommand(shell: Shell): Command {
  return new Command('status')
    .description('Show the servers, the shards and where each queue instance is. Changes nothing.')
    .option(STORE_FLAG, STORE_HELP)
    .option('--instance <id>', 'show only this queue instance')
    .option('--json', JSON_HELP)
    .action(async (options: StoreOptions & { instance?: string }) => {
      const { withPrimaryConnection, distributionState, locationsOf, serversOf } = await loadSharding();
      const status = await withPrimaryConnection(urlOf(options, shell), async (client) => {
        const { version, pending } = await distributionState(client);
        const isDistributed = pending.length === 0;
        const instanceFilter = options.instance === undefined ? {} : { only: options.instance };
        return {
          citus: version,
          distributed: isDistributed,
          pendingTables: pending.map((entry) => entry.table),
          servers: isDistributed ? await serversOf(client) : [],
          instances: isDistributed ? await locationsOf(client, { ...instanceFilter, limit: MAX_LISTED_INSTANCES }) : [],
        };
      });
      const { screen } = shell;
      if (options.json) return screen.write(json(status));
      if (!status.distributed) {
        screen.write(
          `Citus ${status.citus}. Tables not distributed: ${status.pendingTables.length}. Run everstep store distribute.\n`,
        );
        return;
      }
      screen.write(`Citus ${status.citus}. All tables are distributed.\n\n`);
      screen.write(
        table(
          screen,
          ['SERVER', 'SHARDS'],
          status.servers.map(({ server, shards }) => [server, shards]),
        ),
      );
      screen.write('\n');
      const rows = status.instances.map(({ instanceId, shard, server }) => [instanceId, shard, server]);
      screen.write(table(screen, ['INSTANCE', 'SHARD', 'SERVER'], rows));
      if (rows.length === MAX_LISTED_INSTANCES)
        screen.write(`Only the first ${MAX_LISTED_INSTANCES} queue instances are shown.\n`);
    });
}

function distributeCommand(shell: Shell): Command {
  return new Command('distribute')
    .summary('Distribute the tables over the servers of a Citus cluster')
    .description(
      'Distribute the tables of the store over the servers of a Citus cluster. The rows of queue instances are distributed by\n' +
        'instance; small tables are copied to every server. Existing rows are included. Stop all nodes first. If the command is\n' +
        'interrupted, repeat it: it continues with the remaining tables. Without --yes it only shows what it would do.',
    )
    .option(STORE_FLAG, STORE_HELP)
    .option('--shards <number>', 'number of shards of the tables of queue instances', wholeNumber('--shards', 1), 32)
    .option('--yes', 'distribute the tables')
    .option('--json', JSON_HELP)
    .action(async (options: StoreOptions & { shards: number; yes?: boolean }) => {
      const { withPrimaryConnection, createTables, distribute, distributionState } = await loadSharding();
      const { screen, printError } = shell;
      const url = urlOf(options, shell);
      // The check comes first, so that a database that cannot be distributed is not changed.
      await withPrimaryConnection(url, distributionState);
      if (options.yes) await createTables(url);
      const state = await withPrimaryConnection(url, async (client) => {
        const initialState = await distributionState(client);
        if (options.yes !== true) return initialState;
        await distribute(client, {
          shards: options.shards,
          done: ({ table: name, by }) => printError(`${name}: ${by === null ? 'on every server' : `distributed by ${by}`}\n`),
        });
        return distributionState(client);
      });
      if (options.json) return screen.write(json(state));
      if (state.pending.length === 0) {
        screen.write(`All tables are distributed over ${state.servers.join(', ')}.\n`);
        return;
      }
      const rows = state.pending.map(({ table: name, by }) => [name, by === null ? 'on every server' : `by ${by}`]);
      screen.write(table(screen, ['TABLE', 'DISTRIBUTION'], rows));
      screen.write(
        `\nServers: ${state.servers.join(', ')}. Nothing was changed. Stop all nodes, then repeat the command with --yes.\n`,
      );
    });
}

function moveCommand(shell: Shell): Command {
  return new Command('move')
    .summary('Move a queue instance to another server while it is used')
    .description(
      'Move a queue instance, with all its rows, to another server of the cluster while nodes use it. The instance is first\n' +
        'moved to its own shard. At the end of the move, writes of the instance wait. The servers require wal_level = logical.',
    )
    .argument('<instance>', 'id of the queue instance')
    .requiredOption('--to <host:port>', 'server, as everstep store status shows it')
    .option(STORE_FLAG, STORE_HELP)
    .option('--json', JSON_HELP)
    .action(async (instanceId: string, options: StoreOptions & { to: string }) => {
      const { withPrimaryConnection, moveInstance } = await loadSharding();
      const location = await withPrimaryConnection(urlOf(options, shell), (client) =>
        moveInstance(client, { instanceId, to: options.to }),
      );
      if (options.json) return shell.screen.write(json(location));
      shell.screen.write(`${location.instanceId} is on ${location.server}, in shard ${location.shard}.\n`);
    });
}

export function storeCommand(shell: Shell): Command {
  return new Command('store')
    .summary('Distribute a PostgreSQL store over several servers')
    .description('Distribute the tables of a PostgreSQL store over the servers of a Citus cluster, and show where they are.')
    .addCommand(statusCommand(shell))
    .addCommand(distributeCommand(shell))
    .addCommand(moveCommand(shell));
}
