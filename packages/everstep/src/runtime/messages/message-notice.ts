/** What is told of a plain message: to its callback with every answer, to its failure callback when it failed for good. */
import { canonicalHeaders } from '../../answers/header-names.js';
import { mayBeSecret, NOT_KEPT } from '../../engine/runs/exchanges.js';
import type { Run, RunPayload } from '../../engine/runs/run.js';

/** What came back, as it is kept of the attempt. `status` 0: nothing came. */
export interface NoticedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Uint8Array;
  /** Failed attempts before it. */
  readonly retried: number;
}

const originOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).origin : null);

/**
 * Returns the headers with which a run or a message was started, for the callback at `to`. They were meant for the endpoint at
 * `from`: another origin does not get values that may be secret.
 */
export function sourceHeaderOf(
  { contentType, forwardHeaders }: Omit<RunPayload, 'body'>,
  { from, to }: { readonly from: string; readonly to: string },
): Readonly<Record<string, readonly string[]>> {
  const isSameOrigin = originOf(from) === originOf(to);
  const headers = { ...(contentType === null ? {} : { 'content-type': contentType }), ...forwardHeaders };
  const lists = Object.entries(headers).map(([name, value]) => [name, [isSameOrigin || !mayBeSecret(name) ? value : NOT_KEPT]]);
  return canonicalHeaders(Object.fromEntries(lists));
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** Of a run that is a message; bodies are base64, times Unix ms. `dlqId`: its id in the DLQ, when it has failed. `to`: URL of the callback. */
export function messageNotice(run: Run, payload: RunPayload, answer: NoticedAnswer, to: string, dlqId?: string): Uint8Array {
  const { message, maxRetries } = run.settings;
  const { urlGroup, endpointName, scheduleId, notBefore = run.createdAt } = message ?? {};
  const notice = {
    status: answer.status,
    header: canonicalHeaders(answer.headers),
    body: base64(answer.body),
    retried: answer.retried,
    maxRetries,
    sourceMessageId: run.workflowRunId,
    ...(urlGroup === undefined ? {} : { topicName: urlGroup }),
    ...(endpointName === undefined ? {} : { endpointName }),
    url: run.workflowUrl,
    method: message?.method ?? 'POST',
    sourceHeader: sourceHeaderOf(payload, { from: run.workflowUrl, to }),
    sourceBody: base64(payload.body),
    notBefore,
    createdAt: run.createdAt,
    ...(scheduleId === undefined ? {} : { scheduleId }),
    callerIP: run.callerIp,
    ...(dlqId === undefined ? {} : { dlqId }),
  };
  return Buffer.from(JSON.stringify(notice));
}
