/** `everstep admin users ...`: users of the installation, for operators. */
import type { AdminClient, User } from '@everstep/sdk';
import { Command } from 'commander';
import { UsageError } from '../../exit-codes.js';
import { instant, json, type Shell, table } from '../../output.js';
import { openAdmin, withAdminConnection } from './admin-connection.js';

const MS_PER_SECOND = 1_000;

/** Returns the id of a user. `user` is an id or an email. Rejects with UsageError for an unknown email. */
async function findUserId(admin: AdminClient, user: string): Promise<string> {
  if (!user.includes('@')) return user;
  for await (const { id, email } of admin.users.all()) if (email === user.toLowerCase()) return id;
  throw new UsageError(`No user has the email ${user}.`);
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('list')).description('List the users of the installation.');
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const users: User[] = [];
    for await (const user of admin.users.all()) users.push(user);
    if (options.json) return screen.write(json(users));
    const rows = users.map(({ id, email, creation_time, is_operator, disabled_time }) => [
      id,
      email,
      is_operator ? 'operator' : null,
      instant(creation_time * MS_PER_SECOND),
      disabled_time === undefined ? null : instant(disabled_time * MS_PER_SECOND),
    ]);
    screen.write(table(screen, ['USER', 'EMAIL', 'ROLE', 'CREATED (UTC)', 'DISABLED (UTC)'], rows));
  });
}

interface Change {
  readonly name: string;
  readonly description: string;
  /** Result in the output, such as `disabled`. */
  readonly outcome: string;
  apply(admin: AdminClient, userId: string): Promise<void>;
}

const CHANGES: readonly Change[] = [
  {
    name: 'disable',
    description: 'Disable a user. The user cannot sign in, and all sessions of the user end immediately.',
    outcome: 'disabled',
    apply: (admin, userId) => admin.users.disable(userId),
  },
  {
    name: 'enable',
    description: 'Enable a disabled user.',
    outcome: 'enabled',
    apply: (admin, userId) => admin.users.enable(userId),
  },
  {
    name: 'revoke-keys',
    description: 'Revoke all API keys of a user and end all sessions of the user.',
    outcome: 'revoked',
    apply: (admin, userId) => admin.users.revokeApiKeys(userId),
  },
  {
    name: 'end-sessions',
    description: 'End all sessions of a user.',
    outcome: 'ended',
    apply: (admin, userId) => admin.users.endSessions(userId),
  },
  {
    name: 'grant-operator',
    description: 'Make a user an operator of the installation.',
    outcome: 'granted',
    apply: (admin, userId) => admin.users.grantOperator(userId),
  },
  {
    name: 'revoke-operator',
    description: 'Revoke the operator role of a user. The last operator cannot be revoked.',
    outcome: 'revoked',
    apply: (admin, userId) => admin.users.revokeOperator(userId),
  },
];

function changeCommand(shell: Shell, { name, description, outcome, apply }: Change): Command {
  const command = withAdminConnection(new Command(name)).description(description).argument('<user>', 'id or email of the user');
  return command.action(async (user: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await apply(admin, await findUserId(admin, user));
    shell.screen.write(options.json ? json({ [outcome]: user }) : `${outcome}\n`);
  });
}

function deleteCommand(shell: Shell): Command {
  const command = withAdminConnection(new Command('delete'))
    .description('Delete a user with all API keys, sessions and memberships.')
    .argument('<user>', 'id or email of the user')
    .option('--hand-over-to <user>', 'id or email of the member who becomes the owner of teams that would otherwise have none');
  return command.action(async (user: string) => {
    const { admin, options } = await openAdmin<{ readonly handOverTo?: string; readonly json?: boolean }>(command, shell);
    const handOverTo = options.handOverTo === undefined ? undefined : await findUserId(admin, options.handOverTo);
    await admin.users.delete(await findUserId(admin, user), handOverTo === undefined ? {} : { handOverTo });
    shell.screen.write(options.json ? json({ deleted: 1 }) : '1 deleted\n');
  });
}

function recoverCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('recover'))
    .description('Create a recovery link for a user without a valid API key. It works once, within one day.')
    .argument('<user>', 'id or email of the user');
  return command.action(async (user: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const link = await admin.users.createRecoveryLink(await findUserId(admin, user));
    if (options.json) return screen.write(json(link));
    screen.write(`Send this dashboard path to the user: /login#${link.recovery_secret}\n`);
    screen.write(`It works once and expires at ${instant(link.expiration_time * MS_PER_SECOND)}.\n`);
  });
}

export function usersCommand(shell: Shell): Command {
  const command = new Command('users')
    .description('Manage the users of the installation (operators only).')
    .addCommand(listCommand(shell))
    .addCommand(deleteCommand(shell))
    .addCommand(recoverCommand(shell));
  for (const change of CHANGES) command.addCommand(changeCommand(shell, change));
  return command;
}
