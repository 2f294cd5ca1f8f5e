/**
 * Converts step results to the journal format of the published SDK. Results of steps that the SDK executed itself
 * (Run, Notify, CreateWebhook) stay as submitted. Results of steps that the server executed are converted.
 */
import {
  type CallOutcome,
  type EncodedBody,
  type EventContent,
  type InvokeOutcome,
  parseJson,
  type StepType,
  type WaitOutcome,
} from '@everstep/sdk/protocol';
import { canonicalHeaders } from '../../responses/header-names.js';

/** Fields of a journal entry that describe the result of the step. */
export interface WireOutcome {
  readonly out?: string;
  readonly waitTimeout?: boolean;
}

/** Identifies the run in the URL of a webhook. */
export interface WebhookOwner {
  readonly instanceId: string;
  readonly workflowRunId: string;
}

const bytesOf = ({ encoding, data }: EncodedBody): Buffer => Buffer.from(data, encoding);
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;
const isBody = (value: unknown): value is EncodedBody => isRecord(value) && typeof value.encoding === 'string';

// Each of these distinguishes a result that the server recorded from one that an SDK submitted for such a step.
const isCall = (value: unknown): value is CallOutcome => isRecord(value) && isBody(value.body);
const isWait = (value: unknown): value is WaitOutcome => isRecord(value) && typeof value.timeout === 'boolean';
const isInvoke = (value: unknown): value is InvokeOutcome => isRecord(value) && typeof value.state === 'string';

/** The SDK treats each character of the text as a byte, and decodes the bytes as UTF-8 if the content is text. */
function callOut({ status, headers, body, error }: CallOutcome): string {
  const bytes = error === undefined ? bytesOf(body) : Buffer.from(error);
  return JSON.stringify({ status, body: bytes.toString('latin1'), header: canonicalHeaders(headers) });
}

function hookPath({ instanceId, workflowRunId }: WebhookOwner, eventId: string): string {
  return ['/v2/workflows/hooks', ...[instanceId, workflowRunId, eventId].map(encodeURIComponent)].join('/');
}

function requestOut(content: Extract<EventContent, { kind: 'request' }>, eventId: string, owner: WebhookOwner): string {
  const { method, query, headers, body } = content;
  const firstValue = (name: string): string | undefined => headers[name]?.[0]?.split(',')[0]?.trim();
  const request = {
    method,
    header: canonicalHeaders(headers),
    body: bytesOf(body).toString('base64'),
    proto: firstValue('x-forwarded-proto') ?? 'http',
    host: firstValue('host') ?? 'localhost',
    url: hookPath(owner, eventId) + query,
  };
  return Buffer.from(JSON.stringify(request)).toString('base64');
}

function waitOutcome(outcome: WaitOutcome, owner: WebhookOwner): WireOutcome {
  if (outcome.timeout) return { waitTimeout: true };
  const { content, eventId } = outcome;
  if (content.kind === 'request') return { out: requestOut(content, eventId, owner), waitTimeout: false };
  return { out: bytesOf(content.body).toString('base64'), waitTimeout: false };
}

function invokeOut(outcome: InvokeOutcome): string {
  const { workflowRunId, state } = outcome;
  const body = outcome.state === 'succeeded' ? outcome.result : outcome.state === 'failed' ? outcome.error : undefined;
  return JSON.stringify({ workflowRunId, body, isFailed: state === 'failed', isCanceled: state === 'canceled' });
}

/** Converts the result of a step. `out` is the recorded JSON text, or null if the step has no result. */
export function wireOutcome(type: StepType, out: string | null, owner: WebhookOwner): WireOutcome {
  if (out === null) return {};
  switch (type) {
    case 'Call':
    case 'Wait':
    case 'WaitForWebhook':
    case 'Invoke': {
      const recorded: unknown = parseJson(out);
      if (type === 'Call' && isCall(recorded)) return { out: callOut(recorded) };
      if (type === 'Invoke' && isInvoke(recorded)) return { out: invokeOut(recorded) };
      if ((type === 'Wait' || type === 'WaitForWebhook') && isWait(recorded)) return waitOutcome(recorded, owner);
      return { out };
    }
    default:
      return { out };
  }
}
