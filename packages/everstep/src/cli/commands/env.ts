/** `everstep env` */
import { Client } from '@everstep/sdk';
import { Command } from 'commander';
import { appEnvironmentOf } from '../../bootstrap/env-file.js';
import { findService } from '../connection.js';
import { UsageError } from '../exit-codes.js';
import { json, type Shell } from '../output.js';
import { type ClientOptions, withConnection } from './connection-options.js';

/** Whom a token speaks for. Whether it is good, the service says. */
function instanceOf(token: string): string {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    if (typeof claims === 'object' && claims !== null && 'sub' in claims && typeof claims.sub === 'string') return claims.sub;
  } catch {
    // Said below.
  }
  throw new UsageError('The token is none of this service: it has to be the one that EVERSTEP_TOKEN names, a JWT.');
}

export function envCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('env')).description(
    'Print what an app needs in its environment, as lines: for @everstep/sdk (EVERSTEP_*), and for the published\n@upstash/workflow and @upstash/qstash (QSTASH_*). The token is among it.',
  );
  return command.action(async () => {
    const options = command.opts<ClientOptions>();
    const { url, token } = await findService(options, shell);
    const instanceId = instanceOf(token);
    const { current, next } = await new Client({ baseUrl: url, token }).keys.get();
    const lines = appEnvironmentOf({ url, token, instanceId, currentSigningKey: current, nextSigningKey: next });
    if (options.json) screen.write(json(lines));
    else
      screen.write(
        Object.entries(lines)
          .map(([name, value]) => `${name}=${value}\n`)
          .join(''),
      );
  });
}
