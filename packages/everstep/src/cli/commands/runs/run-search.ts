/** `everstep runs search` and `everstep runs attempts` */
import type { FoundRun, RunAttempt } from '@everstep/sdk';
import { Command } from 'commander';
import { RUN_FILTERS } from '../../../contract/filters/run-filters.js';
import { timestampMs, wholeNumber } from '../../arguments.js';
import { duration, instant, json, printable, type Screen, type Shell, shorten, styled, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';
import { filtersOf, withFilters } from '../filter-options.js';
import { stateText } from './state-text.js';

const DEFAULT_COUNT = 20;
const PAGE_SIZE = 100;
const MAX_ERROR_LENGTH = 80;
const MAX_BODY_LENGTH = 2_000;

interface SearchOptions extends ClientOptions {
  readonly count: number;
}

export function searchRunsCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withFilters(withConnection(new Command('search')), RUN_FILTERS, 'runs')
    .description('Search runs that contain all words in their id, labels, workflow URL or error, newest first.')
    .argument('[words...]', 'words to search for, ignoring case')
    .option('--count <number>', 'maximum number of runs', wholeNumber('--count', 1), DEFAULT_COUNT);
  return command.action(async (words: readonly string[]) => {
    const { client, options } = await openClient<SearchOptions>(command, shell);
    const { count } = options;
    const filter = { ...filtersOf(RUN_FILTERS, command), q: words.join(' ') };
    const runs: FoundRun[] = [];
    let [cursor, complete]: readonly [string | undefined, boolean] = [undefined, false];
    do {
      const pageSize = Math.min(PAGE_SIZE, count - runs.length);
      const page = await client.runs.search({ ...filter, count: pageSize, ...(cursor === undefined ? {} : { cursor }) });
      runs.push(...page.runs);
      ({ cursor, complete } = page);
    } while (cursor !== undefined && runs.length < count);
    if (options.json) return screen.write(json({ runs, complete }));
    if (runs.length === 0) return screen.write('No matching runs.\n');
    const rows = runs.map((run) => [
      run.workflowRunId,
      stateText(run),
      instant(run.workflowRunCreatedAt),
      run.workflowUrl,
      run.labels.join(',') || '-',
      shorten(run.workflowRunError ?? '-', MAX_ERROR_LENGTH),
    ]);
    screen.write(table(screen, ['RUN', 'STATE', 'CREATED (UTC)', 'WORKFLOW', 'LABELS', 'ERROR'], rows));
    if (!complete) screen.write('There may be more. Show more with --count.\n');
  });
}

function showAttempt(screen: Screen, attempt: RunAttempt): void {
  const { kind, stepId, stepName, retried, outcome, at, durationMs, message, request, response, retryAt } = attempt;
  const subject = stepName === null ? kind : `${kind} ${stepId ?? ''} "${printable(stepName)}"`;
  const durationText = durationMs === null ? '' : ` after ${duration(durationMs)}`;
  const color = outcome === 'failed' ? 'red' : 'green';
  screen.write(`${instant(at)}  ${subject}, attempt ${retried + 1}: ${styled(screen, color, outcome)}${durationText}\n`);
  const printLine = (name: string, value: string) =>
    screen.write(`  ${styled(screen, 'dim', name.padEnd(10))}${printable(value)}\n`);
  const printHeaders = (exchange: RunAttempt['request'] | RunAttempt['response']) => {
    for (const [name, values] of Object.entries(exchange?.headers ?? {})) printLine('', `${name}: ${values.join(', ')}`);
  };
  if (message !== null) printLine('error', message);
  const size = request && request.bodyBytes !== null ? ` (${request.bodyBytes} bytes)` : '';
  if (request) printLine('request', `${request.method} ${request.url}${size}`);
  printHeaders(request);
  if (request?.body) printLine(request.rebuilt ? 'rebuilt' : '', shorten(request.body, MAX_BODY_LENGTH));
  if (response) printLine('response', `${response.status ?? 'the result'} (${response.bodyBytes} bytes)`);
  printHeaders(response);
  if (response && response.body !== '') printLine('', shorten(response.body, MAX_BODY_LENGTH));
  if (retryAt !== null) printLine('retry at', instant(retryAt));
}

interface AttemptOptions extends ClientOptions {
  readonly createdAt?: number;
  readonly step?: number;
}

export function attemptsCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('attempts'))
    .description('Show every attempt of a run with its request and its response, oldest first.')
    .argument('<runId>', 'id of the run or plain message')
    .option('--created-at <instant>', 'creation time, if several runs share the id (Unix ms)', timestampMs('--created-at'))
    .option('--step <number>', 'only attempts of the step at this position', wholeNumber('--step', 1));
  return command.action(async (runId: string) => {
    const { client, options } = await openClient<AttemptOptions>(command, shell);
    const { createdAt, step: stepId } = options;
    const attempts: RunAttempt[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.runs.attempts(runId, { createdAt, stepId, ...(cursor === undefined ? {} : { cursor }) });
      attempts.push(...page.attempts);
      ({ cursor } = page);
    } while (cursor !== undefined);
    if (options.json) return screen.write(json({ attempts }));
    if (attempts.length === 0) return screen.write('No attempts yet.\n');
    for (const attempt of attempts) showAttempt(screen, attempt);
  });
}
