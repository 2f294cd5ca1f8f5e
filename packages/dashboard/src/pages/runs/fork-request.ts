/** Converts the fields of the fork dialog to a request, or reports invalid fields. */
import type { ForkRequest } from '../../../../everstep/src/contract/run-tools.js';
import { tokensOf } from '../../components/json/json-text.js';

export interface ForkForm {
  readonly createdAt: number;
  readonly fromStep: number;
  /** Edited input; null keeps the original input. */
  readonly input: string | null;
  /** JSON texts by position of the step. */
  readonly results: Readonly<Record<number, string>>;
  readonly newRunId: string;
  readonly note: string;
}

export type FormProblems = Readonly<{ results: Readonly<Record<number, string>> }>;

export type ForkFormResult =
  | { readonly ok: true; readonly request: ForkRequest }
  | { readonly ok: false; readonly problems: FormProblems };

/** Returns whether a token of JSON is a number that `JSON.parse` changes. */
function isRounded(token: string): boolean {
  if (!/^-?\d/.test(token)) return false;
  const value = Number(token);
  return !Number.isFinite(value) || (/^-?\d+$/.test(token) && !Number.isSafeInteger(value) && String(value) !== token);
}

export function readForkForm(form: ForkForm): ForkFormResult {
  const results: { stepId: number; result?: unknown }[] = [];
  const problems: Record<number, string> = {};
  for (const [position, text] of Object.entries(form.results)) {
    const stepId = Number(position);
    // Later steps run again, so their results are not sent.
    if (stepId > form.fromStep) continue;
    if (text.trim() === '') {
      results.push({ stepId });
      continue;
    }
    try {
      const result: unknown = JSON.parse(text);
      const roundedNumber = tokensOf(text)?.find(isRounded);
      if (roundedNumber === undefined) results.push({ stepId, result });
      else problems[stepId] = `The number ${roundedNumber} cannot be sent exactly. Shorten it, or write it as a string.`;
    } catch (error) {
      problems[stepId] = `Invalid JSON: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  if (Object.keys(problems).length > 0) return { ok: false, problems: { results: problems } };
  const newRunId = form.newRunId.trim();
  const note = form.note.trim();
  return {
    ok: true,
    request: {
      createdAt: form.createdAt,
      fromStep: form.fromStep,
      ...(form.input === null ? {} : { input: { body: form.input } }),
      ...(results.length === 0 ? {} : { results }),
      ...(newRunId === '' ? {} : { newWorkflowRunId: newRunId }),
      ...(note === '' ? {} : { note }),
    },
  };
}
