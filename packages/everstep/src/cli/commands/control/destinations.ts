/** `everstep destinations list|hold|release` */
import { parseWorkerUrl } from '@everstep/sdk/protocol';
import { Command } from 'commander';
import { UsageError } from '../../exit-codes.js';
import { instant, json, type Shell, shorten, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';

const MAX_ERROR_LENGTH = 80;
const NO_WORKER = 'no connected worker';
const HEAD = ['DESTINATION', 'HELD', 'SINCE (UTC)', 'REASON', 'FAILURES', 'WAITING', 'NEXT PROBE (UTC)', 'LAST ERROR'] as const;

/** Returns the origin of a URL. A worker URL is its own origin. Throws UsageError if it is invalid. */
function originOf(text: string): string {
  if (parseWorkerUrl(text)) return text;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.origin;
  throw new UsageError(`<url> must be an absolute http or https URL, or worker://<app>/<workflow>; got "${text}"`);
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list')).description(
    'List destinations that are failing, on hold or without a worker.',
  );
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const destinations = await client.destinations.list();
    if (options.json) return screen.write(json({ destinations }));
    if (destinations.length === 0) return screen.write('No destination is failing, on hold or without a worker.\n');
    const rows = destinations.map((destination) => [
      destination.origin,
      destination.isHeld ? `by ${destination.heldBy}` : 'no',
      instant(destination.heldSince ?? destination.noWorkerSince),
      destination.reason ?? (destination.noWorkerSince === undefined ? undefined : NO_WORKER),
      destination.failures,
      destination.waitListSize,
      instant(destination.nextProbeAt),
      destination.lastError === undefined ? undefined : shorten(destination.lastError, MAX_ERROR_LENGTH),
    ]);
    screen.write(table(screen, HEAD, rows));
  });
}

function holdCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('hold'))
    .description('Hold all deliveries to a destination until it is released. Held deliveries do not use up attempts.')
    .argument('<url>', 'scheme, host and port (any path is ignored), or a worker URL')
    .option('--reason <text>', 'reason, shown with the hold');
  return command.action(async (url: string) => {
    const origin = originOf(url);
    const { client, options } = await openClient<ClientOptions & { readonly reason?: string }>(command, shell);
    await client.destinations.hold({ origin, reason: options.reason });
    screen.write(options.json ? json({ origin, isHeld: true }) : `${origin} is on hold\n`);
  });
}

function releaseCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('release'))
    .description('Release a destination. Held deliveries are sent in their original order.')
    .argument('<url>', 'scheme, host and port (any path is ignored), or a worker URL');
  return command.action(async (url: string) => {
    const origin = originOf(url);
    const { client, options } = await openClient(command, shell);
    await client.destinations.release(origin);
    screen.write(options.json ? json({ origin, isHeld: false }) : `${origin} is released\n`);
  });
}

export function destinationsCommand(shell: Shell): Command {
  return new Command('destinations')
    .description('Hold and release deliveries by destination.')
    .addCommand(listCommand(shell))
    .addCommand(holdCommand(shell))
    .addCommand(releaseCommand(shell));
}
