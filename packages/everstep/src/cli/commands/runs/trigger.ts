/** `everstep trigger <url>` */
import type { MissingWorker, TriggerOptions } from '@everstep/sdk';
import { Command } from 'commander';
import { timestampMs } from '../../arguments.js';
import { EXIT, UsageError } from '../../exit-codes.js';
import { instant, json, printable, type Shell } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';
import { type RunSettingOptions, runSettings, withRunSettings } from './run-settings.js';

interface TriggerCommandOptions extends ClientOptions, RunSettingOptions {
  readonly runId?: string;
  readonly notBefore?: number;
  readonly deduplicationId?: string;
  readonly contentBasedDeduplication?: boolean;
  readonly wait?: string | true;
}

const DEFAULT_WAIT = '30s';

export function triggerCommand(shell: Shell, finish: (code: number) => void): Command {
  const { screen } = shell;
  const command = withRunSettings(withConnection(new Command('trigger')))
    .summary('Start a run')
    .description('Start a run of the workflow at a URL.')
    .argument('<url>', 'URL of the workflow')
    .option('--run-id <id>', 'id of the run; must be unique among active runs')
    .option('--not-before <instant>', 'start time: Unix ms or a date; overrides --delay', timestampMs('--not-before'))
    .option('--deduplication-id <id>', 'ignore further triggers with the same id')
    .option('--content-based-deduplication', 'derive the deduplication id from the URL and body')
    .option(
      '--wait [duration]',
      `wait for the run to end (default: ${DEFAULT_WAIT}); exit code 1 if it failed or was canceled, 5 if it is still running`,
    );
  return command.action(async (workflowUrl: string) => {
    if (!URL.canParse(workflowUrl)) throw new UsageError(`<url> must be an absolute URL; got "${workflowUrl}"`);
    const { client, options } = await openClient<TriggerCommandOptions>(command, shell);
    const { wait } = options;
    const settings: TriggerOptions = {
      ...(await runSettings(command)),
      runId: options.runId,
      notBefore: options.notBefore,
      deduplicationId: options.deduplicationId,
      contentBasedDeduplication: options.contentBasedDeduplication,
    };
    const run: TriggerOutput =
      wait === undefined
        ? await client.trigger(workflowUrl, settings)
        : await client.trigger(workflowUrl, { ...settings, waitForResult: wait === true ? DEFAULT_WAIT : wait });
    if (options.json) screen.write(json(run));
    else screen.write(runText(run));
    // Scripts read the id from standard output.
    if (run.noWorker && !options.json) shell.printError(noWorkerNotice(run.noWorker));
    const { workflowState } = run;
    if (workflowState === 'RUN_FAILED' || workflowState === 'RUN_CANCELED') finish(EXIT.refused);
    if (workflowState === 'RUN_STARTED') finish(EXIT.pending);
  });
}

const noWorkerNotice = ({ app, since }: MissingWorker): string =>
  `No worker for app ${app} has been connected since ${instant(since)} UTC. The run waits until one connects.\n`;

interface TriggerOutput {
  readonly workflowRunId: string;
  readonly deduplicated?: boolean;
  readonly workflowState?: string;
  readonly result?: unknown;
  readonly error?: string;
  readonly noWorker?: MissingWorker;
}

function runText(run: TriggerOutput): string {
  const { workflowRunId, workflowState } = run;
  if (run.deduplicated) return `${workflowRunId} (already exists, no run started)\n`;
  if (workflowState === undefined) return `${workflowRunId}\n`;
  if (workflowState === 'RUN_SUCCESS') return `${workflowRunId} ${workflowState}\n${json(run.result ?? null)}`;
  return `${workflowRunId} ${workflowState}${run.error ? `: ${printable(run.error)}` : ''}\n`;
}
