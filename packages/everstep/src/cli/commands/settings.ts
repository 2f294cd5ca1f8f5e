/** `everstep settings get|set` */
import type { InstanceSettings, InstanceSettingsUpdate, RetentionRule } from '@everstep/sdk';
import { Command } from 'commander';
import { length, wholeNumber } from '../arguments.js';
import { UsageError } from '../exit-codes.js';
import { duration, json, type Screen, type Shell, table } from '../output.js';
import { type ClientOptions, open, withConnection } from './connection-options.js';

type RetentionUpdate = Partial<RetentionRule>;

const LIMITS_WORDS = '"age=<duration>|forever, count=<number>|all"';

/** `age=7d, count=1000`, either or both. Throws UsageError. */
const retention =
  (name: string) =>
  (text: string): RetentionUpdate => {
    let update: RetentionUpdate = {};
    for (const part of text.split(',')) {
      const [key = '', value = ''] = part.split('=').map((side) => side.trim());
      if (key === 'age') update = { ...update, maxAgeMs: value === 'forever' ? null : length(`${name} age`)(value) };
      else if (key === 'count') update = { ...update, maxCount: value === 'all' ? null : wholeNumber(`${name} count`)(value) };
      else throw new UsageError(`${name} must be ${LIMITS_WORDS}; it is "${text}"`);
    }
    return update;
  };

function onOrOff(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new UsageError(`--breaker must be on or off; it is "${text}"`);
}

function show(screen: Screen, { breaker, retention: kept }: InstanceSettings): void {
  const { enabled, failures, probeEveryMs } = breaker;
  const held = `after ${failures} failures in a row, with a probe every ${duration(probeEveryMs)}`;
  screen.write(`breaker: ${enabled ? `on: a destination is held back ${held}` : `off (on, it would hold back ${held})`}\n\n`);
  const rule = (name: string, { maxAgeMs, maxCount }: RetentionRule) => [
    name,
    maxAgeMs === null ? 'forever' : duration(maxAgeMs),
    maxCount === null ? 'all' : maxCount,
  ];
  const rows = [
    rule('succeeded', kept.succeeded),
    rule('failed', kept.failed),
    rule('canceled', kept.canceled),
    rule('dead letters', kept.deadLetter),
  ];
  screen.write(table(screen, ['RUNS', 'KEPT FOR', 'AT MOST'], rows));
}

function getCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('get')).description('Show the settings of the queue instance.');
  return command.action(async () => {
    const { client, options } = await open(command, shell);
    const settings = await client.settings.get();
    if (options.json) screen.write(json(settings));
    else show(screen, settings);
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

/** What was given; what was not stays as it is. */
function updateOf(options: SetOptions): InstanceSettingsUpdate {
  const { breaker, breakerFailures, breakerProbeEvery } = options;
  const given = <Name extends string, Value>(name: Name, value: Value | undefined) =>
    (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: Value };
  const breakerUpdate = {
    ...given('enabled', breaker),
    ...given('failures', breakerFailures),
    ...given('probeEveryMs', breakerProbeEvery),
  };
  const retentionUpdate = {
    ...given('succeeded', options.keepSucceeded),
    ...given('failed', options.keepFailed),
    ...given('canceled', options.keepCanceled),
    ...given('deadLetter', options.keepDeadLetters),
  };
  const isEmpty = (update: object) => Object.keys(update).length === 0;
  if (isEmpty(breakerUpdate) && isEmpty(retentionUpdate)) throw new UsageError('Give at least one setting; --help lists them.');
  return {
    ...(isEmpty(breakerUpdate) ? {} : { breaker: breakerUpdate }),
    ...(isEmpty(retentionUpdate) ? {} : { retention: retentionUpdate }),
  };
}

function setCommand(shell: Shell): Command {
  const { screen } = shell;
  const keep = (what: string) => `how long, and how many of, ${what} are kept: ${LIMITS_WORDS}`;
  const command = withConnection(new Command('set'))
    .description('Change settings of the queue instance; what is not given stays as it is.')
    .option('--breaker <on|off>', 'hold back destinations that keep failing', onOrOff)
    .option('--breaker-failures <number>', 'so many failures in a row do', wholeNumber('--breaker-failures', 1))
    .option('--breaker-probe-every <duration>', 'how often one delivery is let through', length('--breaker-probe-every'))
    .option('--keep-succeeded <limits>', keep('runs that succeeded'), retention('--keep-succeeded'))
    .option('--keep-failed <limits>', keep('failed runs that were dealt with'), retention('--keep-failed'))
    .option('--keep-canceled <limits>', keep('canceled runs'), retention('--keep-canceled'))
    .option('--keep-dead-letters <limits>', keep('entries of the dead letter queue'), retention('--keep-dead-letters'));
  return command.action(async () => {
    const update = updateOf(command.opts<SetOptions>());
    const { client, options } = await open<SetOptions>(command, shell);
    const settings = await client.settings.update(update);
    if (options.json) screen.write(json(settings));
    else show(screen, settings);
  });
}

export function settingsCommand(shell: Shell): Command {
  return new Command('settings')
    .description('Settings of the queue instance: get, set.')
    .addCommand(getCommand(shell))
    .addCommand(setCommand(shell));
}
