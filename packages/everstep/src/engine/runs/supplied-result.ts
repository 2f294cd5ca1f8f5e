/**
 * Results that a person supplies in place of the actual result of a step. The code reads them like recorded results,
 * so they must have the same form.
 */
import { parseJson, type StepType } from '@everstep/sdk/protocol';
import type { StepRules } from './settings.js';

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isAbsentOr = (value: unknown, isValid: (value: unknown) => boolean): boolean => value === undefined || isValid(value);
const isArrayOf = (value: unknown, isValid: (value: unknown) => boolean): boolean => Array.isArray(value) && value.every(isValid);

const isBody = (value: unknown): boolean =>
  isObject(value) && (value.encoding === 'utf8' || value.encoding === 'base64') && isText(value.data);
const isHeaders = (value: unknown): boolean =>
  isObject(value) && Object.values(value).every((values) => isArrayOf(values, isText));

function isContent(value: unknown): boolean {
  if (!isObject(value) || !isBody(value.body)) return false;
  if (value.kind === 'data') return isAbsentOr(value.contentType, isText);
  return value.kind === 'request' && isText(value.method) && isText(value.query) && isHeaders(value.headers);
}

const isWaitOutcome = (value: unknown): boolean =>
  isObject(value) && (value.timeout === true || (value.timeout === false && isText(value.eventId) && isContent(value.content)));

const isCallOutcome = (value: unknown): boolean =>
  isObject(value) &&
  isCount(value.status) &&
  isHeaders(value.headers) &&
  isBody(value.body) &&
  isCount(value.attempts) &&
  isAbsentOr(value.error, isText);

function isInvokeOutcome(value: unknown): boolean {
  if (!isObject(value) || !isText(value.workflowRunId) || !isCount(value.workflowCreatedAt)) return false;
  if (value.state === 'succeeded') return isAbsentOr(value.result, isJsonText);
  return value.state === 'canceled' || (value.state === 'failed' && isText(value.error));
}

function isJsonText(value: unknown): boolean {
  if (!isText(value)) return false;
  try {
    parseJson(value);
    return true;
  } catch {
    return false;
  }
}

const isNotifiedRun = (value: unknown): boolean =>
  isObject(value) && isText(value.messageId) && isText(value.workflowRunId) && isText(value.workflowUrl);
const isNotifyOutcome = (value: unknown): boolean =>
  isObject(value) && isArrayOf(value.notified, isNotifiedRun) && typeof value.kept === 'boolean';

/** Result of a notify step that the published SDK executed itself. */
const isSubmittedNotifyOutcome = (value: unknown): boolean =>
  isObject(value) && isText(value.eventId) && isArrayOf(value.notifyResponse, isObject);

const BODY = '{"encoding":"utf8" or "base64","data":text}';
type Form = readonly [isValid: (value: unknown) => boolean, form: string];

const FORMS = {
  Wait: [isWaitOutcome, `{"timeout":true}, or {"timeout":false,"eventId":text,"content":{"kind":"data","body":${BODY}}}`],
  WaitForWebhook: [
    isWaitOutcome,
    `{"timeout":true}, or {"timeout":false,"eventId":text,"content":{"kind":"request","method":text,"query":text,"headers":{name:[text]},"body":${BODY}}}`,
  ],
  Call: [isCallOutcome, `{"status":number,"headers":{name:[text]},"body":${BODY},"attempts":number}`],
  Invoke: [
    isInvokeOutcome,
    '{"workflowRunId":text,"workflowCreatedAt":Unix ms,"state":"succeeded","result":JSON text}, or with the state "failed" and an "error", or "canceled"',
  ],
  Notify: [isNotifyOutcome, '{"notified":[{"messageId":text,"workflowRunId":text,"workflowUrl":text}],"kept":true or false}'],
} as const satisfies Partial<Record<StepType, Form>>;

const SUBMITTED_NOTIFY: Form = [isSubmittedNotifyOutcome, '{"eventId":text,"eventData":any value,"notifyResponse":[{...}]}'];

/**
 * Returns the problem of a result for a step of this type, or null if it is valid. `out` is JSON text; null for no
 * result. `steps` are the rules of the run.
 */
export function suppliedResultProblem(type: StepType, out: string | null, steps: StepRules | undefined): string | null {
  switch (type) {
    case 'Run':
      return null;
    case 'SleepFor':
    case 'SleepUntil':
      return out === null ? null : `is a ${type} step, which has no result; omit "result" to end it immediately`;
    case 'CreateWebhook':
      return 'is a CreateWebhook step, whose result is a generated URL that cannot be supplied; fork from this step to create a new webhook';
    default: {
      const [isValid, form] = type === 'Notify' && steps ? SUBMITTED_NOTIFY : FORMS[type];
      if (out !== null && isValid(parseJson(out))) return null;
      return `is a ${type} step, whose result must have the form ${form}, as in its journal`;
    }
  }
}
