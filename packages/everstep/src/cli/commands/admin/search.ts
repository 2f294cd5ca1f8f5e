/** `everstep admin search list|get|create|rename|transfer|reset-password|delete|stats` */
import type { AdminClient, SearchIndex, SearchIndexStats, SearchIndexType } from '@everstep/sdk';
import { Command, Option } from 'commander';
import { instant, json, printable, type Screen, type Shell, styled, table } from '../../output.js';
import { type AdminOptions, openAdmin, withAdminConnection } from './admin-connection.js';

const MS_PER_SECOND = 1_000;
const TYPES: readonly SearchIndexType[] = ['free', 'payg', 'fixed'];

function showIndex(screen: Screen, index: SearchIndex): void {
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['index', index.id],
    ['name', index.name],
    ['owner', index.customer_id],
    ['region', index.region],
    ['type', index.type],
    ['created', instant(index.creation_time * MS_PER_SECOND)],
    ['endpoint', index.endpoint],
    ['token', index.token],
    ['read only', index.read_only_token],
  ];
  for (const [name, value] of fields) {
    if (value !== undefined) screen.write(`${styled(screen, 'dim', name.padEnd(11))}${printable(value)}\n`);
  }
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('list')).description('List the search indexes of all your accounts.');
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const indexes = await admin.searchIndexes.list();
    if (options.json) return screen.write(json(indexes));
    if (indexes.length === 0) return screen.write('No search indexes.\n');
    const rows = indexes.map(({ id, name, region, customer_id, creation_time }) => [
      id,
      name,
      region,
      customer_id,
      instant(creation_time * MS_PER_SECOND),
    ]);
    screen.write(table(screen, ['INDEX', 'NAME', 'REGION', 'OWNER', 'CREATED (UTC)'], rows));
  });
}

interface CreateOptions extends AdminOptions {
  readonly region: string;
  readonly type: SearchIndexType;
  readonly team?: string;
}

function createCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('create'))
    .description('Create a search index and print it with its endpoint and tokens.')
    .argument('<name>', 'name of the search index')
    .requiredOption('--region <region>', 'region, such as eu-central-1')
    .addOption(new Option('--type <type>', 'pricing type; all types work the same').choices(TYPES).default(TYPES[0]))
    .option('--team <teamId>', 'team that owns the search index (default: your personal account)');
  return command.action(async (name: string) => {
    const { admin, options } = await openAdmin<CreateOptions>(command, shell);
    const { region, type, team } = options;
    const index = await admin.searchIndexes.create({ name, region, type, ...(team === undefined ? {} : { teamId: team }) });
    if (options.json) screen.write(json(index));
    else showIndex(screen, index);
  });
}

/** Returns a command that takes the id of an index and prints the index. */
function indexCommand(
  shell: Shell,
  name: string,
  description: string,
  act: (admin: AdminClient, indexId: string) => Promise<SearchIndex>,
): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command(name)).description(description).argument('<indexId>', 'id of the search index');
  return command.action(async (indexId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const index = await act(admin, indexId);
    if (options.json) screen.write(json(index));
    else showIndex(screen, index);
  });
}

function renameCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('rename'))
    .description('Rename a search index. Its endpoint and tokens do not change.')
    .argument('<indexId>', 'id of the search index')
    .argument('<name>', 'new name');
  return command.action(async (indexId: string, name: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.searchIndexes.rename(indexId, name);
    screen.write(options.json ? json({ changed: 1 }) : `${printable(indexId)} renamed to ${printable(name)}\n`);
  });
}

function transferCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('transfer'))
    .description('Transfer a search index to a team. Its documents and tokens do not change.')
    .argument('<indexId>', 'id of the search index')
    .argument('<teamId>', 'id of the team');
  return command.action(async (indexId: string, teamId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.searchIndexes.moveToTeam(indexId, teamId);
    screen.write(options.json ? json({ changed: 1 }) : `${printable(indexId)} now belongs to ${printable(teamId)}\n`);
  });
}

function deleteCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('delete'))
    .description('Delete a search index and all its documents. This cannot be undone.')
    .argument('<indexId>', 'id of the search index');
  return command.action(async (indexId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.searchIndexes.delete(indexId);
    screen.write(options.json ? json({ deleted: 1 }) : '1 deleted\n');
  });
}

function statsCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('stats'))
    .description('Show the document count and size of one search index, or of all.')
    .argument('[indexId]', 'id of a search index');
  return command.action(async (indexId: string | undefined) => {
    const { admin, options } = await openAdmin(command, shell);
    const { searchIndexes } = admin;
    const stats = indexId === undefined ? await searchIndexes.totals() : await searchIndexes.stats(indexId);
    if (options.json) return screen.write(json(stats));
    const indexes: readonly SearchIndexStats[] = 'indexes' in stats ? stats.indexes : [stats];
    const rows = indexes.map((index) => [index.id, index.name, index.namespace_count, index.document_count, index.disk_size]);
    if (rows.length > 0) screen.write(table(screen, ['INDEX', 'NAME', 'NAMESPACES', 'DOCUMENTS', 'BYTES'], rows));
    if ('indexes' in stats) {
      screen.write(`${rows.length > 0 ? '\n' : ''}indexes: ${stats.index_count}, documents: ${stats.document_count}, `);
      screen.write(`bytes: ${stats.disk_size}\n`);
    }
  });
}

export function searchIndexesCommand(shell: Shell): Command {
  return new Command('search')
    .description('Manage search indexes.')
    .addCommand(listCommand(shell))
    .addCommand(
      indexCommand(shell, 'get', 'Show a search index, with its tokens if your role permits it.', (admin, id) =>
        admin.searchIndexes.get(id),
      ),
    )
    .addCommand(createCommand(shell))
    .addCommand(renameCommand(shell))
    .addCommand(transferCommand(shell))
    .addCommand(
      indexCommand(shell, 'reset-password', 'Issue new tokens and print them. The previous tokens become invalid.', (admin, id) =>
        admin.searchIndexes.rotateTokens(id),
      ),
    )
    .addCommand(deleteCommand(shell))
    .addCommand(statsCommand(shell));
}
