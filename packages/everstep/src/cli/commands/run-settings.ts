/** Options that set how a run goes: the same for a run that is triggered and for those that a schedule starts. */
import type { TriggerOptions } from '@everstep/sdk';
import type { Command } from 'commander';
import { collected, headerPair, isJson, readBody, wholeNumber } from '../arguments.js';
import { UsageError } from '../exit-codes.js';
import { flowControlLimits } from './flow-control-limits.js';

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
    .option('-d, --body <text>', 'what the workflow is given: text, @file, or - for standard input')
    .option('--content-type <type>', 'of the body (default: application/json when it is JSON, else text/plain)')
    .option('-H, --header <pair>', 'header to send on to the workflow, "Name: value"; may be repeated', headerPair)
    .option('--retries <number>', 'retries of each step', wholeNumber('--retries'))
    .option('--retry-delay <expression>', 'ms before a retry, over `retried`: "1000 * (1 + retried)"')
    .option('--delay <duration>', 'start later: 30s, 10m, 1d')
    .option('--timeout <duration>', 'longest time of one call to the workflow')
    .option('--label <label>', 'label; may be repeated', collected)
    .option('--flow-control-key <key>', 'flow control key')
    .option('--flow-control <limits>', '"parallelism=<n>, rate=<n>, period=<duration>"')
    .option('--failure-callback <url>', 'called when the run fails')
    .option('--failure-callback-header <pair>', 'header to send with it, "Name: value"; may be repeated', headerPair)
    .option('--redact <what>', 'not to be shown: body, header, header[name] or a JSON field; may be repeated', collected);
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
  if (url === undefined && headers !== undefined) throw new UsageError('--failure-callback-header needs --failure-callback');
  return url === undefined || headers === undefined ? url : { url, headers };
}

/** Rejects with UsageError. What was not given is not there. */
export async function runSettings(options: RunSettingOptions): Promise<RunSettings> {
  const { flowControlKey: key } = options;
  if (options.flowControl !== undefined && key === undefined) throw new UsageError('--flow-control needs --flow-control-key');
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
