/** `everstep admin search list|get|create|rename|transfer|reset-password|delete|stats` */
import type { AdminClient, SearchIndex, SearchIndexStats, SearchIndexType } from '@everstep/sdk';
import { Command, Option } from 'commander';
import { type AdminOptions, openAdmin, withAdminConnection } from '../../admin-connection.js';
import { instant, json, printable, type Screen, type Shell, styled, table } from '../../output.js';

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
    if (indexes.length === 0) return screen.write('There are no search indexes.\n');
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
    .description('Create a search index, and show it with its endpoint and its tokens.')
    .argument('<name>', 'for people')
    .requiredOption('--region <region>', 'where it lives, such as eu-central-1')
    .addOption(new Option('--type <type>', 'how it is paid; all do the same').choices(TYPES).default(TYPES[0]))
    .option('--team <teamId>', 'the team that is to own it (default: your personal account)');
  return command.action(async (name: string) => {
    const { admin, options } = await openAdmin<CreateOptions>(command, shell);
    const { region, type, team } = options;
    const index = await admin.searchIndexes.create({ name, region, type, ...(team === undefined ? {} : { teamId: team }) });
    if (options.json) screen.write(json(index));
    else showIndex(screen, index);
  });
}

/** A command that takes the id of an index and shows the index. */
function oneCommand(
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
    .description('Give a search index another name. Its endpoint and its tokens stay.')
    .argument('<indexId>', 'id of the search index')
    .argument('<name>', 'the new name');
  return command.action(async (indexId: string, name: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.searchIndexes.rename(indexId, name);
    screen.write(options.json ? json({ changed: 1 }) : `${printable(indexId)} is named ${printable(name)}\n`);
  });
}

function transferCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('transfer'))
    .description('Give a search index to a team. Its documents and its tokens stay as they are.')
    .argument('<indexId>', 'id of the search index')
    .argument('<teamId>', 'id of the team');
  return command.action(async (indexId: string, teamId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.searchIndexes.moveToTeam(indexId, teamId);
    screen.write(options.json ? json({ changed: 1 }) : `${printable(indexId)} belongs to ${printable(teamId)}\n`);
  });
}

function deleteCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('delete'))
    .description('Delete a search index with all its documents. It cannot be undone.')
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
    .description('Show how many documents a search index has, and how much room they take; without an id, all of them.')
    .argument('[indexId]', 'id of a search index');
  return command.action(async (indexId: string | undefined) => {
    const { admin, options } = await openAdmin(command, shell);
    const { searchIndexes } = admin;
    const stats = indexId === undefined ? await searchIndexes.totals() : await searchIndexes.stats(indexId);
    if (options.json) return screen.write(json(stats));
    const indexes: readonly SearchIndexStats[] = 'indexes' in stats ? stats.indexes : [stats];
    const rows = indexes.map((one) => [one.id, one.name, one.namespace_count, one.document_count, one.disk_size]);
    if (rows.length > 0) screen.write(table(screen, ['INDEX', 'NAME', 'NAMESPACES', 'DOCUMENTS', 'BYTES'], rows));
    if ('indexes' in stats) {
      screen.write(`${rows.length > 0 ? '\n' : ''}${stats.index_count} indexes, ${stats.document_count} documents, `);
      screen.write(`${stats.disk_size} bytes\n`);
    }
  });
}

export function searchIndexesCommand(shell: Shell): Command {
  return new Command('search')
    .description('Search indexes: list, get, create, and what can be changed of them.')
    .addCommand(listCommand(shell))
    .addCommand(
      oneCommand(shell, 'get', 'Show a search index, with its tokens if you may use it.', (admin, id) =>
        admin.searchIndexes.get(id),
      ),
    )
    .addCommand(createCommand(shell))
    .addCommand(renameCommand(shell))
    .addCommand(transferCommand(shell))
    .addCommand(
      oneCommand(shell, 'reset-password', 'Make new tokens, and show them; the old ones are refused from then on.', (admin, id) =>
        admin.searchIndexes.rotateTokens(id),
      ),
    )
    .addCommand(deleteCommand(shell))
    .addCommand(statsCommand(shell));
}
