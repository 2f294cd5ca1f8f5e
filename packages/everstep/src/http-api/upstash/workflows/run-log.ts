/**
 * Converts the log of a run to the format of this dialect. The native run log determines the steps, groups and
 * states; this module maps them to the field names and values of the dialect.
 */
import { parseJson } from '@everstep/sdk/protocol';
import type { StepGroup as NativeGroup, LoggedStep as NativeStep } from '../../../contract/runs.js';
import type { RecordedStep, Redaction, RunPayload, Task } from '../../../engine/runs/run.js';
import type { DeadLetterBodies, DeadLetterRecord, ListedTask, RunRecord } from '../../../ports/stores/store.js';
import { formatDuration } from '../../parameters/duration.js';
import { sentHeaders } from '../../presenters/dead-letter.js';
import { presentFailureFunction } from '../../presenters/failure-function.js';
import { optional } from '../../presenters/optional.js';
import { redactBody, redactHeaders, redactJson, redactUrl } from '../../presenters/redaction.js';
import { presentRunLog } from '../../presenters/run-log.js';
import type { ListedHistory } from '../../read-models/run-histories.js';
import { encodeBody } from '../../responses/encoded-bytes.js';
import type { FailureFunction, LoggedRun, LoggedStep, StepGroup } from './run-log-schemas.js';

/** A run invoked by a step, with its payload. */
export interface InvokedRun {
  /** Includes the result if the page has space for it. */
  readonly run: RunRecord;
  /** `bodyLeftOut` is the size of a body that is omitted for lack of space; `body` is then empty. */
  readonly payload: ListedPayload | null;
}

export interface ListedPayload extends RunPayload {
  readonly bodyLeftOut?: number;
}

/** Input for the log of one run. */
export interface LogSource {
  readonly history: ListedHistory;
  readonly payload: ListedPayload | null;
  /** Dead letter queue entry of the run. */
  readonly deadLetter: (DeadLetterRecord & Pick<DeadLetterBodies, 'responseBody'>) | null;
  /** The run that invoked this run. */
  readonly invoker: RunRecord | null;
  /** Invoked runs by the id of the invoking step. */
  readonly invokedRuns: ReadonlyMap<number, InvokedRun>;
  /** Omits bodies and results. */
  readonly trimBody: boolean;
  /** False if the headers are so long that only the first step shows them. */
  readonly repeatsHeaders: boolean;
}

type HeaderMap = Record<string, string[]>;
type StepError = NonNullable<LoggedStep['errors']>[number];

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the body as text, or in Base64 if it is not UTF-8. */
function bodyText(body: Uint8Array, redact: Redaction | undefined): string {
  return encodeBody(redactBody(body, redact)).data;
}

const singleValueLists = (headers: Readonly<Record<string, string>>): HeaderMap =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));

/** Returns headers of a result with canonical names. They are already redacted. */
function headerLists(value: unknown): HeaderMap {
  if (!isRecord(value)) return {};
  const lists = Object.entries(value).map(([name, values]) => [name, (Array.isArray(values) ? values : [values]).map(String)]);
  return redactHeaders(Object.fromEntries(lists), undefined);
}

/** Returns the data of an encoded body, or undefined for any other value. */
const encodedText = (value: unknown): string | undefined =>
  isRecord(value) && typeof value.data === 'string' ? value.data : undefined;

/** Returns the result fields of a step that the server executed. `out` is JSON text, already redacted. */
function resultFields(type: string | undefined, out: string): Partial<LoggedStep> {
  let result: unknown;
  try {
    result = parseJson(out);
  } catch {
    return { out };
  }
  if (!isRecord(result)) return { out };
  if (type === 'Call' && typeof result.status === 'number' && isRecord(result.body)) {
    const body = typeof result.error === 'string' ? result.error : (encodedText(result.body) ?? '');
    const header = headerLists(result.headers);
    return {
      out: JSON.stringify({ status: result.status, body, header }),
      callResponseStatus: result.status,
      callResponseBody: body,
      callResponseHeaders: header,
    };
  }
  const { content } = result;
  if ((type === 'Wait' || type === 'WaitForWebhook') && typeof result.timeout === 'boolean') {
    if (!isRecord(content)) return {};
    if (content.kind === 'data') return { out: encodedText(content.body) ?? '' };
    return { out: JSON.stringify({ ...content, headers: headerLists(content.headers) }) };
  }
  if (type === 'Invoke' && typeof result.state === 'string') {
    const { result: body, error } = result;
    return typeof body === 'string' ? { out: body } : typeof error === 'string' ? { out: error } : {};
  }
  return { out };
}

function taskFields(task: Task, redact: Redaction | undefined, trimBody: boolean): Partial<LoggedStep> {
  switch (task.kind) {
    case 'wait':
      return {
        waitTimeoutDeadline: task.deadlineAt,
        waitTimeoutDuration: formatDuration(Math.max(0, task.deadlineAt - task.createdAt)),
      };
    case 'call': {
      const { call } = task;
      const body = call.body && !trimBody ? bodyText(Buffer.from(call.body.data, call.body.encoding), redact) : undefined;
      return {
        callUrl: redactUrl(call.url, redact),
        callMethod: call.method,
        callHeaders: redactHeaders(singleValueLists(call.headers), redact),
        ...optional('callBody', body),
        retries: call.retries ?? 0,
        ...optional('retryDelay', call.retryDelay),
      };
    }
    case 'step':
      return task.stepType === undefined ? {} : { stepType: task.stepType };
    default:
      return {};
  }
}

/** Returns the result or error of an invoked run, or the size of a result that is omitted. */
function outcomeFields({ run }: InvokedRun): Pick<LoggedStep, 'out' | 'outLeftOut'> {
  if (run.result === null) return optional('out', run.error);
  if (typeof run.result === 'object') return { outLeftOut: run.result.omittedBytes };
  return { out: redactJson(run.result, run.settings.redact) };
}

function invokedFields({ run, payload }: InvokedRun, trimBody: boolean): Partial<LoggedStep> {
  const { redact } = run.settings;
  return {
    invokedWorkflowRunId: run.workflowRunId,
    invokedWorkflowUrl: run.workflowUrl,
    invokedWorkflowCreatedAt: run.createdAt,
    ...(payload === null
      ? {}
      : {
          ...(trimBody || payload.bodyLeftOut !== undefined ? {} : { invokedWorkflowRunBody: bodyText(payload.body, redact) }),
          invokedWorkflowRunHeaders: sentHeaders(payload, redact),
        }),
  };
}

/** Builds the log entries of the steps of one run. */
class StepWriter {
  private readonly source: LogSource;
  private readonly tasks: ReadonlyMap<string, ListedTask>;
  private readonly recordedSteps: ReadonlyMap<string, RecordedStep>;
  private readonly headers: HeaderMap;

  constructor(source: LogSource) {
    this.source = source;
    const { history, payload } = source;
    this.tasks = new Map(history.tasks.map((task) => [task.messageId, task]));
    this.recordedSteps = new Map(history.steps.map((step) => [step.messageId, step]));
    this.headers = payload === null ? {} : sentHeaders(payload, history.run.settings.redact);
  }

  presentStep(nativeStep: NativeStep): LoggedStep {
    const { history, payload, trimBody, invokedRuns, repeatsHeaders } = this.source;
    const { settings } = history.run;
    const { redact } = settings;
    const { stepId, stepName, stepType, callType, messageId, out, concurrent, state, createdAt } = nativeStep;
    const isFirst = stepType === 'Initial';
    const bodyLeftOut = isFirst ? payload?.bodyLeftOut : undefined;
    const task = this.tasks.get(messageId);
    const invokedRun = stepId === undefined ? undefined : invokedRuns.get(stepId);
    const showsOutcome = out === undefined && state === 'STEP_SUCCESS' && !trimBody;
    const invokedOutcome = invokedRun && showsOutcome ? outcomeFields(invokedRun) : {};
    const showsPayload = isFirst && payload !== null && !trimBody && bodyLeftOut === undefined;
    const payloadText = showsPayload ? bodyText(payload.body, redact) : undefined;
    return {
      ...optional('stepId', stepId),
      ...optional('stepName', stepName),
      ...optional('stepType', stepType),
      callType,
      messageId,
      ...optional('out', payloadText),
      retries: settings.maxRetries,
      ...optional('retryDelay', settings.retryDelay),
      concurrent,
      state,
      createdAt,
      headers: isFirst || repeatsHeaders ? this.headers : {},
      ...optional('sleepFor', nativeStep.sleepFor),
      ...optional('sleepUntil', nativeStep.sleepUntil),
      ...optional('waitEventId', nativeStep.waitEventId),
      ...optional('waitTimeout', nativeStep.waitTimeout),
      ...optional('notifyEventId', nativeStep.notifyEventId),
      ...optional('callResponseStatus', nativeStep.callResponseStatus),
      ...optional('invokedWorkflowRunId', nativeStep.invokedWorkflowRunId),
      ...optional('invokedWorkflowUrl', nativeStep.invokedWorkflowUrl),
      ...optional('invokedWorkflowCreatedAt', nativeStep.invokedWorkflowCreatedAt),
      ...(out !== undefined && this.recordedSteps.has(messageId)
        ? resultFields(stepType, out)
        : optional('out', out ?? payloadText ?? invokedOutcome.out)),
      ...optional('outLeftOut', nativeStep.outLeftOut ?? bodyLeftOut ?? invokedOutcome.outLeftOut),
      ...(task ? taskFields(task, redact, trimBody) : {}),
      ...optional('callBodyLeftOut', task && !trimBody ? task.bodyLeftOut : undefined),
      ...(invokedRun ? invokedFields(invokedRun, trimBody) : {}),
      ...optional('errors', nativeStep.errors && this.errors(nativeStep.errors, state)),
    };
  }

  /** Returns the failed attempts. Only the response to the last of them is stored, in the dead letter. */
  private errors(errors: NonNullable<NativeStep['errors']>, state: NativeStep['state']): StepError[] {
    const { deadLetter } = this.source;
    const lastFailure = state === 'STEP_FAILED' && deadLetter?.responseStatus !== null ? deadLetter : null;
    return errors.map(({ error, status, time }, position) => {
      const response = lastFailure && position === errors.length - 1 ? responseOf(lastFailure) : { body: '', headers: {} };
      return { error, ...response, status: status ?? 0, time };
    });
  }

  /** Returns the groups of the steps. Only steps that are not identified yet are in a group of type `next`. */
  presentGroups({ type, steps }: NativeGroup): readonly StepGroup[] {
    const loggedSteps = steps.map((step) => this.presentStep(step));
    if (type === 'parallel') return [{ type, steps: loggedSteps }];
    const unidentifiedSteps = loggedSteps.filter(({ stepType }) => stepType === undefined);
    const identifiedSteps = loggedSteps.filter(({ stepType }) => stepType !== undefined);
    const groups: StepGroup[] = identifiedSteps.map((step) => ({ type: 'sequential', steps: [step] }));
    return unidentifiedSteps.length > 0 ? [...groups, { type: 'next', steps: unidentifiedSteps }] : groups;
  }
}

function responseOf({ run, responseHeaders, responseBody }: NonNullable<LogSource['deadLetter']>): {
  body: string;
  headers: HeaderMap;
} {
  const { redact } = run.settings;
  return { body: bodyText(responseBody, redact), headers: redactHeaders(responseHeaders, redact) };
}

function failureFunctionOf({ history, deadLetter }: LogSource): FailureFunction | null {
  const callbackInfo = presentFailureFunction(history, deadLetter?.failureFunctionState ?? null);
  if (!callbackInfo) return null;
  const task = history.tasks.find(({ kind }) => kind === 'callback');
  const attempts = history.attempts.filter(({ slot }) => slot < 0);
  const response = deadLetter ? responseOf(deadLetter) : { body: '', headers: {} };
  const errors = callbackInfo.errors.map(({ error, status, time }) => ({
    error,
    body: '',
    headers: {},
    status: status ?? 0,
    time,
  }));
  return {
    ...optional('messageId', task?.messageId ?? attempts.at(-1)?.messageId),
    url: callbackInfo.url,
    ...optional('state', callbackInfo.state ?? (attempts.at(-1)?.retryAt === null ? ('CALLBACK_FAIL' as const) : null)),
    failHeaders: response.headers,
    failStatus: deadLetter?.responseStatus ?? 0,
    failResponse: response.body,
    ...optional('dlqId', deadLetter?.dlqId),
    ...optional('errors', errors.length > 0 ? errors : null),
    ...optional('responseStatus', callbackInfo.responseStatus),
    ...optional('nextDeliveryTime', callbackInfo.nextAttemptAt),
  };
}

/** The API of this dialect does not show what runs wait for. */
const NO_WAITS = new Map<string, never>();

export function presentLoggedRun(source: LogSource): LoggedRun {
  const { history, invoker, trimBody } = source;
  const nativeLog = presentRunLog(history, { trimBody, waits: NO_WAITS });
  const writer = new StepWriter(source);
  return {
    workflowRunId: nativeLog.workflowRunId,
    workflowUrl: nativeLog.workflowUrl,
    workflowState: nativeLog.workflowState,
    workflowRunCreatedAt: nativeLog.workflowRunCreatedAt,
    ...optional('workflowRunCompletedAt', nativeLog.workflowRunCompletedAt),
    ...optional('workflowRunResponse', nativeLog.workflowRunResponse),
    ...optional('workflowRunResponseLeftOut', nativeLog.workflowRunResponseLeftOut),
    ...optional('failureFunction', failureFunctionOf(source)),
    steps: nativeLog.steps.flatMap((group) => writer.presentGroups(group)),
    ...optional(
      'invoker',
      invoker && {
        workflowRunId: invoker.workflowRunId,
        workflowUrl: invoker.workflowUrl,
        workflowRunCreatedAt: invoker.createdAt,
      },
    ),
    ...optional('dlqId', nativeLog.dlqId),
    callerIP: nativeLog.callerIP,
    ...optional('label', nativeLog.label),
    labels: nativeLog.labels,
    ...optional('flowControlKey', nativeLog.flowControlKey),
    ...optional('shortened', nativeLog.shortened),
  };
}
