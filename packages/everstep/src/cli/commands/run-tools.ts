/** `everstep runs fork|compare|lineage|check` and `everstep dlq check`: what helps to put one run right. */
import type { ComparedStep, ForkOptions, RepairFilter, RunCheck, RunDifference, RunRelative } from '@everstep/sdk';
import { Command } from 'commander';
import { isJson, moment, readBody, wholeNumber } from '../arguments.js';
import { UsageError } from '../exit-codes.js';
import { instant, json, printable, type Screen, type Shell, type Style, shorten, styled, table } from '../output.js';
import { type ClientOptions, open, withConnection } from './connection-options.js';

const MAX_SHOWN = 60;
const CHECKS_PER_REQUEST = 100;
const CREATED_AT = ['--created-at <instant>', 'which one, when runs share an id (Unix ms)'] as const;

type CreatedAt = ClientOptions & { readonly createdAt?: number };
type Given = NonNullable<ForkOptions['results']>[number];
interface GivenText {
  readonly stepId: number;
  /** Undefined: none. */
  readonly text: string | undefined;
}

/** `3={"ok":true}`, `3=@file`, or `3` alone for no result. */
function given(text: string, before: readonly GivenText[] | undefined): readonly GivenText[] {
  const [, stepId, value] = /^(\d+)(?:=(.*))?$/s.exec(text) ?? [];
  if (stepId === undefined)
    throw new UsageError(`--result must be of the form 3=<JSON>, 3=@<file>, or 3 for a step without a result; it is "${text}"`);
  return [...(before ?? []), { stepId: Number(stepId), text: value }];
}

async function resultOf({ stepId, text }: GivenText): Promise<Given> {
  if (text === undefined) return { stepId };
  const body = await readBody(text);
  if (!isJson(body)) throw new UsageError(`the result of step ${stepId} must be JSON; a text stands in double quotes`);
  return { stepId, result: JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString()) };
}

const textOf = (body: string | Uint8Array): string => {
  if (typeof body === 'string') return body;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new UsageError('the input of a fork must be UTF-8 text');
  }
};

interface ForkCommandOptions extends CreatedAt {
  readonly fromStep?: number;
  readonly input?: string;
  readonly contentType?: string;
  readonly result?: readonly GivenText[];
  readonly id?: string;
  readonly note?: string;
}

export function forkCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('fork'))
    .description('Make a new run that goes on from a step of this one, which stays as it is.')
    .argument('<runId>', 'id of the run')
    .requiredOption(
      '--from-step <number>',
      'position of a step; what was recorded before it is kept',
      wholeNumber('--from-step', 1),
    )
    .option('--input <text>', 'what it is triggered with instead; @file, or - for standard input')
    .option('--content-type <type>', 'type of the input; that of the run when absent')
    .option('--result <step=JSON>', 'the result of a kept step, or of the step itself; may be repeated', given)
    .option('--id <runId>', 'id of the new run')
    .option('--note <text>', 'why, for the run and the audit log')
    .option(...CREATED_AT, moment('--created-at'));
  return command.action(async (runId: string) => {
    const { client, options } = await open<ForkCommandOptions>(command, shell);
    const { fromStep = 1, input, contentType, result = [], id, note, createdAt } = options;
    if (input === undefined && contentType !== undefined) throw new UsageError('--content-type goes with --input.');
    const results: Given[] = [];
    for (const each of result) results.push(await resultOf(each));
    const body = input === undefined ? undefined : textOf(await readBody(input));
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

const resultWords = (step: ComparedStep | null, same: boolean): string => {
  if (step === null) return '(no such step)';
  const out = step.out === undefined ? (same ? '' : '(none)') : shorten(printable(step.out), MAX_SHOWN);
  return step.edited ? `${out} (edited)`.trim() : out;
};

const DIFFERENCE_PLACES = {
  input: 'input that differs',
  result: 'result that differs',
  step: 'step that only one has',
  length: 'step that one lacks',
  outcome: 'end that differs',
} as const satisfies Record<RunDifference['kind'], string>;

export function compareCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('compare'))
    .description('Put a run beside another one, and say where they part first.')
    .argument('<runId>', 'id of the run')
    .argument('[with]', 'id of the other; the last run of its workflow that succeeded when absent')
    .option(...CREATED_AT, moment('--created-at'))
    .option('--with-created-at <instant>', 'which other one, when runs share an id (Unix ms)', moment('--with-created-at'));
  return command.action(async (runId: string, other: string | undefined) => {
    const { client, options } = await open<CreatedAt & { readonly withCreatedAt?: number }>(command, shell);
    const { createdAt, withCreatedAt } = options;
    const compared = await client.runs.compare(runId, { createdAt, with: other, withCreatedAt });
    if (options.json) return screen.write(json(compared));
    const { left, right, differences, steps } = compared;
    screen.write(`${left.workflowRunId} (${left.workflowState}) and ${right.workflowRunId} (${right.workflowState})\n`);
    if (differences.length === 0) return screen.write(`${styled(screen, 'green', 'no difference')}\n`);
    for (const [nth, difference] of differences.entries()) {
      const title = nth === 0 ? 'first difference' : `first ${DIFFERENCE_PLACES[difference.kind]}`;
      screen.write(`${styled(screen, 'yellow', title)}: ${printable(difference.message)}\n`);
      if (difference.left !== null) screen.write(`  left   ${shorten(printable(difference.left), MAX_SHOWN * 2)}\n`);
      if (difference.right !== null) screen.write(`  right  ${shorten(printable(difference.right), MAX_SHOWN * 2)}\n`);
    }
    const rows = steps.map((step) => [
      step.same ? 'same' : 'differs',
      step.stepType,
      step.stepName,
      resultWords(step.left, step.same),
      resultWords(step.right, step.same),
    ]);
    if (rows.length > 0) screen.write(table(screen, ['', 'TYPE', 'STEP', 'LEFT', 'RIGHT'], rows));
  });
}

function relativeRow(which: string, relative: RunRelative): readonly (string | undefined)[] {
  const { kind, workflowRunId, workflowCreatedAt, workflowState, stepId, stepName, scheduleId, note, of } = relative;
  const step = stepName === undefined ? (stepId === undefined ? '' : `from step ${stepId}`) : `by step "${stepName}"`;
  const words = [step, note ?? '', of ? `of ${of.workflowRunId}` : ''].filter((each) => each !== '').join(', ');
  const created = workflowCreatedAt === undefined ? undefined : instant(workflowCreatedAt);
  return [
    which,
    kind,
    workflowRunId ?? scheduleId,
    scheduleId === undefined ? (workflowState ?? 'removed') : undefined,
    created,
    words,
  ];
}

export function lineageCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('lineage'))
    .description('List what a run came of, and what came of it.')
    .argument('<runId>', 'id of the run')
    .option(...CREATED_AT, moment('--created-at'));
  return command.action(async (runId: string) => {
    const { client, options } = await open<CreatedAt>(command, shell);
    const lineage = await client.runs.lineage(runId, { createdAt: options.createdAt });
    if (options.json) return screen.write(json(lineage));
    const rows = [
      ...lineage.ancestors.toReversed().map((relative) => relativeRow('came of', relative)),
      ...lineage.descendants.map((relative) => relativeRow('led to', relative)),
    ];
    if (rows.length === 0) return screen.write('It came of no other run, and no other came of it.\n');
    screen.write(table(screen, ['', 'BY', 'RUN', 'STATE', 'CREATED (UTC)', ''], rows));
    if (!lineage.complete) screen.write('There are more.\n');
  });
}

const COLOURS: Readonly<Record<RunCheck['outcome'], Style>> = { fits: 'green', differs: 'red', 'cannot-tell': 'yellow' };

function showChecks(screen: Screen, checks: readonly RunCheck[]): void {
  for (const { workflowRunId, dlqId, outcome, message } of checks) {
    const entry = dlqId === null ? '' : `  ${styled(screen, 'dim', dlqId)}`;
    screen.write(`${styled(screen, COLOURS[outcome], outcome.padEnd(11))}  ${workflowRunId}${entry}\n  ${printable(message)}\n`);
  }
}

export function checkCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('check'))
    .description('Ask the endpoint whether its present code would replay the run. No step is run.')
    .argument('<runId>', 'id of the run')
    .option(...CREATED_AT, moment('--created-at'));
  return command.action(async (runId: string) => {
    const { client, options } = await open<CreatedAt>(command, shell);
    const check = await client.runs.check(runId, { createdAt: options.createdAt });
    if (options.json) screen.write(json(check));
    else showChecks(screen, [check]);
  });
}

/** `filterOf` reads the filters that the options give. */
export function checkEntries<Options extends ClientOptions>(
  shell: Shell,
  command: Command,
  filterOf: (options: Options) => RepairFilter,
): Command {
  const { screen } = shell;
  const checking = command
    .description('Ask endpoints whether their present code would replay failed runs. No step is run.')
    .option('--count <number>', 'how many at most, newest first', wholeNumber('--count', 1), CHECKS_PER_REQUEST);
  return checking.action(async () => {
    const { client, options } = await open<Options & { readonly count: number }>(checking, shell);
    const filter = filterOf(options);
    const checks: RunCheck[] = [];
    let cursor = '';
    do {
      const count = Math.min(options.count - checks.length, CHECKS_PER_REQUEST);
      const page = await client.dlq.check({ filter, count, ...(cursor === '' ? {} : { cursor }) });
      checks.push(...page.checks);
      cursor = page.cursor;
    } while (cursor !== '' && checks.length < options.count);
    if (options.json) return screen.write(json({ checks }));
    if (checks.length === 0) return screen.write('There are no such entries.\n');
    showChecks(screen, checks);
    const counted = (outcome: RunCheck['outcome']) => checks.filter((check) => check.outcome === outcome).length;
    screen.write(`${counted('fits')} fit, ${counted('differs')} differ, of ${counted('cannot-tell')} one cannot tell\n`);
  });
}
