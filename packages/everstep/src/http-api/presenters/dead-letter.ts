/** A dead letter as answers show it. */
import type { DeadLetterEntry } from '../../contract/dead-letters.js';
import type { RunPayload } from '../../engine/run.js';
import type { DeadLetterRecord } from '../../ports/store.js';
import { optional } from './run.js';

type HeaderMap = Record<string, string[]>;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bytes as text where that is lossless. */
function utf8OrNull(body: Uint8Array): string | null {
  try {
    return strictUtf8.decode(body);
  } catch {
    return null;
  }
}

const base64 = (body: Uint8Array): string => Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64');

/** `content-type` as `Content-Type`: names are shown one way, however they were sent. */
const headerCase = (name: string): string => name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());

/** What was sent to the workflow beside the body. */
function sentHeaders({ contentType, forwardHeaders }: RunPayload): HeaderMap {
  const sent: [string, string[]][] = Object.entries(forwardHeaders).map(([name, value]) => [headerCase(name), [value]]);
  if (contentType !== null) sent.push(['Content-Type', [contentType]]);
  return Object.fromEntries(sent);
}

function receivedHeaders(headers: DeadLetterRecord['responseHeaders']): HeaderMap {
  return Object.fromEntries(Object.entries(headers).map(([name, values]) => [headerCase(name), [...values]]));
}

function presentResponse(entry: DeadLetterRecord) {
  if (entry.responseStatus === null) return {};
  const text = utf8OrNull(entry.responseBody);
  return {
    responseStatus: entry.responseStatus,
    responseHeader: receivedHeaders(entry.responseHeaders),
    ...(text === null ? { responseBodyBase64: base64(entry.responseBody) } : { responseBody: text }),
  };
}

export function presentDeadLetter(entry: DeadLetterRecord): DeadLetterEntry {
  const { run, payload } = entry;
  const { settings } = run;
  const text = utf8OrNull(payload.body);
  return {
    dlqId: entry.dlqId,
    workflowUrl: run.workflowUrl,
    workflowRunId: run.workflowRunId,
    workflowCreatedAt: run.createdAt,
    url: run.workflowUrl,
    method: 'POST',
    header: sentHeaders(payload),
    ...(text === null ? { bodyBase64: base64(payload.body) } : { body: text }),
    maxRetries: settings.maxRetries,
    createdAt: entry.createdAt,
    ...optional('failureCallback', settings.failureCallback?.url),
    callerIP: run.callerIp,
    ...optional('label', settings.labels[0]),
    labels: [...settings.labels],
    ...optional('flowControlKey', settings.flowControl?.key),
    ...optional('failureFunctionState', entry.failureFunctionState),
    ...presentResponse(entry),
    error: entry.error,
  };
}
