/** What is told of a plain message: to its callback with every answer, to its failure callback when it failed for good. */
import { canonicalHeaders } from '../answers/header-names.js';
import type { Run, RunPayload } from '../engine/run.js';

/** What came back, as it is kept of the attempt. `status` 0: nothing came. */
export interface NoticedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Uint8Array;
  /** Failed attempts before it. */
  readonly retried: number;
}

/** Returns what a run or a message was started with: its headers with their canonical names. */
export const sourceHeaderOf = ({ contentType, forwardHeaders }: RunPayload): Readonly<Record<string, readonly string[]>> =>
  canonicalHeaders(
    Object.fromEntries(
      Object.entries({ ...(contentType === null ? {} : { 'content-type': contentType }), ...forwardHeaders }).map(
        ([name, value]) => [name, [value]],
      ),
    ),
  );

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** Of a run that is a message; bodies are base64, times Unix ms. `dlqId`: where it stands now that it has failed. */
export function messageNotice(run: Run, payload: RunPayload, answer: NoticedAnswer, dlqId?: string): Uint8Array {
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
    sourceHeader: sourceHeaderOf(payload),
    sourceBody: base64(payload.body),
    notBefore,
    createdAt: run.createdAt,
    ...(scheduleId === undefined ? {} : { scheduleId }),
    callerIP: run.callerIp,
    ...(dlqId === undefined ? {} : { dlqId }),
  };
  return Buffer.from(JSON.stringify(notice));
}
