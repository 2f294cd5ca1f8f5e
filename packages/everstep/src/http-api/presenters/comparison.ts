/**
 * Compares two runs and finds the first differences in input, results, steps and outcome. The input usually differs, so one
 * difference alone would not be useful. A value that one run redacts is redacted in both and counts as equal. Otherwise
 * anyone who can start runs could find out a redacted value by comparing.
 * Steps are matched by type and name. Several steps with the same type and name are matched by their order. Positions are not
 * compared, because parallel steps can be recorded in a different order in each run.
 */
import { LIMITS } from '../../config/limits.js';
import type { RunComparison } from '../../contract/run-tools.js';
import type { Redaction, RunPayload } from '../../engine/runs/run.js';
import type { ListedStep, RunRecord } from '../../ports/stores/store.js';
import { type JsonDifference, jsonDifference } from './json-difference.js';
import { shownBody, shownHeaders, shownJson, shownOut } from './redaction.js';
import { jsonValue, presentReference, stateOfRun } from './run.js';

export interface ComparedRun {
  /** Run with its whole result. */
  readonly run: RunRecord;
  /** Steps without their results. */
  readonly steps: readonly ListedStep[];
  readonly payload: RunPayload;
  /** Returns the result of a step. Steps are requested approximately in recorded order. */
  outOf(step: ListedStep): Promise<string | null>;
}

type Difference = RunComparison['differences'][number];
type Row = RunComparison['steps'][number];
type Side = 'left' | 'right';

/** Longer values are truncated. The steps contain the whole values. */
const MAX_SHOWN = 2_000;
const truncate = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
const valueText = (value: unknown): string | null =>
  value === undefined ? null : truncate(JSON.stringify(typeof value === 'string' ? truncate(value) : value));

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Returns the parsed JSON unless it is long, other text as a string, and other bytes as base64. */
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

/** Parses JSON. A long text is compared unparsed, because parsing takes many times its memory. */
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
    return out === null ? null : this.redactions.reduce((redactions, redact) => shownOut(type, redactions, redact), out);
  }
  json(text: string | null): string | null {
    return text === null ? null : this.redactions.reduce((redactions, redact) => shownJson(redactions, redact), text);
  }
  input({ body, contentType, forwardHeaders }: RunPayload): unknown {
    const headers = Object.fromEntries(Object.entries(forwardHeaders).map(([name, value]) => [name, [value]]));
    return {
      body: bodyValue(this.redactions.reduce((redactions, redact) => shownBody(redactions, redact), body)),
      contentType,
      headers: this.redactions.reduce(
        (redactions: Record<string, string[]>, redact) => shownHeaders(redactions, redact),
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
      const nth = (counts.get(key) ?? 0) + 1;
      counts.set(key, nth);
      return [`${key}\n${nth}`, step];
    });
}

type Pair = { readonly left: ListedStep | null; readonly right: ListedStep | null };

function pairSteps(left: ComparedRun, right: ComparedRun): readonly Pair[] {
  const [ofLeft, ofRight] = [stepsByKey(left), stepsByKey(right)];
  const positionInRight = new Map(ofRight.map(([key], position) => [key, position]));
  const leftKeys = new Set(ofLeft.map(([key]) => key));
  const result: Pair[] = [];
  let rightPosition = 0;
  const addRightOnly = (until: number): void => {
    for (; rightPosition < until; rightPosition++) {
      const [key, step] = ofRight[rightPosition] ?? [];
      if (key !== undefined && step && !leftKeys.has(key)) result.push({ left: null, right: step });
    }
  };
  for (const [key, step] of ofLeft) {
    const position = positionInRight.get(key);
    if (position !== undefined) addRightOnly(position);
    result.push({ left: step, right: position === undefined ? null : (ofRight[position]?.[1] ?? null) });
  }
  addRightOnly(ofRight.length);
  return result;
}

const labelOf = ({ type, name, stepId }: ListedStep): string => `step ${stepId} (${type} ${JSON.stringify(name)})`;
const otherSide = (side: Side): Side => (side === 'left' ? 'right' : 'left');

const sideTexts = ({ left, right }: JsonDifference) => ({ left: valueText(left), right: valueText(right) });
const locationText = ({ path }: JsonDifference): string => (path === '' ? '' : ` at ${path}`);

/** Describes the state of a run after its last step. */
function stateText({ run }: ComparedRun): string {
  return run.status === 'failed' && run.error !== null ? `it failed: ${truncate(run.error)}` : `it is ${stateOfRun(run.status)}`;
}

function missingStep(index: number, pair: Pair, rows: readonly Pair[], runs: Readonly<Record<Side, ComparedRun>>): Difference {
  const presentSide: Side = pair.left ? 'left' : 'right';
  const missingSide = otherSide(presentSide);
  const step = pair[presentSide];
  if (!step) throw new Error('a row has no step');
  const text = labelOf(step);
  const replacement = rows.slice(index).find((row) => row[missingSide] !== null)?.[missingSide];
  const sides = {
    left: presentSide === 'left' ? text : replacement ? labelOf(replacement) : null,
    right: presentSide === 'right' ? text : replacement ? labelOf(replacement) : null,
  };
  const message = replacement
    ? `the ${presentSide} run continues with ${text}, the ${missingSide} run with ${labelOf(replacement)}`
    : `the ${missingSide} run has no step where the ${presentSide} run has ${text}: ${stateText(runs[missingSide])}`;
  return { kind: replacement ? 'step' : 'length', index, ...sides, message };
}

/** Differences in order. Those in ids only come last. */
class Differences {
  private readonly entries: { readonly difference: Difference; readonly onlyIds: boolean }[] = [];

  add(difference: Difference, onlyIds = false): void {
    this.entries.push({ difference, onlyIds });
  }

  /** Adds the difference unless there is one of this kind; one in other fields replaces one in ids. */
  addFirst(difference: Difference, onlyIds: boolean): void {
    const index = this.entries.findIndex(({ difference: { kind } }) => kind === difference.kind);
    if (index !== -1 && (onlyIds || this.entries[index]?.onlyIds === false)) return;
    if (index !== -1) this.entries.splice(index, 1);
    this.add(difference, onlyIds);
  }

  sorted(): readonly Difference[] {
    return this.entries.toSorted((a, b) => Number(a.onlyIds) - Number(b.onlyIds)).map(({ difference }) => difference);
  }
}

function outcomeDifference(left: ComparedRun, right: ComparedRun, redactions: Redactions): [Difference, boolean] | null {
  const [a, b] = [left, right].map(({ run }) => ({
    state: stateOfRun(run.status),
    error: run.error ?? undefined,
    result: parseValue(redactions.json(run.result)),
  }));
  const result = jsonDifference(a, b);
  const message = `the runs ended differently${result ? locationText(result) : ''}`;
  return result && [{ kind: 'outcome', index: null, ...sideTexts(result), message }, result.onlyIds];
}

/** Includes results as long as they fit into the response. */
class ResultBudget {
  private remaining: number = LIMITS.maxPageBytes;

  side({ stepId, edited }: ListedStep, out: string | null) {
    return { stepId, ...this.result(out), ...(edited ? { edited } : {}) };
  }

  private result(out: string | null) {
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

/** Compares two runs. `shortened`: only the first steps are compared. */
export async function comparisonOf(left: ComparedRun, right: ComparedRun, shortened = false): Promise<RunComparison> {
  const redactions = new Redactions(left, right);
  const results = new ResultBudget();
  const outOf = async (run: ComparedRun, step: ListedStep | null): Promise<string | null> =>
    step && redactions.out(step, await run.outOf(step));
  const input = jsonDifference(redactions.input(left.payload), redactions.input(right.payload));
  const differences = new Differences();
  if (input) {
    const message = `the runs have different inputs${locationText(input)}`;
    differences.add({ kind: 'input', index: null, ...sideTexts(input), message }, input.onlyIds);
  }
  let sameSteps = true;
  const rows = pairSteps(left, right);
  const steps: Row[] = [];
  for (const [index, pair] of rows.entries()) {
    const [a, b] = [await outOf(left, pair.left), await outOf(right, pair.right)];
    const isPair = pair.left !== null && pair.right !== null;
    const result = isPair && a !== b ? jsonDifference(parseValue(a), parseValue(b)) : null;
    if (sameSteps && !isPair) {
      sameSteps = false;
      differences.add(missingStep(index, pair, rows, { left, right }));
    }
    if (result && pair.left) {
      const message = `${labelOf(pair.left)} has different results${locationText(result)}`;
      differences.addFirst({ kind: 'result', index, ...sideTexts(result), message }, result.onlyIds);
    }
    const { name, type } = pair.left ?? pair.right ?? {};
    const isSame = isPair && result === null;
    steps.push({
      index,
      stepName: name ?? '',
      stepType: type ?? 'Run',
      left: pair.left && results.side(pair.left, isSame ? null : a),
      right: pair.right && results.side(pair.right, isSame ? null : b),
      same: isSame,
    });
  }
  // A run with fewer steps has ended elsewhere, and the step difference already contains its outcome.
  const outcome = sameSteps ? outcomeDifference(left, right, redactions) : null;
  if (outcome) differences.add(...outcome);
  const sorted = differences.sorted();
  return {
    left: presentRun(left),
    right: presentRun(right),
    firstDifference: sorted[0] ?? null,
    differences: [...sorted],
    steps,
    ...(shortened ? { shortened } : {}),
  };
}
