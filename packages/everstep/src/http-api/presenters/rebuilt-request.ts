/**
 * The request of an attempt whose body is not kept, made again from what is: the input of the run and what was recorded
 * before. It says what the endpoint was told, not how that was framed, which depends on what the endpoint still held.
 */
import { parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { RunAttempt } from '../../contract/attempts.js';
import { beginningOf } from '../../engine/exchanges.js';
import type { RunPayload } from '../../engine/run.js';
import type { ListedStep, RunRecord } from '../../ports/store.js';
import { utf8OrNull } from '../encoded-bytes.js';
import { sentHeaders } from './dead-letter.js';
import { shownBody, shownOut } from './redaction.js';

type Request = NonNullable<RunAttempt['request']>;
export type ShownBody = Pick<Request, 'body' | 'bodyEncoding' | 'rebuilt'>;

/** Text or JSON as it is, when it is short enough; otherwise its beginning, as text. */
function shownInput(bytes: Uint8Array, mostBytes: number): unknown {
  const text = utf8OrNull(bytes);
  if (text === null || bytes.byteLength > mostBytes) return beginningOf(bytes, mostBytes).data;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** A run and the beginning of its journal, more of it than a request shows. */
export interface RebuiltRun {
  readonly run: RunRecord;
  readonly head: readonly ListedStep[];
  /** How many steps behind those had been recorded at that time (Unix ms), before the place `index`. */
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

  /** What an endpoint of a workflow was asked at `at` (Unix ms), of what is recorded before place `index`. */
  bodyOfStep(at: number, index = Number.POSITIVE_INFINITY): ShownBody {
    const { run, head } = this.rebuilt;
    const { redact } = run.settings;
    const most = LIMITS.maxKeptAttemptRequestBytes;
    const { value: input, bytes } = this.shownInput();
    let room = most - bytes;
    const recorded: unknown[] = [];
    let leftOut = this.rebuilt.recordedBehind(at, index);
    for (const step of head) {
      const { stepId, name, type, out, outLeftOut } = step;
      if (step.completedAt > at || step.index >= index) continue;
      // A result that is left out is longer than what is shown in all.
      if (outLeftOut !== undefined) room = -1;
      const entry: unknown = room <= 0 ? null : { stepId, name, ...resultOf(out === null ? null : shownOut(type, out, redact)) };
      room -= entry === null ? 0 : Buffer.byteLength(JSON.stringify(entry));
      if (entry === null || room < 0) leftOut++;
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

  /** Of an attempt that succeeded, of which nothing was kept. */
  whole(method: string, body: ShownBody): Request {
    const { workflowUrl, settings } = this.rebuilt.run;
    return { method, url: workflowUrl, headers: sentHeaders(this.payload, settings.redact), bodyBytes: null, ...body };
  }

  /** Many requests show the same input. */
  private shownInput(): { readonly value: unknown; readonly bytes: number } {
    if (this.input) return this.input;
    const { redact } = this.rebuilt.run.settings;
    const value = shownInput(shownBody(this.payload.body, redact), LIMITS.maxKeptAttemptRequestBytes / 2);
    this.input = { value, bytes: Buffer.byteLength(JSON.stringify(value) ?? '') };
    return this.input;
  }
}

/** JSON, as it was recorded. */
function resultOf(out: string | null): { readonly result?: unknown } {
  if (out === null) return {};
  try {
    return { result: parseJson(out) };
  } catch {
    return { result: out };
  }
}
