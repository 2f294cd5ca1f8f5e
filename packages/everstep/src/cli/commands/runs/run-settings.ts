/** Options for the settings of a run, shared by triggers and schedules. */
import type { TriggerOptions } from '@everstep/sdk';
import type { Command } from 'commander';
import { collected, headerPair, isJson, readBody, wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { flowControlLimits } from '../control/flow-control-limits.js';

export interface RunSettingOptions {
  readonly body?: string;
  readonly contentType?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly retries?: number;
  readonly retryDelay?: string;
  readonly delay?: string;
  readonly timeout?: string;
  readonly label?: readonly string[];
  readonly flowControlKey?: string;
  readonly flowControl?: string;
  readonly failureCallback?: string;
  readonly failureCallbackHeader?: Readonly<Record<string, string>>;
  readonly redact?: readonly string[];
}

export function withRunSettings(command: Command): Command {
  return command
    .option('-d, --body <text>', 'payload of the workflow: text, @file, or - for standard input')
    .option(
      '--content-type <type>',
      'content type of the body (default: application/json if it is valid JSON, otherwise text/plain)',
    )
    .option('-H, --header <pair>', 'header to forward to the workflow, "Name: value"; may be repeated', headerPair)
    .option('--retries <number>', 'maximum number of retries of each step', wholeNumber('--retries'))
    .option('--retry-delay <expression>', 'delay before a retry in ms, as an expression of `retried`: "1000 * (1 + retried)"')
    .option('--delay <duration>', 'delay before the start, such as 30s, 10m or 1d')
    .option('--timeout <duration>', 'timeout of each request to the workflow')
    .option('--label <label>', 'label; may be repeated', collected)
    .option('--flow-control-key <key>', 'flow control key')
    .option('--flow-control <limits>', '"parallelism=<n>, rate=<n>, period=<duration>"')
    .option('--failure-callback <url>', 'URL to call when the run fails')
    .option(
      '--failure-callback-header <pair>',
      'header to send to the failure callback, "Name: value"; may be repeated',
      headerPair,
    )
    .option(
      '--redact <what>',
      'value to hide in logs and listings: body, header, header[name] or a JSON field; may be repeated',
      collected,
    );
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
export async function runSettings(options: RunSettingOptions): Promise<RunSettings> {
  const { flowControlKey: key } = options;
  if (options.flowControl !== undefined && key === undefined) throw new UsageError('--flow-control requires --flow-control-key');
  const body = options.body === undefined ? undefined : await readBody(options.body);
  return {
    ...(body === undefined
      ? {}
      : { body, contentType: options.contentType ?? (isJson(body) ? 'application/json' : 'text/plain') }),
    headers: options.header,
    retries: options.retries,
    retryDelay: options.retryDelay,
    delay: options.delay,
    timeout: options.timeout,
    labels: options.label,
    flowControl: key === undefined ? undefined : { key, ...flowControlLimits('--flow-control', options.flowControl) },
    failureCallback: failureCallbackOf(options),
    redact: options.redact,
  };
}
