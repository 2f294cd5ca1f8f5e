/** `everstep dev` and `everstep serve`: the service itself, until it is told to stop. */
import { relative } from 'node:path';
import { Command } from 'commander';
import type { Credentials } from '../../bootstrap/credentials.js';
import { type Config, parseConfig } from '../../config/config.js';
import { type Mode, SETTINGS } from '../../config/settings.js';
import type { RunningService } from '../../main.js';
import { nextStepsText } from '../demo/next-steps.js';
import { EXIT, UsageError } from '../exit-codes.js';
import { type Screen, type Shell, styled } from '../output.js';
import { untilSignal } from '../shutdown.js';

const ABOUT: Readonly<Record<Mode, readonly [string, string]>> = {
  dev: [
    'Start the service for work on this machine, with the example order app',
    'Calls to loopback addresses are allowed; other private addresses are not, unless listed in --allow-addresses.',
  ],
  serve: [
    'Start the service for others',
    'Calls to private, loopback and link-local addresses are refused unless listed in --allow-addresses. Logs are JSON lines on stderr.',
  ],
};

function settingsHelp(): string {
  const rows = Object.values(SETTINGS).map(({ env, flag }) => `  ${flag.padEnd(26)}${env}`);
  return `\nEach flag has an environment variable; the flag wins:\n${rows.join('\n')}\n`;
}

export function serviceCommand(mode: Mode, shell: Shell, finish: (code: number) => void): Command {
  const [summary, description] = ABOUT[mode];
  const command = new Command(mode).summary(summary).description(`${summary}.\n${description}`).usage('[options]');
  for (const { flag, help, defaultText } of Object.values(SETTINGS)) {
    if (mode === 'serve' && flag === SETTINGS.demo.flag) continue;
    command.option(flag, flag.startsWith('--no-') ? help : `${help} (default: ${defaultText})`);
  }
  command.addHelpText('after', settingsHelp());
  command.action(async () => {
    const flags: Record<string, string | boolean | undefined> = {};
    for (const { option } of Object.values(SETTINGS)) {
      // commander presets --no-x to true; only what was typed counts as given.
      if (command.getOptionValueSource(option) === 'cli') flags[option] = command.getOptionValue(option);
    }
    const parsed = parseConfig({ mode, flags, env: shell.env, cwd: shell.cwd });
    if (!parsed.ok) throw new UsageError(parsed.problems.join('\n'));
    finish(await runService(parsed.config, shell.screen));
  });
  return command;
}

const credentialsPath = ({ dataDir }: Config): string => `${relative(process.cwd(), dataDir) || '.'}/credentials.json`;

/** Whether secrets may be printed: what is no terminal is often kept for good, by a container engine for instance. */
const mayPrint = (screen: Screen, config: Config): boolean => config.printCredentials || screen.isTerminal;

function tellCredentials(screen: Screen, config: Config, credentials: Credentials, kind: 'first' | 'reissued'): void {
  if (!mayPrint(screen, config)) {
    const [what, made] =
      kind === 'first'
        ? ['This is the first start.', 'The credentials that it made']
        : ['The kept credentials were lost or revoked.', 'New ones'];
    screen.write(`${what} ${made} are in ${credentialsPath(config)}; with --print-credentials they are printed.\n\n`);
    return;
  }
  const heading =
    kind === 'first'
      ? 'This is the first start. These were made for you:'
      : 'The kept credentials were lost or revoked. These are new:';
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
  screen.write(`  ${styled(screen, 'dim', `They are kept in ${credentialsPath(config)}.`)}\n\n`);
}

/** Where the dashboard is, and where to find what one logs in with. */
function dashboardText(
  screen: Screen,
  config: Config,
  service: Pick<RunningService, 'managementUrl' | 'credentials' | 'start'>,
): string {
  const at = `Its dashboard is at ${styled(screen, 'cyan', `${service.managementUrl}/`)}`;
  if (!service.credentials) return at;
  const where = service.start === 'known' || !mayPrint(screen, config) ? `in ${credentialsPath(config)}` : 'below';
  return `${at}; log in with the user and the API key ${where}`;
}

/** Resolves with the exit code once the service has stopped. */
async function runService(config: Config, screen: Screen): Promise<number> {
  // From here on a signal ends the service in an orderly way, also while it is starting.
  const signal = untilSignal();
  // Loaded only here: the other commands need nothing of the service.
  const [{ startService }, { createDemo }] = await Promise.all([import('../../main.js'), import('../demo/demo.js')]);
  const demo = config.demo ? createDemo(config, screen) : null;
  const service = await startService(config, demo ? { beforeWork: demo.start } : {}).catch(async (error) => {
    await demo?.stop();
    throw error;
  });
  const { credentials, url } = service;
  screen.write(`${styled(screen, 'bold', 'Everstep')} listens at ${styled(screen, 'cyan', url)}\n`);
  screen.write(`${dashboardText(screen, config, service)}\n\n`);
  if (config.virtualClock) screen.write('Its clock is virtual: POST /v2/clock/advance with {"by": "7d"} moves it on.\n\n');
  if (!credentials)
    screen.write('It joined other nodes on its database; the credentials are where the first of them was started.\n\n');
  if (credentials && (service.start === 'first' || service.start === 'reissued'))
    tellCredentials(screen, config, credentials, service.start);
  if (service.setAside)
    screen.write(`Credentials of another store lay in the data directory; they are now in ${service.setAside}.\n\n`);
  const stopShow = new AbortController();
  const show = (credentials ? demo?.show({ ...service, credentials }, stopShow.signal) : undefined)?.catch((error) => {
    if (!stopShow.signal.aborted) screen.write(`The demo stopped: ${error instanceof Error ? error.message : error}\n`);
  });
  if (!demo && config.mode === 'dev' && credentials) {
    screen.write(nextStepsText(screen, { url, token: credentials.token, dataDir: config.dataDir, exampleUrl: null }));
  }
  await signal;
  screen.write('\nStopping ...\n');
  stopShow.abort();
  await service.stop();
  await Promise.all([show, demo?.stop()]);
  screen.write(`Stopped. Everything is kept in ${config.dataDir}.\n`);
  return EXIT.ok;
}
