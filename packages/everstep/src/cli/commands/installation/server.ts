/** `everstep dev` and `everstep serve`: run the server until it is stopped. */
import { join } from 'node:path';
import { Command } from 'commander';
import type { Credentials } from '../../../bootstrap/credentials.js';
import type { Config } from '../../../config/config.js';
import { LIMITS } from '../../../config/limits.js';
import type { Mode } from '../../../config/setting.js';
import type { RunningServer } from '../../../main.js';
import { writeNextSteps } from '../../demo/next-steps.js';
import { EXIT } from '../../exit-codes.js';
import { displayPath, type Screen, type Shell, styled } from '../../output.js';
import { waitForSignal } from '../../shutdown.js';
import { configOf, withConfig } from './config-options.js';

const DESCRIPTIONS: Readonly<Record<Mode, readonly [string, string]>> = {
  dev: [
    'Start the server for local development, with the example order app',
    'Deliveries to loopback addresses are allowed. Other private addresses must be listed in --allow-addresses.',
  ],
  serve: [
    'Start the server for production',
    'Deliveries to private, loopback and link-local addresses are blocked unless listed in --allow-addresses. The log is\nwritten to stderr as JSON lines.',
  ],
};

export function serverCommand(mode: Mode, shell: Shell, finish: (code: number) => void): Command {
  const [summary, description] = DESCRIPTIONS[mode];
  const command = new Command(mode).summary(summary).description(`${summary}.\n${description}`).usage('[options]');
  withConfig(command, mode).action(async () => {
    finish(await runServer(configOf(command, mode, shell), shell.screen));
  });
  return command;
}

const credentialsPath = ({ dataDir }: Config): string => displayPath(join(dataDir, 'credentials.json'));

/** Returns whether secrets may be printed. Output that is not a terminal is often stored, for example by a container engine. */
const canPrintSecrets = (screen: Screen, config: Config): boolean => config.printCredentials || screen.isTerminal;

function printCredentials(screen: Screen, config: Config, credentials: Credentials, kind: 'first' | 'reissued'): void {
  if (!canPrintSecrets(screen, config)) {
    const [cause, subject] =
      kind === 'first'
        ? ['This is the first start.', 'The new credentials']
        : ['The stored credentials were lost or revoked.', 'New ones'];
    screen.write(`${cause} ${subject} are in ${credentialsPath(config)}. Use --print-credentials to print them.\n\n`);
    return;
  }
  const heading =
    kind === 'first'
      ? 'This is the first start. New credentials:'
      : 'The stored credentials were lost or revoked. New credentials:';
  const rows: readonly (readonly [string, string])[] = [
    ['user', credentials.adminEmail],
    ['API key', credentials.adminApiKey],
    ['queue instance', `${credentials.instanceId} in ${credentials.region}`],
    ['token', credentials.token],
    ['read-only token', credentials.readOnlyToken],
    ['signing keys', `${credentials.currentSigningKey} (current)`],
    ['', `${credentials.nextSigningKey} (next)`],
  ];
  screen.write(`${heading}\n`);
  for (const [name, value] of rows) screen.write(`  ${styled(screen, 'dim', name.padEnd(16))}${value}\n`);
  screen.write(`  ${styled(screen, 'dim', `They are stored in ${credentialsPath(config)}.`)}\n\n`);
}

/** Returns whether to print a one-time login link instead of the credentials. */
const shouldPrintLink = (screen: Screen, config: Config): boolean => config.mode === 'dev' && canPrintSecrets(screen, config);

/** Returns the URL of the dashboard and how to sign in. */
function dashboardText(
  screen: Screen,
  config: Config,
  server: Pick<RunningServer, 'managementUrl' | 'credentials' | 'start' | 'loginUrl'>,
): string {
  const link = shouldPrintLink(screen, config) ? server.loginUrl() : null;
  if (link !== null)
    return [
      `Open the dashboard: ${styled(screen, 'cyan', link)}`,
      `  ${styled(screen, 'dim', `This link signs you in once, within ${LIMITS.loginLinkMs / 60_000} minutes. After that, sign in with the email and API key in ${credentialsPath(config)}.`)}`,
    ].join('\n');
  const dashboardLine = `Dashboard: ${styled(screen, 'cyan', `${server.managementUrl}/`)}`;
  if (!server.credentials) return dashboardLine;
  const credentialsLocation =
    server.start === 'existing' || !canPrintSecrets(screen, config) ? `in ${credentialsPath(config)}` : 'below';
  return `${dashboardLine} (sign in with the email and API key ${credentialsLocation})`;
}

/** Resolves with the exit code when the server has stopped. */
async function runServer(config: Config, screen: Screen): Promise<number> {
  // From here on, a signal shuts the server down gracefully, even during startup.
  // With TLS, SIGHUP reloads the certificate.
  const stopSignal = waitForSignal({ stopsOnHangUp: config.tls === null });
  // The modules are loaded only here, because no other command needs the server.
  const [{ startServer }, { createDemo }] = await Promise.all([import('../../../main.js'), import('../../demo/demo.js')]);
  const demo = config.demo ? createDemo(config, screen) : null;
  const startController = new AbortController();
  void stopSignal.then(() => startController.abort());
  const serverStart = startServer(config, { signal: startController.signal, ...(demo ? { beforeWork: demo.start } : {}) });
  // Without a listener, the signal would end the process, even during startup.
  process.on('SIGUSR2', () => {
    serverStart
      .then((server) => server.toggleDebug())
      .catch((error) => screen.write(`Could not record the log level change in the audit log: ${error}\n`));
  });
  const server = await serverStart.catch(async (error) => {
    await demo?.stop();
    throw error;
  });
  const { credentials, url } = server;
  screen.write(`${styled(screen, 'bold', 'Everstep')} is listening on ${styled(screen, 'cyan', url)}\n`);
  screen.write(`${dashboardText(screen, config, server)}\n\n`);
  if (config.virtualClock)
    screen.write(
      'The clock is virtual. Advance it with POST /v2/clock/advance and {"by": "7d"}, or with everstep clock advance.\n\n',
    );
  if (!credentials)
    screen.write('This node joined an existing database. The credentials are on the node that was started first.\n\n');
  if (credentials && (server.start === 'first' || server.start === 'reissued') && !shouldPrintLink(screen, config))
    printCredentials(screen, config, credentials, server.start);
  if (server.setAsidePath)
    screen.write(`The data directory contained credentials of another store. They were moved to ${server.setAsidePath}.\n\n`);
  const demoController = new AbortController();
  const demoEnd = (credentials ? demo?.show({ ...server, credentials }, demoController.signal) : undefined)?.catch((error) => {
    if (!demoController.signal.aborted) screen.write(`The demo stopped: ${error instanceof Error ? error.message : error}\n`);
  });
  if (!demo && config.mode === 'dev' && credentials) {
    screen.write(await writeNextSteps(screen, { url, token: credentials.token, dataDir: config.dataDir, exampleUrl: null }));
  }
  await stopSignal;
  screen.write('\nStopping ...\n');
  demoController.abort();
  await server.stop();
  await Promise.all([demoEnd, demo?.stop()]);
  screen.write(`Stopped. Your data is in ${config.dataDir}.\n`);
  return EXIT.ok;
}
