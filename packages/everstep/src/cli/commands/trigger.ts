/** `everstep trigger <url>` */
import type { TriggerOptions } from '@everstep/sdk';
import { Command } from 'commander';
import { collected, headerPair, isJson, moment, readBody, wholeNumber } from '../arguments.js';
import { EXIT, UsageError } from '../exit-codes.js';
import { json, type Shell } from '../output.js';
import { type ClientOptions, open, withConnection } from './connection-options.js';
import { flowControlLimits } from './flow-control-limits.js';

interface CommandOptions extends ClientOptions {
  readonly body?: string;
  readonly contentType?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly runId?: string;
  readonly retries?: number;
  readonly retryDelay?: string;
  readonly delay?: string;
  readonly notBefore?: number;
  readonly timeout?: string;
  readonly label?: readonly string[];
  readonly flowControlKey?: string;
  readonly flowControl?: string;
  readonly failureCallback?: string;
  readonly deduplicationId?: string;
  readonly contentBasedDeduplication?: boolean;
  readonly wait?: string | true;
}

const DEFAULT_WAIT = '30s';

export function triggerCommand(shell: Shell, finish: (code: number) => void): Command {
  const { screen } = shell;
  const command = withConnection(new Command('trigger'))
    .summary('Start a run')
    .description('Start a run of the workflow at a URL.')
    .argument('<url>', 'URL of the workflow')
    .option('-d, --body <text>', 'what the workflow is given: text, @file, or - for standard input')
    .option('--content-type <type>', 'of the body (default: application/json when it is JSON, else text/plain)')
    .option('-H, --header <pair>', 'header to send on to the workflow, "Name: value"; may be repeated', headerPair)
    .option('--run-id <id>', 'id of the run; at most one active run has it')
    .option('--retries <number>', 'retries of each step', wholeNumber('--retries'))
    .option('--retry-delay <expression>', 'ms before a retry, over `retried`: "1000 * (1 + retried)"')
    .option('--delay <duration>', 'start later: 30s, 10m, 1d')
    .option('--not-before <instant>', 'start at a time: Unix ms or a date', moment('--not-before'))
    .option('--timeout <duration>', 'longest time of one call to the workflow')
    .option('--label <label>', 'label; may be repeated', collected)
    .option('--flow-control-key <key>', 'flow control key')
    .option('--flow-control <limits>', '"parallelism=<n>, rate=<n>, period=<duration>"')
    .option('--failure-callback <url>', 'called when the run fails')
    .option('--deduplication-id <id>', 'a second trigger with the same id starts nothing')
    .option('--content-based-deduplication', 'the body and the URL are the deduplication id')
    .option(
      '--wait [duration]',
      `wait for the end, by default ${DEFAULT_WAIT}; exit code 1 when the run failed or was canceled, 5 when it goes on`,
    );
  return command.action(async (workflowUrl: string) => {
    if (!URL.canParse(workflowUrl)) throw new UsageError(`<url> must be an absolute URL; it is "${workflowUrl}"`);
    const { client, options } = await open<CommandOptions>(command, shell);
    const body = options.body === undefined ? undefined : await readBody(options.body);
    const { flowControlKey: key, wait } = options;
    if (options.flowControl !== undefined && key === undefined) throw new UsageError('--flow-control needs --flow-control-key');
    const settings: TriggerOptions = {
      ...(body === undefined
        ? {}
        : { body, contentType: options.contentType ?? (isJson(body) ? 'application/json' : 'text/plain') }),
      headers: options.header,
      runId: options.runId,
      retries: options.retries,
      retryDelay: options.retryDelay,
      delay: options.delay,
      notBefore: options.notBefore,
      timeout: options.timeout,
      labels: options.label,
      flowControl: key === undefined ? undefined : { key, ...flowControlLimits('--flow-control', options.flowControl) },
      failureCallback: options.failureCallback,
      deduplicationId: options.deduplicationId,
      contentBasedDeduplication: options.contentBasedDeduplication,
    };
    const started: Triggered =
      wait === undefined
        ? await client.trigger(workflowUrl, settings)
        : await client.trigger(workflowUrl, { ...settings, waitForResult: wait === true ? DEFAULT_WAIT : wait });
    if (options.json) screen.write(json(started));
    else screen.write(describe(started));
    const { workflowState } = started;
    if (workflowState === 'RUN_FAILED' || workflowState === 'RUN_CANCELED') finish(EXIT.refused);
    if (workflowState === 'RUN_STARTED') finish(EXIT.underWay);
  });
}

interface Triggered {
  readonly workflowRunId: string;
  readonly deduplicated?: boolean;
  readonly workflowState?: string;
  readonly result?: unknown;
  readonly error?: string;
}

function describe(run: Triggered): string {
  const { workflowRunId, workflowState } = run;
  if (run.deduplicated) return `${workflowRunId} (there already; nothing was started)\n`;
  if (workflowState === undefined) return `${workflowRunId}\n`;
  if (workflowState === 'RUN_SUCCESS') return `${workflowRunId} ${workflowState}\n${json(run.result ?? null)}`;
  return `${workflowRunId} ${workflowState}${run.error ? `: ${run.error}` : ''}\n`;
}
