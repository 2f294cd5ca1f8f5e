/**
 * Two runs side by side, and where they first differ: in what they were
 * triggered with, in a result, in a step, in how they ended. Two runs seldom
 * have the same input, so the first difference alone would say little. What either of
 * them hides is hidden in both, and counts as the same: else whoever may start
 * runs could find out a hidden value by comparing.
 *
 * Steps are put side by side by type and name, and where there are several of
 * the same by which of them it is: parallel steps may be recorded, and so
 * those behind them be asked for, in another order in each run.
 */
import { LIMITS } from '../../config/limits.js';
import type { RunComparison } from '../../contract/run-tools.js';
import type { Redaction, RunPayload } from '../../engine/run.js';
import type { ListedStep, RunRecord } from '../../ports/store.js';
import { type JsonDifference, jsonDifference } from './json-difference.js';
import { shownBody, shownHeaders, shownJson, shownOut } from './redaction.js';
import { jsonValue, presentReference, stateOfRun } from './run.js';

export interface ComparedRun {
  /** With its whole result. */
  readonly run: RunRecord;
  /** Without their results. */
  readonly steps: readonly ListedStep[];
  readonly payload: RunPayload;
  /** The result of a step. Steps are asked for in about the order in which they were recorded. */
  outOf(step: ListedStep): Promise<string | null>;
}

type Difference = RunComparison['differences'][number];
type Row = RunComparison['steps'][number];
type Side = 'left' | 'right';

/** Longer values are cut: they stand in the steps. */
const MAX_SHOWN = 2_000;
const clipped = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
const written = (value: unknown): string | null =>
  value === undefined ? null : clipped(JSON.stringify(typeof value === 'string' ? clipped(value) : value));

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** JSON as its value, unless it is long; other texts as texts; bytes in base64. */
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

/** A long text is compared as it is: to parse it takes many times its memory. */
function parsed(text: string | null): unknown {
  if (text === null) return undefined;
  return text.length > LIMITS.maxParsedValueBytes ? text : jsonValue(text);
}

/** What is hidden by one or the other. */
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

/** Steps in the order in which the code asked for them, each with a name of its own. */
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
  const placeInRight = new Map(ofRight.map(([key], place) => [key, place]));
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
    const place = placeInRight.get(key);
    if (place !== undefined) onlyRight(place);
    found.push({ left: step, right: place === undefined ? null : (ofRight[place]?.[1] ?? null) });
  }
  onlyRight(ofRight.length);
  return found;
}

const spoken = ({ type, name, stepId }: ListedStep): string => `step ${stepId} (${type} ${JSON.stringify(name)})`;
const other = (side: Side): Side => (side === 'left' ? 'right' : 'left');

const values = ({ left, right }: JsonDifference) => ({ left: written(left), right: written(right) });
const at = ({ path }: JsonDifference): string => (path === '' ? '' : ` at ${path}`);

/** How a run stands behind its last step. */
function standing({ run }: ComparedRun): string {
  return run.status === 'failed' && run.error !== null ? `it failed: ${clipped(run.error)}` : `it is ${stateOfRun(run.status)}`;
}

function missing(index: number, pair: Pair, rows: readonly Pair[], runs: Readonly<Record<Side, ComparedRun>>): Difference {
  const has: Side = pair.left ? 'left' : 'right';
  const lacks = other(has);
  const step = pair[has];
  if (!step) throw new Error('a row without a step');
  const text = spoken(step);
  const instead = rows.slice(index).find((row) => row[lacks] !== null)?.[lacks];
  const sides = {
    left: has === 'left' ? text : instead ? spoken(instead) : null,
    right: has === 'right' ? text : instead ? spoken(instead) : null,
  };
  const message = instead
    ? `the ${has} run has ${text}, where the ${lacks} one goes on with ${spoken(instead)}`
    : `the ${lacks} run has no step any more where the ${has} one has ${text}: ${standing(runs[lacks])}`;
  return { kind: instead ? 'step' : 'length', index, ...sides, message };
}

function outcomes(left: ComparedRun, right: ComparedRun, shown: Shown): Difference | null {
  const [a, b] = [left, right].map(({ run }) => ({
    state: stateOfRun(run.status),
    error: run.error ?? undefined,
    result: parsed(shown.json(run.result)),
  }));
  const found = jsonDifference(a, b);
  return found && { kind: 'outcome', index: null, ...values(found), message: `they ended in another way${at(found)}` };
}

/** Results for which there is room in the answer. */
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

/** `shortened`: there are more steps than are compared. */
export async function comparisonOf(left: ComparedRun, right: ComparedRun, shortened = false): Promise<RunComparison> {
  const shown = new Shown(left, right);
  const results = new ShownResults();
  const outOf = async (run: ComparedRun, step: ListedStep | null): Promise<string | null> =>
    step && shown.out(step, await run.outOf(step));
  const input = jsonDifference(shown.input(left.payload), shown.input(right.payload));
  const differences: Difference[] = [];
  if (input) {
    const message = `they were triggered with something else${at(input)}`;
    differences.push({ kind: 'input', index: null, ...values(input), message });
  }
  let sameSteps = true;
  let sameResults = true;
  const rows = pairs(left, right);
  const steps: Row[] = [];
  for (const [index, pair] of rows.entries()) {
    const [a, b] = [await outOf(left, pair.left), await outOf(right, pair.right)];
    const both = pair.left !== null && pair.right !== null;
    const found = both && a !== b ? jsonDifference(parsed(a), parsed(b)) : null;
    if (sameSteps && !both) {
      sameSteps = false;
      differences.push(missing(index, pair, rows, { left, right }));
    }
    if (sameResults && found && pair.left) {
      sameResults = false;
      const message = `${spoken(pair.left)} came to something else${at(found)}`;
      differences.push({ kind: 'result', index, ...values(found), message });
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
  // A run that lacks steps has ended elsewhere, and it is told there why.
  const outcome = sameSteps ? outcomes(left, right, shown) : null;
  if (outcome) differences.push(outcome);
  return {
    left: presentRun(left),
    right: presentRun(right),
    firstDifference: differences[0] ?? null,
    differences,
    steps,
    ...(shortened ? { shortened } : {}),
  };
}
