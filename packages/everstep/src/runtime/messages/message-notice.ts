/** Notifications about a plain message: to its callback for every response, and to its failure callback after the last retry. */

import { mayBeSecret, SECRET_PLACEHOLDER } from '../../engine/runs/exchanges.js';
import type { Run, RunPayload } from '../../engine/runs/run.js';
import { canonicalHeaders } from '../../responses/header-names.js';
import { originOf } from '../dispatch/origins.js';

/** The stored response of the attempt. `status` is 0 if there was no response. */
export interface ReportedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Uint8Array;
  /** Number of failed attempts before this one. */
  readonly retried: number;
}

/**
 * Returns the headers of the request that started a run or a message, for the callback at `to`. They are meant for the endpoint
 * at `from`; another origin does not receive values that may be secret.
 */
export function sourceHeaderOf(
  { contentType, forwardHeaders }: Omit<RunPayload, 'body'>,
  { from, to }: { readonly from: string; readonly to: string },
): Readonly<Record<string, readonly string[]>> {
  const isSameOrigin = originOf(from) === originOf(to);
  const headers = { ...(contentType === null ? {} : { 'content-type': contentType }), ...forwardHeaders };
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    [isSameOrigin || !mayBeSecret(name) ? value : SECRET_PLACEHOLDER],
  ]);
  return canonicalHeaders(Object.fromEntries(entries));
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/**
 * Returns the notification about a message for the callback with the URL `to`. Bodies are base64, and times are Unix ms. `dlqId`
 * is the id of the dead letter of a message that has failed.
 */
export function messageNotice(run: Run, payload: RunPayload, response: ReportedResponse, to: string, dlqId?: string): Uint8Array {
  const { message, maxRetries } = run.settings;
  const { urlGroup, endpointName, scheduleId, notBefore = run.createdAt } = message ?? {};
  const notice = {
    status: response.status,
    header: canonicalHeaders(response.headers),
    body: base64(response.body),
    retried: response.retried,
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
