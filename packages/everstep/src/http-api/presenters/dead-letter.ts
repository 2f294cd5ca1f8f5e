/** Presents dead letters. */
import type { DeadLetterEntry } from '../../contract/dead-letters.js';
import type { Redaction, RunPayload } from '../../engine/runs/run.js';
import type { ScheduledDeletion } from '../../ports/stores/repair-store.js';
import type { FullDeadLetter } from '../../ports/stores/store.js';
import type { CallbackHistory } from '../read-models/dead-letter-pages.js';
import { base64, utf8OrNull } from '../responses/encoded-bytes.js';
import { presentFailureFunction } from './failure-function.js';
import { optional } from './optional.js';
import { redactBody, redactHeaders } from './redaction.js';
import { presentFailedBy } from './thrown-error.js';

type HeaderMap = Record<string, string[]>;

/** Returns the headers that are sent to the workflow with the body. */
export function sentHeaders({ contentType, forwardHeaders }: Omit<RunPayload, 'body'>, redact: Redaction | undefined): HeaderMap {
  const headers: [string, string[]][] = Object.entries(forwardHeaders).map(([name, value]) => [name, [value]]);
  if (contentType !== null) headers.push(['Content-Type', [contentType]]);
  return redactHeaders(Object.fromEntries(headers), redact);
}

/** Presents bytes that are UTF-8 as text in `textField`, and other bytes as Base64 in `base64Field`. */
export function presentBytes<TextField extends string, Base64Field extends string>(
  textField: TextField,
  base64Field: Base64Field,
  bytes: Uint8Array,
) {
  const text = utf8OrNull(bytes);
  return text === null ? optional(base64Field, base64(bytes)) : optional(textField, text);
}

/** Returns the body that a run is started with. An empty body is omitted. */
export const presentStartBody = ({ body }: RunPayload, redact: Redaction | undefined) =>
  body.byteLength === 0 ? {} : presentBytes('body', 'bodyBase64', redactBody(body, redact));

function presentResponse(entry: FullDeadLetter, redact: Redaction | undefined) {
  if (entry.responseStatus === null) return {};
  return {
    responseStatus: entry.responseStatus,
    responseHeader: redactHeaders(entry.responseHeaders, redact),
    ...presentBytes('responseBody', 'responseBodyBase64', redactBody(entry.responseBody, redact)),
  };
}

/** Presents a dead letter. `history` adds the attempts of the failure callback, and `deletion` adds its scheduled deletion. */
export function presentDeadLetter(
  entry: FullDeadLetter,
  deletion: ScheduledDeletion | undefined,
  history: CallbackHistory | null = null,
): DeadLetterEntry {
  const { run, payload } = entry;
  const { settings } = run;
  const { redact } = settings;
  return {
    dlqId: entry.dlqId,
    workflowUrl: run.workflowUrl,
    workflowRunId: run.workflowRunId,
    workflowCreatedAt: run.createdAt,
    url: run.workflowUrl,
    method: 'POST',
    header: sentHeaders(payload, redact),
    ...presentBytes('body', 'bodyBase64', redactBody(entry.body, redact)),
    maxRetries: settings.maxRetries,
    createdAt: entry.createdAt,
    ...optional('failureCallback', settings.failureCallback?.url),
    callerIP: run.callerIp,
    ...optional('label', settings.labels[0]),
    labels: [...settings.labels],
    ...optional('flowControlKey', settings.flowControl?.key),
    ...optional('failureFunctionState', entry.failureFunctionState),
    ...optional('failureFunctionInfo', history && presentFailureFunction(history, entry.failureFunctionState)),
    ...presentResponse(entry, redact),
    error: entry.error,
    ...optional('failedBy', presentFailedBy(entry)),
    ...optional('fingerprint', entry.fingerprint),
    ...optional('deletionAt', deletion?.at),
    ...optional('deletionRepairId', deletion?.repairId),
  };
}
