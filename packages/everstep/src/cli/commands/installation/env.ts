/** `everstep env` */
import { Client } from '@everstep/sdk';
import { Command } from 'commander';
import { appEnvironmentOf } from '../../../bootstrap/env-file.js';
import { findServer } from '../../connection.js';
import { UsageError } from '../../exit-codes.js';
import { json, type Shell } from '../../output.js';
import { type ClientOptions, withConnection } from '../connection-options.js';

/** Returns the queue instance that a token belongs to. The server decides whether the token is valid. */
function instanceOf(token: string): string {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    if (typeof claims === 'object' && claims !== null && 'sub' in claims && typeof claims.sub === 'string') return claims.sub;
  } catch {
    // The error below reports a token that cannot be parsed.
  }
  throw new UsageError('Invalid token: it must be a token of an Everstep server (a JWT), such as the one in EVERSTEP_TOKEN.');
}

export function envCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('env')).description(
    'Print the environment variables of an app as KEY=value lines. EVERSTEP_* are for @everstep/sdk, QSTASH_* for the\npublished @upstash/workflow and @upstash/qstash. The output contains the token.',
  );
  return command.action(async () => {
    const options = command.opts<ClientOptions>();
    const { url, token } = await findServer(options, shell);
    const instanceId = instanceOf(token);
    const { current, next } = await new Client({ baseUrl: url, token }).keys.get();
    const environment = appEnvironmentOf({ url, token, instanceId, currentSigningKey: current, nextSigningKey: next });
    if (options.json) screen.write(json(environment));
    else
      screen.write(
        Object.entries(environment)
          .map(([name, value]) => `${name}=${value}\n`)
          .join(''),
      );
  });
}
