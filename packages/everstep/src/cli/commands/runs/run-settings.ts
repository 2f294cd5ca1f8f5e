/** Options for the settings of a run, shared by triggers and schedules. */
import type { RunOverrides, TriggerOptions } from '@everstep/sdk';
import { type Command, Option } from 'commander';
import { OVERRIDE_HEADERS, SETTING_HEADERS, type SettingHeader, type SettingTable } from '../../../contract/run-settings.js';
import { collectHeader, collectValue, isJson, readBody, wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { flowControlLimits } from '../control/flow-control-limits.js';

export interface RunSettingOptions {
  readonly body?: string;
  readonly contentType?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly flowControlKey?: string;
  readonly flowControl?: string;
  readonly failureCallback?: string;
  readonly failureCallbackHeader?: Readonly<Record<string, string>>;
}

type Setting = Pick<SettingHeader, 'kind'> & { readonly option: NonNullable<SettingHeader['option']> };

/** Returns the settings that have a command-line option. */
const settingsIn = (table: SettingTable): readonly Setting[] =>
  Object.values(table).flatMap(({ kind, option }) => (option ? [{ kind, option }] : []));
const SETTINGS = settingsIn(SETTING_HEADERS);
const OVERRIDES = settingsIn(OVERRIDE_HEADERS);

function addSetting(command: Command, { kind, option: { flag, help } }: Setting): void {
  const option = new Option(flag, help);
  if (kind === 'count') option.argParser(wholeNumber(option.long ?? flag));
  if (kind === 'labels' || kind === 'redaction') option.argParser(collectValue);
  command.addOption(option);
}

/** Returns the values on the command line, by the name of the SDK option. */
function valuesOf(settings: readonly Setting[], command: Command): Readonly<Record<string, unknown>> {
  const values: Readonly<Record<string, unknown>> = command.opts();
  return Object.fromEntries(settings.map(({ option }) => [option.sets, values[new Option(option.flag).attributeName()]]));
}

/** Settings of a new run that replace those of a dead letter, except its flow control and failure callback. */
export type Overrides = Pick<RunOverrides, 'retries' | 'retryDelay' | 'delay' | 'labels'>;
type OverrideName = keyof Overrides;

/** Returns these settings, with options of the form `--set-<name>`. */
const overrideSettings = (names: readonly OverrideName[]): readonly Setting[] =>
  OVERRIDES.filter(({ option }) => names.some((name) => name === option.sets)).map(({ kind, option }) => ({
    kind,
    option: { ...option, flag: option.flag.replace('--', '--set-') },
  }));

/** Adds `--set-` options for these settings. Their help starts with `prefix`. */
export function withOverrides(command: Command, names: readonly OverrideName[], prefix = ''): Command {
  for (const { kind, option } of overrideSettings(names))
    addSetting(command, { kind, option: { ...option, help: prefix + option.help } });
  return command;
}

/** Returns the values of the `--set-` options for these settings. */
// Each option was parsed as the kind of its setting requires.
export const overridesIn = (command: Command, names: readonly OverrideName[]): Overrides =>
  valuesOf(overrideSettings(names), command) as Overrides;

/** Adds the options for the settings of a run. */
export function withRunSettings(command: Command): Command {
  command
    .option('-d, --body <text>', 'payload of the workflow: text, @file, or - for standard input')
    .option(
      '--content-type <type>',
      'content type of the body (default: application/json if it is valid JSON, otherwise text/plain)',
    )
    .option('-H, --header <pair>', 'header to forward to the workflow, "Name: value"; may be repeated', collectHeader)
    .option('--flow-control-key <key>', 'flow control key')
    .option('--flow-control <limits>', 'limits of the key: "parallelism=<n>, rate=<n>, period=<duration>"')
    .option('--failure-callback <url>', 'URL to call when the run fails')
    .option(
      '--failure-callback-header <pair>',
      'header to send to the failure callback, "Name: value"; may be repeated',
      collectHeader,
    );
  for (const setting of SETTINGS) addSetting(command, setting);
  return command;
}

type RunSettings = Pick<
  TriggerOptions,
  | 'body'
  | 'contentType'
  | 'headers'
  | 'retries'
  | 'retryDelay'
  | 'delay'
  | 'timeout'
  | 'labels'
  | 'flowControl'
  | 'failureCallback'
  | 'redact'
>;

function failureCallbackOf({ failureCallback: url, failureCallbackHeader: headers }: RunSettingOptions) {
  if (url === undefined && headers !== undefined) throw new UsageError('--failure-callback-header requires --failure-callback');
  return url === undefined || headers === undefined ? url : { url, headers };
}

/** Returns the settings on the command line. Rejects with UsageError if they are invalid. */
export async function runSettings(command: Command): Promise<RunSettings> {
  const options = command.opts<RunSettingOptions>();
  const { flowControlKey: key } = options;
  if (options.flowControl !== undefined && key === undefined) throw new UsageError('--flow-control requires --flow-control-key');
  const body = options.body === undefined ? undefined : await readBody(options.body);
  return {
    ...(body === undefined
      ? {}
      : { body, contentType: options.contentType ?? (isJson(body) ? 'application/json' : 'text/plain') }),
    headers: options.header,
    ...valuesOf(SETTINGS, command),
    flowControl: key === undefined ? undefined : { key, ...flowControlLimits('--flow-control', options.flowControl) },
    failureCallback: failureCallbackOf(options),
  };
}
