/**
 * Compares two runs and finds the first differences in input, results, steps and outcome. The input usually differs, so one
 * difference alone would not be useful. A value that one run redacts is redacted in both and counts as equal. Otherwise
 * anyone who can start runs could find out a redacted value by comparing.
 * Steps are matched by type and name. Several steps with the same type and name are matched by their order. Positions are not
 * compared, because parallel steps can be recorded in a different order in each run.
 */
import { truncateText } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { RunComparison } from '../../contract/run-tools.js';
import type { Redaction, RunPayload } from '../../engine/runs/run.js';
import type { FullRunRecord, ListedStep } from '../../ports/stores/store.js';
import { type JsonDifference, jsonDifference } from './json-difference.js';
import { redactBody, redactHeaders, redactJson, redactStepResult } from './redaction.js';
import { jsonValue, presentReference, stateOfRun } from './run.js';

export interface ComparedRun {
  /** Run with its whole result. */
  readonly run: FullRunRecord;
  /** Steps without their results. */
  readonly steps: readonly ListedStep[];
  readonly payload: RunPayload;
  /** Returns the result of a step. Steps are requested approximately in recorded order. */
  outOf(step: ListedStep): Promise<string | null>;
}

type Difference = RunComparison['differences'][number];
type StepRow = RunComparison['steps'][number];
type Side = 'left' | 'right';

/** Maximum length of a value in a difference. The steps contain the whole values. */
const MAX_SHOWN_LENGTH = 2_000;
const truncate = (text: string): string => (text.length > MAX_SHOWN_LENGTH ? `${truncateText(text, MAX_SHOWN_LENGTH)}…` : text);
const valueText = (value: unknown): string | null =>
  value === undefined ? null : truncate(JSON.stringify(typeof value === 'string' ? truncate(value) : value));

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Returns the parsed JSON unless it is long, other text as a string, and other bytes as Base64. */
function bodyValue(body: Uint8Array): unknown {
  try {
    const text = utf8.decode(body);
    try {
      return parseValue(text);
    } catch {
      return text;
    }
  } catch {
    return `base64:${Buffer.from(body).toString('base64')}`;
  }
}

/** Parses JSON. A long text is compared unparsed, because the parsed value takes many times the memory of the text. */
function parseValue(text: string | null): unknown {
  if (text === null) return undefined;
  return text.length > LIMITS.maxParsedValueBytes ? text : jsonValue(text);
}

/** Applies the redactions of both runs. */
class Redactions {
  private readonly redactions: readonly (Redaction | undefined)[];

  constructor(...runs: readonly ComparedRun[]) {
    this.redactions = runs.map(({ run }) => run.settings.redact);
  }

  out({ type }: ListedStep, out: string | null): string | null {
    return out === null
      ? null
      : this.redactions.reduce((redactedOut, redact) => redactStepResult(type, redactedOut, redact), out);
  }
  json(text: string | null): string | null {
    return text === null ? null : this.redactions.reduce((redactedText, redact) => redactJson(redactedText, redact), text);
  }
  input({ body, contentType, forwardHeaders }: RunPayload): unknown {
    const headers = Object.fromEntries(Object.entries(forwardHeaders).map(([name, value]) => [name, [value]]));
    return {
      body: bodyValue(this.redactions.reduce((redactedBody, redact) => redactBody(redactedBody, redact), body)),
      contentType,
      headers: this.redactions.reduce(
        (redactedHeaders: Record<string, string[]>, redact) => redactHeaders(redactedHeaders, redact),
        headers,
      ),
    };
  }
}

/** Returns the steps in the order in which the code requested them, each with a unique key. */
function stepsByKey({ steps }: ComparedRun): readonly (readonly [key: string, step: ListedStep])[] {
  const counts = new Map<string, number>();
  return [...steps]
    .sort((a, b) => a.stepId - b.stepId)
    .map((step) => {
      const key = `${step.type} ${step.name}`;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return [`${key}\n${count}`, step];
    });
}

type StepPair = { readonly left: ListedStep | null; readonly right: ListedStep | null };

function pairSteps(left: ComparedRun, right: ComparedRun): readonly StepPair[] {
  const [leftSteps, rightSteps] = [stepsByKey(left), stepsByKey(right)];
  const positionInRight = new Map(rightSteps.map(([key], position) => [key, position]));
  const leftKeys = new Set(leftSteps.map(([key]) => key));
  const pairs: StepPair[] = [];
  let rightPosition = 0;
  const addUnmatchedRightSteps = (end: number): void => {
    for (; rightPosition < end; rightPosition++) {
      const [key, step] = rightSteps[rightPosition] ?? [];
      if (key !== undefined && step && !leftKeys.has(key)) pairs.push({ left: null, right: step });
    }
  };
  for (const [key, step] of leftSteps) {
    const position = positionInRight.get(key);
    if (position !== undefined) addUnmatchedRightSteps(position);
    pairs.push({ left: step, right: position === undefined ? null : (rightSteps[position]?.[1] ?? null) });
  }
  addUnmatchedRightSteps(rightSteps.length);
  return pairs;
}

const labelOf = ({ type, name, stepId }: ListedStep): string => `step ${stepId} (${type} ${JSON.stringify(name)})`;
const otherSide = (side: Side): Side => (side === 'left' ? 'right' : 'left');

const sideTexts = ({ left, right }: JsonDifference) => ({ left: valueText(left), right: valueText(right) });
const locationText = ({ path }: JsonDifference): string => (path === '' ? '' : ` at ${path}`);

/** Describes the state of a run after its last step. */
function stateText({ run }: ComparedRun): string {
  return run.status === 'failed' && run.error !== null ? `it failed: ${truncate(run.error)}` : `it is ${stateOfRun(run.status)}`;
}

function missingStepDifference(
  index: number,
  pair: StepPair,
  pairs: readonly StepPair[],
  runs: Readonly<Record<Side, ComparedRun>>,
): Difference {
  const presentSide: Side = pair.left ? 'left' : 'right';
  const missingSide = otherSide(presentSide);
  const step = pair[presentSide];
  if (!step) throw new Error('a pair of steps has no step');
  const text = labelOf(step);
  const replacement = pairs.slice(index).find((nextPair) => nextPair[missingSide] !== null)?.[missingSide];
  const sides = {
    left: presentSide === 'left' ? text : replacement ? labelOf(replacement) : null,
    right: presentSide === 'right' ? text : replacement ? labelOf(replacement) : null,
  };
  const message = replacement
    ? `the ${presentSide} run continues with ${text}, the ${missingSide} run with ${labelOf(replacement)}`
    : `the ${missingSide} run has no step where the ${presentSide} run has ${text}: ${stateText(runs[missingSide])}`;
  return { kind: replacement ? 'step' : 'length', index, ...sides, message };
}

/** Differences in order. Differences only in ids come last. */
class Differences {
  private readonly entries: { readonly difference: Difference; readonly hasOnlyIdDifferences: boolean }[] = [];

  add(difference: Difference, hasOnlyIdDifferences = false): void {
    this.entries.push({ difference, hasOnlyIdDifferences });
  }

  /** Adds the difference if it is the first of its kind. A difference in other fields replaces one that is only in ids. */
  addFirst(difference: Difference, hasOnlyIdDifferences: boolean): void {
    const index = this.entries.findIndex(({ difference: { kind } }) => kind === difference.kind);
    if (index !== -1 && (hasOnlyIdDifferences || this.entries[index]?.hasOnlyIdDifferences === false)) return;
    if (index !== -1) this.entries.splice(index, 1);
    this.add(difference, hasOnlyIdDifferences);
  }

  sorted(): readonly Difference[] {
    return this.entries
      .toSorted((a, b) => Number(a.hasOnlyIdDifferences) - Number(b.hasOnlyIdDifferences))
      .map(({ difference }) => difference);
  }
}

function outcomeDifference(left: ComparedRun, right: ComparedRun, redactions: Redactions): [Difference, boolean] | null {
  const [leftOutcome, rightOutcome] = [left, right].map(({ run }) => ({
    state: stateOfRun(run.status),
    error: run.error ?? undefined,
    result: parseValue(redactions.json(run.result)),
  }));
  const difference = jsonDifference(leftOutcome, rightOutcome);
  const message = `the runs ended differently${difference ? locationText(difference) : ''}`;
  return difference && [{ kind: 'outcome', index: null, ...sideTexts(difference), message }, difference.hasOnlyIdDifferences];
}

/** Includes results as long as they fit into the response. */
class ResultBudget {
  private remaining: number = LIMITS.maxPageBytes;

  presentSide({ stepId, edited }: ListedStep, out: string | null) {
    return { stepId, ...this.presentStepResult(out), ...(edited ? { edited } : {}) };
  }

  private presentStepResult(out: string | null) {
    if (out === null) return {};
    if (out.length > this.remaining) return { outLeftOut: Buffer.byteLength(out) };
    this.remaining -= out.length;
    return { out };
  }
}

const presentRun = ({ run }: ComparedRun) => ({
  ...presentReference(run),
  workflowUrl: run.workflowUrl,
  workflowState: stateOfRun(run.status),
});

/** Compares two runs. `isShortened` means that only the first steps are compared. */
export async function comparisonOf(left: ComparedRun, right: ComparedRun, isShortened = false): Promise<RunComparison> {
  const redactions = new Redactions(left, right);
  const resultBudget = new ResultBudget();
  const outOf = async (run: ComparedRun, step: ListedStep | null): Promise<string | null> =>
    step && redactions.out(step, await run.outOf(step));
  const inputDifference = jsonDifference(redactions.input(left.payload), redactions.input(right.payload));
  const differences = new Differences();
  if (inputDifference) {
    const message = `the runs have different inputs${locationText(inputDifference)}`;
    differences.add({ kind: 'input', index: null, ...sideTexts(inputDifference), message }, inputDifference.hasOnlyIdDifferences);
  }
  let hasSameSteps = true;
  const pairs = pairSteps(left, right);
  const steps: StepRow[] = [];
  for (const [index, pair] of pairs.entries()) {
    const [leftOut, rightOut] = [await outOf(left, pair.left), await outOf(right, pair.right)];
    const isPair = pair.left !== null && pair.right !== null;
    const resultDifference = isPair && leftOut !== rightOut ? jsonDifference(parseValue(leftOut), parseValue(rightOut)) : null;
    if (hasSameSteps && !isPair) {
      hasSameSteps = false;
      differences.add(missingStepDifference(index, pair, pairs, { left, right }));
    }
    if (resultDifference && pair.left) {
      const message = `${labelOf(pair.left)} has different results${locationText(resultDifference)}`;
      differences.addFirst(
        { kind: 'result', index, ...sideTexts(resultDifference), message },
        resultDifference.hasOnlyIdDifferences,
      );
    }
    const { name, type } = pair.left ?? pair.right ?? {};
    const isSame = isPair && resultDifference === null;
    steps.push({
      index,
      stepName: name ?? '',
      stepType: type ?? 'Run',
      left: pair.left && resultBudget.presentSide(pair.left, isSame ? null : leftOut),
      right: pair.right && resultBudget.presentSide(pair.right, isSame ? null : rightOut),
      same: isSame,
    });
  }
  // If the steps differ, the runs ended at different points, and the step difference already contains the outcome.
  const outcome = hasSameSteps ? outcomeDifference(left, right, redactions) : null;
  if (outcome) differences.add(...outcome);
  const sortedDifferences = differences.sorted();
  return {
    left: presentRun(left),
    right: presentRun(right),
    firstDifference: sortedDifferences[0] ?? null,
    differences: [...sortedDifferences],
    steps,
    ...(isShortened ? { shortened: true } : {}),
  };
}
