/** Options for the settings of a run, shared by triggers and schedules. */
import type { TriggerOptions } from '@everstep/sdk';
import { type Command, Option } from 'commander';
import { SETTING_HEADERS, type SettingHeader } from '../../../contract/run-settings.js';
import { collected, headerPair, isJson, readBody, wholeNumber } from '../../arguments.js';
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

/** Settings with an option of their own. */
const SETTINGS = Object.values<SettingHeader>(SETTING_HEADERS).flatMap(({ kind, option }) => (option ? [{ kind, option }] : []));

export function withRunSettings(command: Command): Command {
  command
    .option('-d, --body <text>', 'payload of the workflow: text, @file, or - for standard input')
    .option(
      '--content-type <type>',
      'content type of the body (default: application/json if it is valid JSON, otherwise text/plain)',
    )
    .option('-H, --header <pair>', 'header to forward to the workflow, "Name: value"; may be repeated', headerPair)
    .option('--flow-control-key <key>', 'flow control key')
    .option('--flow-control <limits>', '"parallelism=<n>, rate=<n>, period=<duration>"')
    .option('--failure-callback <url>', 'URL to call when the run fails')
    .option(
      '--failure-callback-header <pair>',
      'header to send to the failure callback, "Name: value"; may be repeated',
      headerPair,
    );
  for (const { option, kind } of SETTINGS) {
    const added = new Option(option.flag, option.help);
    if (kind === 'count') added.argParser(wholeNumber(added.long ?? option.flag));
    if (kind === 'labels' || kind === 'redaction') added.argParser(collected);
    command.addOption(added);
  }
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

/** Returns the given settings. Rejects with UsageError. */
export async function runSettings(command: Command): Promise<RunSettings> {
  const options = command.opts<RunSettingOptions>();
  const given: Readonly<Record<string, unknown>> = command.opts();
  const { flowControlKey: key } = options;
  if (options.flowControl !== undefined && key === undefined) throw new UsageError('--flow-control requires --flow-control-key');
  const body = options.body === undefined ? undefined : await readBody(options.body);
  return {
    ...(body === undefined
      ? {}
      : { body, contentType: options.contentType ?? (isJson(body) ? 'application/json' : 'text/plain') }),
    headers: options.header,
    ...Object.fromEntries(SETTINGS.map(({ option }) => [option.sets, given[new Option(option.flag).attributeName()]])),
    flowControl: key === undefined ? undefined : { key, ...flowControlLimits('--flow-control', options.flowControl) },
    failureCallback: failureCallbackOf(options),
  };
}
