/** `everstep url-groups list|add|remove|delete` */
import { Command } from 'commander';
import { instant, json, type Shell, table } from '../../output.js';
import { type ClientOptions, withConnection } from '../connection-options.js';
import { jsonCall, openMessages } from './message-connection.js';

/** Fields of a URL group that are printed. */
interface GroupRow {
  readonly name: string;
  readonly updatedAt: number;
  readonly endpoints: readonly { readonly name?: string; readonly url: string }[];
}

const pathOf = (name: string): string => `/v2/topics/${encodeURIComponent(name)}`;

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list')).description('List URL groups and their endpoints.');
  return command.action(async () => {
    const { call, options } = await openMessages(command, shell);
    const groups = await call<readonly GroupRow[]>({ method: 'GET', path: '/v2/topics' });
    if (options.json) return screen.write(json(groups));
    if (groups.length === 0) return screen.write('No URL groups.\n');
    const rows = groups.flatMap(({ name, endpoints, updatedAt }) =>
      endpoints.map((endpoint) => [name, endpoint.name, endpoint.url, instant(updatedAt)]),
    );
    screen.write(table(screen, ['GROUP', 'ENDPOINT', 'URL', 'CHANGED (UTC)'], rows));
  });
}

function changeCommand(shell: Shell, name: 'add' | 'remove'): Command {
  const { screen } = shell;
  const isAdd = name === 'add';
  const command = withConnection(new Command(name))
    .description(
      isAdd
        ? 'Add an endpoint to a URL group. The group is created if it does not exist.'
        : 'Remove an endpoint from a URL group.',
    )
    .argument('<group>', 'name of the group')
    .argument('<endpoint>', 'URL of the endpoint');
  if (isAdd) command.option('--name <name>', 'name of the endpoint in the group');
  return command.action(async (group: string, url: string) => {
    const { call, options } = await openMessages<ClientOptions & { readonly name?: string }>(command, shell);
    const endpoints = [{ url, ...(options.name === undefined ? {} : { name: options.name }) }];
    await call(jsonCall(isAdd ? 'POST' : 'DELETE', `${pathOf(group)}/endpoints`, { endpoints }));
    if (options.json) screen.write(json({ group, endpoints }));
    else screen.write(isAdd ? `added ${url} to ${group}\n` : `removed ${url} from ${group}\n`);
  });
}

function deleteCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('delete'))
    .description('Delete a URL group. Messages already published to it continue.')
    .argument('<group>', 'name of the group');
  return command.action(async (group: string) => {
    const { call, options } = await openMessages(command, shell);
    await call({ method: 'DELETE', path: pathOf(group) });
    screen.write(options.json ? json({ group }) : `${group} deleted\n`);
  });
}

export function urlGroupsCommand(shell: Shell): Command {
  return new Command('url-groups')
    .description('Manage URL groups. A message to a group is sent to all of its endpoints.')
    .addCommand(listCommand(shell))
    .addCommand(changeCommand(shell, 'add'))
    .addCommand(changeCommand(shell, 'remove'))
    .addCommand(deleteCommand(shell));
}
