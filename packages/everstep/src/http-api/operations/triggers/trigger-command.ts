/**
 * Converts a workflow URL, headers and a body into the command that starts a run. Used by triggers and by items of a batch.
 */
import { createHash } from 'node:crypto';
import { parseWorkerUrl, readTraceContext } from '@everstep/sdk/protocol';
import type { Caller } from '../../../accounts/tokens/caller.js';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { type HeaderSetting, SETTING_HEADERS, type SettingHeader, type SettingTable } from '../../../contract/run-settings.js';
import type { TriggeredRun } from '../../../contract/runs.js';
import type { DialectName } from '../../../engine/runs/run.js';
import { type EverySetting, type FlowControl, type RunSettings, settingsFrom } from '../../../engine/runs/settings.js';
import { isWorkerUrl } from '../../../ports/workers.js';
import type { TriggerCommand, TriggerOutcome } from '../../../runtime/services/workflow-service.js';
import { allowTimeout } from '../../admission/plan-limits.js';
import type { ApiContext, RequestContext } from '../../operation.js';
import { parseWorkflowUrl } from '../../parameters/destination.js';
import { formatDuration } from '../../parameters/duration.js';
import type { ReceivedHeaders } from '../../parameters/prefixed-headers.js';
import { InvalidValueError } from '../../parameters/value-errors.js';
import { presentReference } from '../../presenters/run.js';
import {
  checkDestination,
  type DestinationContext,
  FAILURE_CALLBACK_FORWARD,
  FORWARD,
  type ScheduleHeaders,
  type TriggerHeaders,
} from './setting-headers.js';

/** Settings that triggers and schedules share. */
type SettingHeaders = Pick<TriggerHeaders, keyof TriggerHeaders & keyof ScheduleHeaders>;

export interface TriggerRequest {
  /** Destination that the client sent, not yet validated. */
  readonly destination: string;
  /** Name of the destination in error messages. */
  readonly destinationName: string;
  readonly headers: TriggerHeaders;
  readonly headersByFamily: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly body: Uint8Array;
  readonly contentType: string | null;
  /** Headers of the item if it is part of a batch: its trace context takes precedence over that of the request. */
  readonly itemHeaders?: ReceivedHeaders;
}

/** Returns the validated workflow URL. Throws ApiError `bad-url`. */
export function workflowUrlOf({ destination, destinationName }: Pick<TriggerRequest, 'destination' | 'destinationName'>): string {
  try {
    return parseWorkflowUrl(destination);
  } catch (error) {
    if (error instanceof InvalidValueError) throw new ApiError(error.code ?? 'bad-url', `${destinationName} ${error.message}`);
    throw error;
  }
}

function flowControlOf(headers: SettingHeaders, request: RequestContext): FlowControl | null {
  const key = headers['Flow-Control-Key'];
  const limits = headers['Flow-Control-Value'];
  if (key !== undefined) return { key, ...limits };
  if (limits === undefined) return null;
  const { dialect } = request;
  throw new ApiError(
    'bad-header',
    `${dialect.spell('Flow-Control-Value')} requires ${dialect.spell('Flow-Control-Key')}, which is missing`,
  );
}

/** Returns the settings of the table. `absentValues` selects the value of settings without a header: their default, or none. */
export const valuesOf = <Settings>(
  table: SettingTable,
  headers: Readonly<Record<string, unknown>>,
  absentValues: 'defaults' | 'none',
) =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, setting]) => {
      if (setting.field === undefined) return [];
      return [[setting.field, headers[name] ?? (absentValues === 'defaults' ? defaultOf(setting) : undefined)] as const];
    }),
    // The schema of each header has decoded it into the value of the setting.
  ) as Settings;

function defaultOf(setting: SettingHeader): unknown {
  const defaultValue = 'absent' in setting ? setting.absent : undefined;
  return typeof defaultValue === 'string' ? LIMITS[defaultValue] : defaultValue;
}

/**
 * Returns the settings of a run. Throws ApiError if the failure callback is not allowed, if flow control limits have no key, or
 * if the timeout is too long.
 */
export function settingsOf(
  {
    headers,
    headersByFamily,
    itemHeaders,
  }: { readonly headers: SettingHeaders } & Pick<TriggerRequest, 'headersByFamily' | 'itemHeaders'>,
  destinationContext: DestinationContext,
): RunSettings {
  const { context, request, instanceId } = destinationContext;
  allowTimeout(context, instanceId, request.dialect.spell('Timeout'), headers.Timeout);
  const callbackUrl = headers['Failure-Callback'];
  if (callbackUrl !== undefined) checkDestination(callbackUrl, 'Failure-Callback', destinationContext);
  return settingsFrom({
    ...valuesOf<Pick<EverySetting, HeaderSetting>>(SETTING_HEADERS, headers, 'defaults'),
    flowControl: flowControlOf(headers, request),
    failureCallback:
      callbackUrl === undefined ? null : { url: callbackUrl, headers: headersByFamily[FAILURE_CALLBACK_FORWARD] ?? {} },
    steps: undefined,
    trace: readTraceContext(itemHeaders?.traceparent === undefined ? request.headers : itemHeaders),
    message: undefined,
  });
}

/** Returns the settings of a schedule. Each of its runs has its own trace, which links to the trace of the request. */
export const scheduledSettings = <Settings extends Pick<RunSettings, 'trace'>>(settings: Settings): Settings =>
  settings.trace ? { ...settings, trace: { ...settings.trace, isLinked: true } } : settings;

/** Returns the earliest start in Unix milliseconds, or null for now. Throws ApiError when it is too far in the future. */
export function notBeforeOf(
  headers: Pick<TriggerHeaders, 'Not-Before' | 'Delay'>,
  now: number,
  request: RequestContext,
): number | null {
  const notBeforeS = headers['Not-Before'];
  if (notBeforeS === undefined) return headers.Delay === undefined ? null : now + headers.Delay;
  const notBeforeMs = notBeforeS * 1000;
  if (notBeforeMs - now <= LIMITS.maxDelayMs) return notBeforeMs;
  const maxDelay = formatDuration(LIMITS.maxDelayMs);
  throw new ApiError(
    'bad-header',
    `${request.dialect.spell('Not-Before')} must be a time in Unix seconds, at most ${maxDelay} in the future`,
  );
}

/** Parts of a request that identify duplicates. */
export interface DeduplicationParts extends Pick<TriggerRequest, 'headersByFamily' | 'body' | 'contentType'> {
  readonly headers: Pick<TriggerHeaders, 'Deduplication-Id' | 'Content-Based-Deduplication'>;
  /** HTTP method of a message. Default: POST, as for runs. */
  readonly method?: string;
}

/** Returns the deduplication id. Prefixes separate ids of the caller from ids that are derived from the content. */
export function deduplicationIdOf(trigger: DeduplicationParts, workflowUrl: string): string | null {
  const deduplicationId = trigger.headers['Deduplication-Id'];
  if (deduplicationId !== undefined) return `id:${deduplicationId}`;
  if (trigger.headers['Content-Based-Deduplication'] !== true) return null;
  const forwardedHeaders = Object.entries(trigger.headersByFamily[FORWARD] ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [workflowUrl, trigger.contentType, forwardedHeaders];
  // Earlier versions ignored the method. With POST, their stored ids remain valid.
  if (trigger.method !== undefined && trigger.method !== 'POST') parts.push(trigger.method);
  const hash = createHash('sha256').update(JSON.stringify(parts));
  return `content:${hash.update('\n').update(trigger.body).digest('base64url')}`;
}

/** Returns the dialect of a run. Workers support only the native step protocol, even if the client uses another dialect. */
export const dialectFor = (workflowUrl: string, { dialect }: RequestContext): DialectName =>
  isWorkerUrl(workflowUrl) ? 'native' : dialect.name;

/** Returns the command of a trigger. Throws ApiError when the trigger is invalid. */
export function triggerCommand(
  trigger: TriggerRequest,
  context: ApiContext,
  request: RequestContext,
  caller: Caller,
): TriggerCommand {
  const { headers } = trigger;
  const { instanceId } = caller;
  const destinationContext = { context, request, instanceId };
  const workflowUrl = workflowUrlOf(trigger);
  checkDestination(workflowUrl, null, destinationContext);
  return {
    instanceId,
    dialect: dialectFor(workflowUrl, request),
    workflowUrl,
    payload: { body: trigger.body, contentType: trigger.contentType, forwardHeaders: trigger.headersByFamily[FORWARD] ?? {} },
    settings: settingsOf(trigger, destinationContext),
    callerIp: request.callerIp,
    workflowRunId: headers['Workflow-RunId'] ?? null,
    notBefore: notBeforeOf(headers, context.service.now(), request),
    deduplicationId: deduplicationIdOf(trigger, workflowUrl),
  };
}

/** Returns the response to a trigger. If no connected worker serves the workflow, the response states since when. */
export function presentTriggeredRun(
  { kind, run }: TriggerOutcome,
  { instanceId, workflowUrl }: Pick<TriggerCommand, 'instanceId' | 'workflowUrl'>,
  { workers }: Pick<ApiContext, 'workers'>,
): TriggeredRun {
  const workerWorkflow = parseWorkerUrl(workflowUrl);
  const since = workerWorkflow && workers.missingSince(instanceId, workflowUrl);
  return {
    ...presentReference(run),
    ...(kind === 'deduplicated' ? { deduplicated: true } : {}),
    ...(workerWorkflow && since !== null ? { noWorker: { app: workerWorkflow.app, since } } : {}),
  };
}
