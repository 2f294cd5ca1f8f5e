/**
 * Reconstructs the request of an attempt whose body was not stored, from the input of the run and the steps recorded
 * before. It contains what the endpoint received, but not the frame format, which depends on the journal entries that the
 * endpoint already had.
 */
import { parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { RunAttempt } from '../../contract/attempts.js';
import { encodeBodyStart } from '../../engine/runs/exchanges.js';
import type { RunPayload } from '../../engine/runs/run.js';
import type { ListedStep, RunRecord } from '../../ports/stores/store.js';
import { utf8OrNull } from '../responses/encoded-bytes.js';
import { sentHeaders } from './dead-letter.js';
import { redactBody, redactStepResult } from './redaction.js';

type Request = NonNullable<RunAttempt['request']>;
export type PresentedBody = Pick<Request, 'body' | 'bodyEncoding' | 'rebuilt'>;

/** Returns a short input as parsed JSON or as text, and the start of a long or binary input as a string. */
function presentInput(bytes: Uint8Array, maxBytes: number): unknown {
  const text = utf8OrNull(bytes);
  if (text === null || bytes.byteLength > maxBytes) return encodeBodyStart(bytes, maxBytes).data;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** Run with the first steps of its journal, which are more than a request shows. */
export interface RequestSource {
  readonly run: RunRecord;
  readonly head: readonly ListedStep[];
  /** Returns how many steps after `head` were recorded by the time `at` (Unix ms), before the journal index `index`. */
  countStepsAfterHead(at: number, index: number): number;
}

/** Reconstructs the requests of one run. */
export class RebuiltRequests {
  private readonly source: RequestSource;
  private readonly payload: RunPayload;
  private input: { readonly value: unknown; readonly bytes: number } | null = null;

  constructor(source: RequestSource, payload: RunPayload) {
    this.source = source;
    this.payload = payload;
  }

  /** Returns the body of a request at the time `at` (Unix ms), with the steps recorded before the journal index `index`. */
  bodyOfStep(at: number, index = Number.POSITIVE_INFINITY): PresentedBody {
    const { run, head } = this.source;
    const { redact } = run.settings;
    const { value: input, bytes } = this.shownInput();
    let remainingBytes = LIMITS.maxKeptAttemptRequestBytes - bytes;
    const recordedSteps: unknown[] = [];
    let omittedCount = this.source.countStepsAfterHead(at, index);
    for (const step of head) {
      const { stepId, name, type, out, outLeftOut } = step;
      if (step.completedAt > at || step.index >= index) continue;
      // An omitted result is longer than everything that is shown.
      if (outLeftOut !== undefined) remainingBytes = -1;
      const entry: unknown =
        remainingBytes <= 0 ? null : { stepId, name, ...resultField(out === null ? null : redactStepResult(type, out, redact)) };
      remainingBytes -= entry === null ? 0 : Buffer.byteLength(JSON.stringify(entry));
      if (entry === null || remainingBytes < 0) omittedCount++;
      else recordedSteps.push(entry);
    }
    const body = { input, recorded: recordedSteps, ...(omittedCount > 0 ? { recordedButNotShown: omittedCount } : {}) };
    return { body: JSON.stringify(body), bodyEncoding: 'utf8', rebuilt: true };
  }

  /** Returns the body of a plain message. */
  bodyOfMessage(): PresentedBody {
    const bytes = redactBody(this.payload.body, this.source.run.settings.redact);
    const { encoding, data } = encodeBodyStart(bytes, LIMITS.maxKeptAttemptRequestBytes);
    return { body: data, bodyEncoding: encoding, rebuilt: true };
  }

  /** Returns the request of a successful attempt, for which no request is stored. */
  fullRequest(method: string, body: PresentedBody): Request {
    const { workflowUrl, settings } = this.source.run;
    return { method, url: workflowUrl, headers: sentHeaders(this.payload, settings.redact), bodyBytes: null, ...body };
  }

  /** Returns the redacted input, which is cached because many requests share it. */
  private shownInput(): { readonly value: unknown; readonly bytes: number } {
    if (this.input) return this.input;
    const { redact } = this.source.run.settings;
    const value = presentInput(redactBody(this.payload.body, redact), LIMITS.maxKeptAttemptRequestBytes / 2);
    this.input = { value, bytes: Buffer.byteLength(JSON.stringify(value) ?? '') };
    return this.input;
  }
}

/** Returns a recorded result as a field, or no field if there is no result. */
function resultField(out: string | null): { readonly result?: unknown } {
  if (out === null) return {};
  try {
    return { result: parseJson(out) };
  } catch {
    return { result: out };
  }
}
