/** `everstep admin tokens list|create|rotate|revoke` */
import type { InstanceToken, TokenScope } from '@everstep/sdk';
import { Command } from 'commander';
import { durationMs } from '../../arguments.js';
import { instant, json, type Shell, table } from '../../output.js';
import { type AdminOptions, openAdmin, withAdminConnection } from './admin-connection.js';

const INSTANCE_ID = ['<instanceId>', 'id of the queue instance'] as const;
const TOKEN_ID = ['<tokenId>', 'id of the token, as printed by list'] as const;

const timeCell = (seconds: number | undefined): string | null => (seconds === undefined ? null : instant(seconds * 1_000));

function stateText({ revocation_time, expiration_time }: InstanceToken): string {
  if (revocation_time !== undefined) return 'revoked';
  return expiration_time !== undefined && expiration_time * 1_000 <= Date.now() ? 'expired' : 'valid';
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('list'))
    .description('List the tokens of a queue instance, with their scopes and last use.')
    .argument(...INSTANCE_ID);
  return command.action(async (instanceId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const tokens = await admin.tokens.list(instanceId);
    if (options.json) return screen.write(json(tokens));
    const rows = tokens.map((token) => [
      token.id,
      token.name,
      token.scopes.join(' '),
      stateText(token),
      timeCell(token.expiration_time),
      timeCell(token.last_use_time),
    ]);
    screen.write(table(screen, ['TOKEN', 'NAME', 'SCOPES', 'STATE', 'EXPIRES', 'LAST USED'], rows));
  });
}

interface CreateOptions extends AdminOptions {
  readonly scope: readonly TokenScope[];
  /** Lifetime of the token in milliseconds. */
  readonly expires?: number;
}

function createCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('create'))
    .description('Create a named token and print it. It cannot be printed again.')
    .argument(...INSTANCE_ID)
    .argument('<name>', 'name of the token, such as the app that uses it')
    .requiredOption(
      '--scope <scopes...>',
      'one or more scopes: trigger, notify, read-metadata, read, write, connect, or connect:<app>',
    )
    .option('--expires <duration>', 'lifetime, such as 90d (default: unlimited)', durationMs('--expires'));
  return command.action(async (instanceId: string, name: string) => {
    const { admin, options } = await openAdmin<CreateOptions>(command, shell);
    const { scope: scopes, expires } = options;
    const token = await admin.tokens.create(instanceId, {
      name,
      scopes,
      ...(expires === undefined ? {} : { expiresIn: expires / 1_000 }),
    });
    screen.write(options.json ? json(token) : `${token.token}\n`);
  });
}

interface RotateOptions extends AdminOptions {
  /** Time in milliseconds for which the old token stays valid. */
  readonly overlap?: number;
}

function rotateCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('rotate'))
    .description('Replace a named token and print the new one. The old token stays valid during the overlap.')
    .argument(...INSTANCE_ID)
    .argument(...TOKEN_ID)
    .option('--overlap <duration>', 'time for which the old token stays valid (default: 1d)', durationMs('--overlap'));
  return command.action(async (instanceId: string, tokenId: string) => {
    const { admin, options } = await openAdmin<RotateOptions>(command, shell);
    const token = await admin.tokens.rotate(
      instanceId,
      tokenId,
      options.overlap === undefined ? {} : { overlap: options.overlap / 1_000 },
    );
    screen.write(options.json ? json(token) : `${token.token}\n`);
  });
}

function revokeCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('revoke'))
    .description('Revoke a token immediately.')
    .argument(...INSTANCE_ID)
    .argument(...TOKEN_ID);
  return command.action(async (instanceId: string, tokenId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.tokens.revoke(instanceId, tokenId);
    screen.write(options.json ? json({ revoked: [tokenId] }) : '1 revoked\n');
  });
}

export function tokensCommand(shell: Shell): Command {
  return new Command('tokens')
    .description('Manage the named tokens of a queue instance.')
    .addCommand(listCommand(shell))
    .addCommand(createCommand(shell))
    .addCommand(rotateCommand(shell))
    .addCommand(revokeCommand(shell));
}
