/** `everstep settings get|set` */
import type { InstanceSettings, InstanceSettingsUpdate, RetentionRule } from '@everstep/sdk';
import { Command } from 'commander';
import { durationMs, wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { duration, json, type Screen, type Shell, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';

type RetentionUpdate = Partial<RetentionRule>;

const LIMITS_FORMAT = '"age=<duration>|forever, count=<number>|all"';

/** Parses `age=7d, count=1000`; both parts are optional. Throws UsageError. */
const parseRetention =
  (name: string) =>
  (text: string): RetentionUpdate => {
    let update: RetentionUpdate = {};
    for (const part of text.split(',')) {
      const [key = '', value = ''] = part.split('=').map((side) => side.trim());
      if (key === 'age') update = { ...update, maxAgeMs: value === 'forever' ? null : durationMs(`${name} age`)(value) };
      else if (key === 'count') update = { ...update, maxCount: value === 'all' ? null : wholeNumber(`${name} count`)(value) };
      else throw new UsageError(`${name} must be ${LIMITS_FORMAT}; got "${text}"`);
    }
    return update;
  };

function parseOnOff(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new UsageError(`--breaker must be on or off; got "${text}"`);
}

function showSettings(screen: Screen, { breaker, retention }: InstanceSettings): void {
  const { enabled, failures, probeEveryMs } = breaker;
  const holdText = `after ${failures} consecutive failures, with a probe every ${duration(probeEveryMs)}`;
  screen.write(`breaker: ${enabled ? 'on' : 'off'} (holds a destination ${holdText})\n\n`);
  const rowOf = (name: string, { maxAgeMs, maxCount }: RetentionRule) => [
    name,
    maxAgeMs === null ? 'forever' : duration(maxAgeMs),
    maxCount === null ? 'all' : maxCount,
  ];
  const rows = [
    rowOf('succeeded', retention.succeeded),
    rowOf('failed', retention.failed),
    rowOf('canceled', retention.canceled),
    rowOf('dead letters', retention.deadLetter),
  ];
  screen.write(table(screen, ['RUNS', 'MAX AGE', 'MAX COUNT'], rows));
}

function getCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('get')).description('Show the settings of the queue instance.');
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const settings = await client.settings.get();
    if (options.json) screen.write(json(settings));
    else showSettings(screen, settings);
  });
}

interface SetOptions extends ClientOptions {
  readonly breaker?: boolean;
  readonly breakerFailures?: number;
  readonly breakerProbeEvery?: number;
  readonly keepSucceeded?: RetentionUpdate;
  readonly keepFailed?: RetentionUpdate;
  readonly keepCanceled?: RetentionUpdate;
  readonly keepDeadLetters?: RetentionUpdate;
}

/** Returns the settings to change. Throws UsageError if there are none. */
function updateOf(options: SetOptions): InstanceSettingsUpdate {
  const { breaker, breakerFailures, breakerProbeEvery } = options;
  const optionalField = <Name extends string, Value>(name: Name, value: Value | undefined) =>
    (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: Value };
  const breakerUpdate = {
    ...optionalField('enabled', breaker),
    ...optionalField('failures', breakerFailures),
    ...optionalField('probeEveryMs', breakerProbeEvery),
  };
  const retentionUpdate = {
    ...optionalField('succeeded', options.keepSucceeded),
    ...optionalField('failed', options.keepFailed),
    ...optionalField('canceled', options.keepCanceled),
    ...optionalField('deadLetter', options.keepDeadLetters),
  };
  const isEmpty = (update: object) => Object.keys(update).length === 0;
  if (isEmpty(breakerUpdate) && isEmpty(retentionUpdate))
    throw new UsageError('Give at least one setting. See --help for the list.');
  return {
    ...(isEmpty(breakerUpdate) ? {} : { breaker: breakerUpdate }),
    ...(isEmpty(retentionUpdate) ? {} : { retention: retentionUpdate }),
  };
}

function setCommand(shell: Shell): Command {
  const { screen } = shell;
  const retentionHelp = (runs: string) => `retention of ${runs}: ${LIMITS_FORMAT}`;
  const command = withConnection(new Command('set'))
    .description('Change settings of the queue instance. Omitted settings do not change.')
    .option('--breaker <on|off>', 'automatically hold destinations that keep failing', parseOnOff)
    .option(
      '--breaker-failures <number>',
      'consecutive failures before a destination is held',
      wholeNumber('--breaker-failures', 1),
    )
    .option(
      '--breaker-probe-every <duration>',
      'interval of probe deliveries to a held destination',
      durationMs('--breaker-probe-every'),
    )
    .option('--keep-succeeded <limits>', retentionHelp('successful runs'), parseRetention('--keep-succeeded'))
    .option('--keep-failed <limits>', retentionHelp('failed runs without a dead letter'), parseRetention('--keep-failed'))
    .option('--keep-canceled <limits>', retentionHelp('canceled runs'), parseRetention('--keep-canceled'))
    .option('--keep-dead-letters <limits>', retentionHelp('dead letters'), parseRetention('--keep-dead-letters'));
  return command.action(async () => {
    const update = updateOf(command.opts<SetOptions>());
    const { client, options } = await openClient<SetOptions>(command, shell);
    const settings = await client.settings.update(update);
    if (options.json) screen.write(json(settings));
    else showSettings(screen, settings);
  });
}

export function settingsCommand(shell: Shell): Command {
  return new Command('settings')
    .description('Show or change the settings of the queue instance.')
    .addCommand(getCommand(shell))
    .addCommand(setCommand(shell));
}
