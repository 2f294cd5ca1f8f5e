/**
 * Reconstructs the request of an attempt whose body was not stored, from the input of the run and the steps recorded
 * before. It contains what the endpoint received, but not the frame format, which depends on the journal entries that the
 * endpoint held.
 */
import { parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { RunAttempt } from '../../contract/attempts.js';
import { beginningOf } from '../../engine/runs/exchanges.js';
import type { RunPayload } from '../../engine/runs/run.js';
import type { ListedStep, RunRecord } from '../../ports/stores/store.js';
import { utf8OrNull } from '../responses/encoded-bytes.js';
import { sentHeaders } from './dead-letter.js';
import { shownBody, shownOut } from './redaction.js';

type Request = NonNullable<RunAttempt['request']>;
export type ShownBody = Pick<Request, 'body' | 'bodyEncoding' | 'rebuilt'>;

/** Returns short text or JSON unchanged. Returns the start of a longer input, as text. */
function presentInput(bytes: Uint8Array, maxBytes: number): unknown {
  const text = utf8OrNull(bytes);
  if (text === null || bytes.byteLength > maxBytes) return beginningOf(bytes, maxBytes).data;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** Run with the start of its journal, which contains more than a request shows. */
export interface RebuiltRun {
  readonly run: RunRecord;
  readonly head: readonly ListedStep[];
  /** Number of later steps that were recorded at that time (Unix ms), before the journal index `index`. */
  recordedBehind(at: number, index: number): number;
}

export class RebuiltRequests {
  private readonly rebuilt: RebuiltRun;
  private readonly payload: RunPayload;
  private input: { readonly value: unknown; readonly bytes: number } | null = null;

  constructor(rebuilt: RebuiltRun, payload: RunPayload) {
    this.rebuilt = rebuilt;
    this.payload = payload;
  }

  /** Returns the body of a request at the time `at` (Unix ms), with the steps recorded before the journal index `index`. */
  bodyOfStep(at: number, index = Number.POSITIVE_INFINITY): ShownBody {
    const { run, head } = this.rebuilt;
    const { redact } = run.settings;
    const max = LIMITS.maxKeptAttemptRequestBytes;
    const { value: input, bytes } = this.shownInput();
    let remaining = max - bytes;
    const recorded: unknown[] = [];
    let leftOut = this.rebuilt.recordedBehind(at, index);
    for (const step of head) {
      const { stepId, name, type, out, outLeftOut } = step;
      if (step.completedAt > at || step.index >= index) continue;
      // An omitted result is longer than everything that is shown.
      if (outLeftOut !== undefined) remaining = -1;
      const entry: unknown =
        remaining <= 0 ? null : { stepId, name, ...resultOf(out === null ? null : shownOut(type, out, redact)) };
      remaining -= entry === null ? 0 : Buffer.byteLength(JSON.stringify(entry));
      if (entry === null || remaining < 0) leftOut++;
      else recorded.push(entry);
    }
    const body = { input, recorded, ...(leftOut > 0 ? { recordedButNotShown: leftOut } : {}) };
    return { body: JSON.stringify(body), bodyEncoding: 'utf8', rebuilt: true };
  }

  bodyOfMessage(): ShownBody {
    const bytes = shownBody(this.payload.body, this.rebuilt.run.settings.redact);
    const { encoding, data } = beginningOf(bytes, LIMITS.maxKeptAttemptRequestBytes);
    return { body: data, bodyEncoding: encoding, rebuilt: true };
  }

  /** Returns the request of a successful attempt, of which nothing was stored. */
  fullRequest(method: string, body: ShownBody): Request {
    const { workflowUrl, settings } = this.rebuilt.run;
    return { method, url: workflowUrl, headers: sentHeaders(this.payload, settings.redact), bodyBytes: null, ...body };
  }

  /** Caches the input, which many requests share. */
  private shownInput(): { readonly value: unknown; readonly bytes: number } {
    if (this.input) return this.input;
    const { redact } = this.rebuilt.run.settings;
    const value = presentInput(shownBody(this.payload.body, redact), LIMITS.maxKeptAttemptRequestBytes / 2);
    this.input = { value, bytes: Buffer.byteLength(JSON.stringify(value) ?? '') };
    return this.input;
  }
}

/** Parses a recorded result. */
function resultOf(out: string | null): { readonly result?: unknown } {
  if (out === null) return {};
  try {
    return { result: parseJson(out) };
  } catch {
    return { result: out };
  }
}
