/** `everstep runs fork|compare|lineage|check` and `everstep dlq check`: commands that help to repair one run. */
import type { ComparedStep, ForkOptions, RunCheck, RunDifference, RunRelative } from '@everstep/sdk';
import { Command } from 'commander';
import { DEAD_LETTER_FILTERS } from '../../../contract/filters/dead-letter-filters.js';
import { isJson, readBody, readTextBody, timestampMs, wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { instant, json, printable, type Screen, type Shell, type Style, shorten, styled, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';
import { filtersOf } from '../filter-options.js';

const MAX_SHOWN_LENGTH = 60;
const CHECKS_PER_REQUEST = 100;
const CREATED_AT = ['--created-at <instant>', 'creation time, if several runs share the id (Unix ms)'] as const;

type CreatedAtOptions = ClientOptions & { readonly createdAt?: number };
type ForkResult = NonNullable<ForkOptions['results']>[number];
interface ForkResultText {
  readonly stepId: number;
  /** Result as JSON text; undefined for a step without a result. */
  readonly text: string | undefined;
}

/** Collects the values of --result: `3={"ok":true}`, `3=@file`, or `3` for a step without a result. */
function collectResult(text: string, previous: readonly ForkResultText[] | undefined): readonly ForkResultText[] {
  const [, stepId, value] = /^(\d+)(?:=(.*))?$/s.exec(text) ?? [];
  if (stepId === undefined)
    throw new UsageError(`--result must have the form 3=<JSON>, 3=@<file>, or 3 for a step without a result; got "${text}"`);
  return [...(previous ?? []), { stepId: Number(stepId), text: value }];
}

async function resultOf({ stepId, text }: ForkResultText): Promise<ForkResult> {
  if (text === undefined) return { stepId };
  const body = await readBody(text);
  if (!isJson(body)) throw new UsageError(`the result of step ${stepId} must be JSON; put text in double quotes`);
  return { stepId, result: JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString()) };
}

interface ForkCommandOptions extends CreatedAtOptions {
  readonly fromStep?: number;
  readonly input?: string;
  readonly contentType?: string;
  readonly result?: readonly ForkResultText[];
  readonly id?: string;
  readonly note?: string;
}

export function forkCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('fork'))
    .description('Start a new run that continues from a step of this run. The original run does not change.')
    .argument('<runId>', 'id of the run')
    .requiredOption(
      '--from-step <number>',
      'position of the step to continue from; earlier results are kept',
      wholeNumber('--from-step', 1),
    )
    .option('--input <text>', 'new input: text, @file, or - for standard input')
    .option('--content-type <type>', 'content type of the input (default: that of the run)')
    .option('--result <step=JSON>', 'new result of a kept step or of the step itself; may be repeated', collectResult)
    .option('--id <runId>', 'id of the new run')
    .option('--note <text>', 'reason, shown with the run and in the audit log')
    .option(...CREATED_AT, timestampMs('--created-at'));
  return command.action(async (runId: string) => {
    const { client, options } = await openClient<ForkCommandOptions>(command, shell);
    const { fromStep = 1, input, contentType, result = [], id, note, createdAt } = options;
    if (input === undefined && contentType !== undefined) throw new UsageError('--content-type requires --input.');
    const results: ForkResult[] = [];
    for (const resultOption of result) results.push(await resultOf(resultOption));
    const body = input === undefined ? undefined : await readTextBody('the input of a fork', input);
    const run = await client.runs.fork(runId, {
      fromStep,
      ...(createdAt === undefined ? {} : { createdAt }),
      ...(body === undefined ? {} : { input: { body, ...(contentType === undefined ? {} : { contentType }) } }),
      ...(results.length === 0 ? {} : { results }),
      ...(id === undefined ? {} : { newWorkflowRunId: id }),
      ...(note === undefined ? {} : { note }),
    });
    screen.write(options.json ? json(run) : `${run.workflowRunId}\n`);
  });
}

const resultText = (step: ComparedStep | null, isSame: boolean): string => {
  if (step === null) return '(no such step)';
  const out = step.out === undefined ? (isSame ? '' : '(none)') : shorten(printable(step.out), MAX_SHOWN_LENGTH);
  return step.edited ? `${out} (edited)`.trim() : out;
};

const DIFFERENCE_TITLES = {
  input: 'different input',
  result: 'different result',
  step: 'step missing from one run',
  length: 'additional step',
  outcome: 'different outcome',
} as const satisfies Record<RunDifference['kind'], string>;

export function compareCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('compare'))
    .description('Compare a run with another run and show the first difference.')
    .argument('<runId>', 'id of the run')
    .argument('[with]', 'id of the other run (default: the last successful run of the same workflow)')
    .option(...CREATED_AT, timestampMs('--created-at'))
    .option(
      '--with-created-at <instant>',
      'creation time of the other run, if several runs share the id (Unix ms)',
      timestampMs('--with-created-at'),
    );
  return command.action(async (runId: string, otherRunId: string | undefined) => {
    const { client, options } = await openClient<CreatedAtOptions & { readonly withCreatedAt?: number }>(command, shell);
    const { createdAt, withCreatedAt } = options;
    const comparison = await client.runs.compare(runId, { createdAt, with: otherRunId, withCreatedAt });
    if (options.json) return screen.write(json(comparison));
    const { left, right, differences, steps } = comparison;
    screen.write(`${left.workflowRunId} (${left.workflowState}) and ${right.workflowRunId} (${right.workflowState})\n`);
    if (differences.length === 0) return screen.write(`${styled(screen, 'green', 'no differences')}\n`);
    for (const [index, difference] of differences.entries()) {
      const title = index === 0 ? 'first difference' : `first ${DIFFERENCE_TITLES[difference.kind]}`;
      screen.write(`${styled(screen, 'yellow', title)}: ${printable(difference.message)}\n`);
      if (difference.left !== null) screen.write(`  left   ${shorten(printable(difference.left), MAX_SHOWN_LENGTH * 2)}\n`);
      if (difference.right !== null) screen.write(`  right  ${shorten(printable(difference.right), MAX_SHOWN_LENGTH * 2)}\n`);
    }
    const rows = steps.map((step) => [
      step.same ? 'same' : 'differs',
      step.stepType,
      step.stepName,
      resultText(step.left, step.same),
      resultText(step.right, step.same),
    ]);
    if (rows.length > 0) screen.write(table(screen, ['', 'TYPE', 'STEP', 'LEFT', 'RIGHT'], rows));
  });
}

function relativeRow(relation: string, relative: RunRelative): readonly (string | undefined)[] {
  const { kind, workflowRunId, workflowCreatedAt, workflowState, stepId, stepName, scheduleId, note, of } = relative;
  const stepText = stepName === undefined ? (stepId === undefined ? '' : `from step ${stepId}`) : `by step "${stepName}"`;
  const details = [stepText, note ?? '', of ? `of ${of.workflowRunId}` : ''].filter((part) => part !== '').join(', ');
  const createdText = workflowCreatedAt === undefined ? undefined : instant(workflowCreatedAt);
  return [
    relation,
    kind,
    workflowRunId ?? scheduleId,
    scheduleId === undefined ? (workflowState ?? 'removed') : undefined,
    createdText,
    details,
  ];
}

export function lineageCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('lineage'))
    .description('List the related runs: those it was created from, and those created from it.')
    .argument('<runId>', 'id of the run')
    .option(...CREATED_AT, timestampMs('--created-at'));
  return command.action(async (runId: string) => {
    const { client, options } = await openClient<CreatedAtOptions>(command, shell);
    const lineage = await client.runs.lineage(runId, { createdAt: options.createdAt });
    if (options.json) return screen.write(json(lineage));
    const rows = [
      ...lineage.ancestors.toReversed().map((relative) => relativeRow('created from', relative)),
      ...lineage.descendants.map((relative) => relativeRow('created', relative)),
    ];
    if (rows.length === 0) return screen.write('No related runs.\n');
    screen.write(table(screen, ['', 'BY', 'RUN', 'STATE', 'CREATED (UTC)', ''], rows));
    if (!lineage.complete) screen.write('The list is incomplete.\n');
  });
}

const COLORS: Readonly<Record<RunCheck['outcome'], Style>> = { fits: 'green', differs: 'red', 'cannot-tell': 'yellow' };

function showChecks(screen: Screen, checks: readonly RunCheck[]): void {
  for (const { workflowRunId, dlqId, outcome, message } of checks) {
    const entryText = dlqId === null ? '' : `  ${styled(screen, 'dim', dlqId)}`;
    screen.write(
      `${styled(screen, COLORS[outcome], outcome.padEnd(11))}  ${workflowRunId}${entryText}\n  ${printable(message)}\n`,
    );
  }
}

export function checkCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('check'))
    .description('Check whether the current code of the endpoint can replay the run. No step is executed.')
    .argument('<runId>', 'id of the run')
    .option(...CREATED_AT, timestampMs('--created-at'));
  return command.action(async (runId: string) => {
    const { client, options } = await openClient<CreatedAtOptions>(command, shell);
    const check = await client.runs.check(runId, { createdAt: options.createdAt });
    if (options.json) screen.write(json(check));
    else showChecks(screen, [check]);
  });
}

/** Adds the action of `everstep dlq check` to a command that has the filters of dead letters. */
export function dlqCheckCommand(shell: Shell, command: Command): Command {
  const { screen } = shell;
  const dlqCommand = command
    .description('Check whether the current code of the endpoints can replay failed runs. No step is executed.')
    .option('--count <number>', 'maximum number of dead letters, newest first', wholeNumber('--count', 1), CHECKS_PER_REQUEST);
  return dlqCommand.action(async () => {
    const { client, options } = await openClient<ClientOptions & { readonly count: number }>(dlqCommand, shell);
    const filter = filtersOf(DEAD_LETTER_FILTERS, dlqCommand);
    const checks: RunCheck[] = [];
    let cursor = '';
    do {
      const count = Math.min(options.count - checks.length, CHECKS_PER_REQUEST);
      const page = await client.dlq.check({ filter, count, ...(cursor === '' ? {} : { cursor }) });
      checks.push(...page.checks);
      cursor = page.cursor;
    } while (cursor !== '' && checks.length < options.count);
    if (options.json) return screen.write(json({ checks }));
    if (checks.length === 0) return screen.write('No matching dead letters.\n');
    showChecks(screen, checks);
    const countOf = (outcome: RunCheck['outcome']) => checks.filter((check) => check.outcome === outcome).length;
    screen.write(`fits: ${countOf('fits')}, differs: ${countOf('differs')}, could not be checked: ${countOf('cannot-tell')}\n`);
  });
}
