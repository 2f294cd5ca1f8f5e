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
import { parseJson } from '@everstep/sdk/protocol';
import type { RunComparison } from '../../contract/run-tools.js';
import type { RecordedStep, Redaction, RunPayload } from '../../engine/run.js';
import type { RunHistory } from '../../ports/store.js';
import { type JsonDifference, jsonDifference } from './json-difference.js';
import { shownBody, shownHeaders, shownJson, shownOut } from './redaction.js';
import { jsonValue, presentReference, stateOfRun } from './run.js';

export interface ComparedRun {
  readonly history: Pick<RunHistory, 'run' | 'steps'>;
  readonly payload: RunPayload;
}

type Difference = RunComparison['differences'][number];
type Row = RunComparison['steps'][number];
type Side = 'left' | 'right';

/** Longer values are cut: they stand in the steps. */
const MAX_SHOWN = 2_000;
const clipped = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
const written = (value: unknown): string | null => (value === undefined ? null : clipped(JSON.stringify(value)));

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** JSON as its value; other texts as texts; bytes in base64. */
function bodyValue(body: Uint8Array): unknown {
  try {
    const text = utf8.decode(body);
    try {
      return parseJson(text);
    } catch {
      return text;
    }
  } catch {
    return `base64:${Buffer.from(body).toString('base64')}`;
  }
}

const parsed = (text: string | null): unknown => (text === null ? undefined : jsonValue(text));

/** What is hidden by one or the other. */
class Shown {
  private readonly redactions: readonly (Redaction | undefined)[];

  constructor(...runs: readonly ComparedRun[]) {
    this.redactions = runs.map(({ history }) => history.run.settings.redact);
  }

  out({ type, out }: RecordedStep): string | null {
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
function keyed({ history }: ComparedRun): readonly (readonly [key: string, step: RecordedStep])[] {
  const seen = new Map<string, number>();
  return [...history.steps]
    .sort((a, b) => a.stepId - b.stepId)
    .map((step) => {
      const key = `${step.type} ${step.name}`;
      const nth = (seen.get(key) ?? 0) + 1;
      seen.set(key, nth);
      return [`${key}\n${nth}`, step];
    });
}

type Pair = { readonly left: RecordedStep | null; readonly right: RecordedStep | null };

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

const spoken = ({ type, name, stepId }: RecordedStep): string => `step ${stepId} (${type} ${JSON.stringify(name)})`;
const other = (side: Side): Side => (side === 'left' ? 'right' : 'left');

const values = ({ left, right }: JsonDifference) => ({ left: written(left), right: written(right) });
const at = ({ path }: JsonDifference): string => (path === '' ? '' : ` at ${path}`);

/** How a run stands behind its last step. */
function standing({ history: { run } }: ComparedRun): string {
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
  const [a, b] = [left, right].map(({ history: { run } }) => ({
    state: stateOfRun(run.status),
    error: run.error ?? undefined,
    result: parsed(shown.json(run.result)),
  }));
  const found = jsonDifference(a, b);
  return found && { kind: 'outcome', index: null, ...values(found), message: `they ended in another way${at(found)}` };
}

const presentSide = ({ stepId, edited }: RecordedStep, out: string | null) => ({
  stepId,
  ...(out === null ? {} : { out }),
  ...(edited ? { edited } : {}),
});

const presentRun = ({ history: { run } }: ComparedRun) => ({
  ...presentReference(run),
  workflowUrl: run.workflowUrl,
  workflowState: stateOfRun(run.status),
});

export function compareRuns(left: ComparedRun, right: ComparedRun): RunComparison {
  const shown = new Shown(left, right);
  const input = jsonDifference(shown.input(left.payload), shown.input(right.payload));
  const differences: Difference[] = [];
  if (input) {
    const message = `they were triggered with something else${at(input)}`;
    differences.push({ kind: 'input', index: null, ...values(input), message });
  }
  let sameSteps = true;
  let sameResults = true;
  const rows = pairs(left, right);
  const steps = rows.map((pair, index): Row => {
    const [a, b] = [pair.left && shown.out(pair.left), pair.right && shown.out(pair.right)];
    const both = pair.left !== null && pair.right !== null;
    const found = both ? jsonDifference(parsed(a), parsed(b)) : null;
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
    return {
      index,
      stepName: name ?? '',
      stepType: type ?? 'Run',
      left: pair.left && presentSide(pair.left, same ? null : a),
      right: pair.right && presentSide(pair.right, same ? null : b),
      same,
    };
  });
  // A run that lacks steps has ended elsewhere, and it is told there why.
  const outcome = sameSteps ? outcomes(left, right, shown) : null;
  if (outcome) differences.push(outcome);
  return { left: presentRun(left), right: presentRun(right), firstDifference: differences[0] ?? null, differences, steps };
}
