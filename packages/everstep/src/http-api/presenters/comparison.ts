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
const clipped = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
const written = (value: unknown): string | null =>
  value === undefined ? null : clipped(JSON.stringify(typeof value === 'string' ? clipped(value) : value));

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Returns the parsed JSON unless it is long, other text as a string, and other bytes as base64. */
function bodyValue(body: Uint8Array): unknown {
  try {
    const text = utf8.decode(body);
    try {
      return parsed(text);
    } catch {
      return text;
    }
  } catch {
    return `base64:${Buffer.from(body).toString('base64')}`;
  }
}

/** Parses JSON. A long text is compared unparsed, because parsing takes many times its memory. */
function parsed(text: string | null): unknown {
  if (text === null) return undefined;
  return text.length > LIMITS.maxParsedValueBytes ? text : jsonValue(text);
}

/** Applies the redactions of both runs. */
class Shown {
  private readonly redactions: readonly (Redaction | undefined)[];

  constructor(...runs: readonly ComparedRun[]) {
    this.redactions = runs.map(({ run }) => run.settings.redact);
  }

  out({ type }: ListedStep, out: string | null): string | null {
    return out === null ? null : this.redactions.reduce((shown, redact) => shownOut(type, shown, redact), out);
  }
  json(text: string | null): string | null {
    return text === null ? null : this.redactions.reduce((shown, redact) => shownJson(shown, redact), text);
  }
  input({ body, contentType, forwardHeaders }: RunPayload): unknown {
    const headers = Object.fromEntries(Object.entries(forwardHeaders).map(([name, value]) => [name, [value]]));
    return {
      body: bodyValue(this.redactions.reduce((shown, redact) => shownBody(shown, redact), body)),
      contentType,
      headers: this.redactions.reduce((shown: Record<string, string[]>, redact) => shownHeaders(shown, redact), headers),
    };
  }
}

/** Returns the steps in the order in which the code requested them, each with a unique key. */
function keyed({ steps }: ComparedRun): readonly (readonly [key: string, step: ListedStep])[] {
  const seen = new Map<string, number>();
  return [...steps]
    .sort((a, b) => a.stepId - b.stepId)
    .map((step) => {
      const key = `${step.type} ${step.name}`;
      const nth = (seen.get(key) ?? 0) + 1;
      seen.set(key, nth);
      return [`${key}\n${nth}`, step];
    });
}

type Pair = { readonly left: ListedStep | null; readonly right: ListedStep | null };

function pairs(left: ComparedRun, right: ComparedRun): readonly Pair[] {
  const [ofLeft, ofRight] = [keyed(left), keyed(right)];
  const positionInRight = new Map(ofRight.map(([key], position) => [key, position]));
  const inLeft = new Set(ofLeft.map(([key]) => key));
  const found: Pair[] = [];
  let next = 0;
  const onlyRight = (until: number): void => {
    for (; next < until; next++) {
      const [key, step] = ofRight[next] ?? [];
      if (key !== undefined && step && !inLeft.has(key)) found.push({ left: null, right: step });
    }
  };
  for (const [key, step] of ofLeft) {
    const position = positionInRight.get(key);
    if (position !== undefined) onlyRight(position);
    found.push({ left: step, right: position === undefined ? null : (ofRight[position]?.[1] ?? null) });
  }
  onlyRight(ofRight.length);
  return found;
}

const labelOf = ({ type, name, stepId }: ListedStep): string => `step ${stepId} (${type} ${JSON.stringify(name)})`;
const other = (side: Side): Side => (side === 'left' ? 'right' : 'left');

const values = ({ left, right }: JsonDifference) => ({ left: written(left), right: written(right) });
const at = ({ path }: JsonDifference): string => (path === '' ? '' : ` at ${path}`);

/** Describes the state of a run after its last step. */
function stateText({ run }: ComparedRun): string {
  return run.status === 'failed' && run.error !== null ? `it failed: ${clipped(run.error)}` : `it is ${stateOfRun(run.status)}`;
}

function missing(index: number, pair: Pair, rows: readonly Pair[], runs: Readonly<Record<Side, ComparedRun>>): Difference {
  const has: Side = pair.left ? 'left' : 'right';
  const lacks = other(has);
  const step = pair[has];
  if (!step) throw new Error('a row has no step');
  const text = labelOf(step);
  const instead = rows.slice(index).find((row) => row[lacks] !== null)?.[lacks];
  const sides = {
    left: has === 'left' ? text : instead ? labelOf(instead) : null,
    right: has === 'right' ? text : instead ? labelOf(instead) : null,
  };
  const message = instead
    ? `the ${has} run continues with ${text}, the ${lacks} run with ${labelOf(instead)}`
    : `the ${lacks} run has no step where the ${has} run has ${text}: ${stateText(runs[lacks])}`;
  return { kind: instead ? 'step' : 'length', index, ...sides, message };
}

/** Differences in order. Those in ids only come last. */
class Differences {
  private readonly found: { readonly difference: Difference; readonly onlyIds: boolean }[] = [];

  add(difference: Difference, onlyIds = false): void {
    this.found.push({ difference, onlyIds });
  }

  /** Adds the difference unless there is one of this kind; one in other fields replaces one in ids. */
  addFirst(difference: Difference, onlyIds: boolean): void {
    const known = this.found.findIndex(({ difference: { kind } }) => kind === difference.kind);
    if (known !== -1 && (onlyIds || this.found[known]?.onlyIds === false)) return;
    if (known !== -1) this.found.splice(known, 1);
    this.add(difference, onlyIds);
  }

  sorted(): readonly Difference[] {
    return this.found.toSorted((a, b) => Number(a.onlyIds) - Number(b.onlyIds)).map(({ difference }) => difference);
  }
}

function outcomes(left: ComparedRun, right: ComparedRun, shown: Shown): [Difference, boolean] | null {
  const [a, b] = [left, right].map(({ run }) => ({
    state: stateOfRun(run.status),
    error: run.error ?? undefined,
    result: parsed(shown.json(run.result)),
  }));
  const found = jsonDifference(a, b);
  const message = `the runs ended differently${found ? at(found) : ''}`;
  return found && [{ kind: 'outcome', index: null, ...values(found), message }, found.onlyIds];
}

/** Includes results as long as they fit into the response. */
class ShownResults {
  private left: number = LIMITS.maxPageBytes;

  side({ stepId, edited }: ListedStep, out: string | null) {
    return { stepId, ...this.result(out), ...(edited ? { edited } : {}) };
  }

  private result(out: string | null) {
    if (out === null) return {};
    if (out.length > this.left) return { outLeftOut: Buffer.byteLength(out) };
    this.left -= out.length;
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
  const shown = new Shown(left, right);
  const results = new ShownResults();
  const outOf = async (run: ComparedRun, step: ListedStep | null): Promise<string | null> =>
    step && shown.out(step, await run.outOf(step));
  const input = jsonDifference(shown.input(left.payload), shown.input(right.payload));
  const differences = new Differences();
  if (input) {
    const message = `the runs have different inputs${at(input)}`;
    differences.add({ kind: 'input', index: null, ...values(input), message }, input.onlyIds);
  }
  let sameSteps = true;
  const rows = pairs(left, right);
  const steps: Row[] = [];
  for (const [index, pair] of rows.entries()) {
    const [a, b] = [await outOf(left, pair.left), await outOf(right, pair.right)];
    const both = pair.left !== null && pair.right !== null;
    const found = both && a !== b ? jsonDifference(parsed(a), parsed(b)) : null;
    if (sameSteps && !both) {
      sameSteps = false;
      differences.add(missing(index, pair, rows, { left, right }));
    }
    if (found && pair.left) {
      const message = `${labelOf(pair.left)} has different results${at(found)}`;
      differences.addFirst({ kind: 'result', index, ...values(found), message }, found.onlyIds);
    }
    const { name, type } = pair.left ?? pair.right ?? {};
    const same = both && found === null;
    steps.push({
      index,
      stepName: name ?? '',
      stepType: type ?? 'Run',
      left: pair.left && results.side(pair.left, same ? null : a),
      right: pair.right && results.side(pair.right, same ? null : b),
      same,
    });
  }
  // A run with fewer steps has ended elsewhere, and the step difference already contains its outcome.
  const outcome = sameSteps ? outcomes(left, right, shown) : null;
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
