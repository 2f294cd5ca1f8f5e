/** `everstep keys get|rotate|origins|messages|ed25519` */
import type { Client, SignatureSettings, SigningKeyPair } from '@everstep/sdk';
import { Command } from 'commander';
import { UsageError } from '../../exit-codes.js';
import { json, type Screen, type Shell } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';

/** Prints the keys as environment variables of an app. */
function showKeys(screen: Screen, { current, next }: SigningKeyPair): void {
  screen.write(`EVERSTEP_CURRENT_SIGNING_KEY=${current}\nEVERSTEP_NEXT_SIGNING_KEY=${next}\n`);
}

function keyCommand(shell: Shell, name: 'get' | 'rotate', description: string): Command {
  const { screen } = shell;
  const command = withConnection(new Command(name)).description(description);
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const keys = await client.keys[name]();
    if (options.json) screen.write(json(keys));
    else showKeys(screen, keys);
  });
}

function messagesCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('messages')).description(
    'Print the message keys as environment variables, for an app that receives messages but has no workflow.',
  );
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const { messageKeys } = await client.signatures.get();
    if (options.json) screen.write(json(messageKeys));
    else showKeys(screen, messageKeys);
  });
}

interface OriginOptions extends ClientOptions {
  readonly automatic?: boolean;
  readonly none?: boolean;
}

function showOrigins(screen: Screen, { origins, workflowOrigins }: SignatureSettings): void {
  const originsText = origins === null ? 'not set' : origins.length === 0 ? 'none' : origins.join(' ');
  screen.write(`set: ${originsText}\nfrom workflows: ${workflowOrigins.length === 0 ? 'none yet' : workflowOrigins.join(' ')}\n`);
  if (origins === null && workflowOrigins.length === 0)
    screen.write('Until the first step is delivered, plain messages to all origins are signed with the signing keys.\n');
}

/** Returns the origins to set: null for automatic, undefined to only show them. Throws UsageError for several choices. */
function selectOrigins(
  origins: readonly string[],
  { automatic = false, none = false }: OriginOptions,
): readonly string[] | null | undefined {
  if (Number(automatic) + Number(none) + Number(origins.length > 0) > 1)
    throw new UsageError('Give origins, --none or --automatic; only one of the three is allowed.');
  if (automatic) return null;
  return origins.length > 0 || none ? origins : undefined;
}

function originsCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('origins'))
    .description(
      'Show or set additional origins whose plain messages are signed with the signing keys. Workflow origins are always included.',
    )
    .argument(
      '[origins...]',
      'origins, such as https://app.example.com, "https://*.example.com" for all subdomains, or "*" for all origins',
    )
    .option('--none', 'only workflow origins')
    .option('--automatic', 'all origins until the first step is delivered, then only workflow origins');
  return command.action(async (originArguments: readonly string[]) => {
    const origins = selectOrigins(originArguments, command.opts<OriginOptions>());
    const { client, options } = await openClient<OriginOptions>(command, shell);
    const settings = await (origins === undefined ? client.signatures.get() : client.signatures.update({ origins }));
    if (options.json) screen.write(json(settings));
    else showOrigins(screen, settings);
  });
}

const ED25519_ACTIONS = ['on', 'off', 'rotate'] as const;

/** Applies the action, if there is one. Resolves with the settings. */
function applyAction({ signatures }: Client, action: (typeof ED25519_ACTIONS)[number] | undefined): Promise<SignatureSettings> {
  switch (action) {
    case undefined:
      return signatures.get();
    case 'rotate':
      return signatures.rotate();
    default:
      return signatures.update({ ed25519: action === 'on' });
  }
}

function showPublicKeys(screen: Screen, { ed25519 }: SignatureSettings): void {
  if (ed25519 === null) screen.write('Ed25519 signatures are off. Turn them on with `everstep keys ed25519 on`.\n');
  else screen.write(`EVERSTEP_JWKS_URL=${ed25519.jwksUrl}\n`);
}

function ed25519Command(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('ed25519'))
    .description('Show the URL of the Ed25519 public keys, turn Ed25519 signatures on or off, or rotate their keys.')
    .argument('[action]', ED25519_ACTIONS.join(', '));
  return command.action(async (text: string | undefined) => {
    const action = ED25519_ACTIONS.find((name) => name === text);
    if (text !== undefined && action === undefined)
      throw new UsageError(`<action> must be one of ${ED25519_ACTIONS.join(', ')}; got "${text}".`);
    const { client, options } = await openClient(command, shell);
    const settings = await applyAction(client, action);
    if (options.json) screen.write(json(settings.ed25519));
    else showPublicKeys(screen, settings);
  });
}

export function keysCommand(shell: Shell): Command {
  const rotateDescription =
    'Rotate the keys: the next key becomes the current one, and a new next key is created. Apps that have both keys keep working.';
  return new Command('keys')
    .description('Manage the keys that sign deliveries.')
    .addCommand(keyCommand(shell, 'get', 'Print the signing keys as environment variables of an app.'))
    .addCommand(keyCommand(shell, 'rotate', rotateDescription))
    .addCommand(messagesCommand(shell))
    .addCommand(originsCommand(shell))
    .addCommand(ed25519Command(shell));
}
