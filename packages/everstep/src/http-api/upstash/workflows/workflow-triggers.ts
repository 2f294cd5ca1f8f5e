/** Starts runs in this dialect: settings are in headers, and by default the workflow URL is also the failure callback. */
import Type from 'typebox';
import type { Caller } from '../../../accounts/tokens/caller.js';
import { ApiError } from '../../../contract/error-codes.js';
import { upstash } from '../../../dialects/upstash/index.js';
import { HEADERS, PREFIX, runIdProblem } from '../../../dialects/upstash/wire.js';
import type { FailureCallback } from '../../../engine/runs/run.js';
import { isWorkerUrl } from '../../../ports/workers.js';
import type { TriggerCommand } from '../../../runtime/services/workflow-service.js';
import type { ApiContext, RequestContext } from '../../operation.js';
import { FAILURE_CALLBACK_FORWARD, FORWARD, settingHeaders, TriggerHeaders } from '../../operations/triggers/setting-headers.js';
import { type TriggerRequest, triggerCommand } from '../../operations/triggers/trigger-command.js';
import { readPrefixedHeaders } from '../../parameters/prefixed-headers.js';
import { headerText } from '../item-headers.js';
import { checkClientVersion } from './step-refusals.js';

const { 'Wait-For-Result': _, ...supportedHeaders } = TriggerHeaders.properties;
const StartHeaders = Type.Object({
  ...supportedHeaders,
  'Failure-Callback-Retries': settingHeaders.Retries,
  'Failure-Callback-Retry-Delay': settingHeaders['Retry-Delay'],
});

/** Returns the default failure callback, which calls the workflow URL. The endpoint reports whether it has a failure function. */
function failureFunctionCallback(url: string, forwardHeaders: Readonly<Record<string, string>>): FailureCallback {
  const markerHeaders = [HEADERS.isFailure, HEADERS.failureCallback].map(
    (name) => [(PREFIX + name).toLowerCase(), 'true'] as const,
  );
  return { url, headers: { ...forwardHeaders, ...Object.fromEntries(markerHeaders) } };
}

/** Returns whether the client knows that the URL is a workflow. If not, the endpoint must confirm it in its first response. */
const isKnownWorkflow = (headers: RequestContext['headers']): boolean =>
  headerText(headers, (PREFIX + HEADERS.protocol).toLowerCase()) !== undefined;

export interface StartRequest extends Pick<TriggerRequest, 'destination' | 'destinationName' | 'body'> {
  readonly headers: RequestContext['headers'];
}

/** Returns the command that starts a run. Throws ApiError if the request is invalid. */
export function startCommand(start: StartRequest, context: ApiContext, request: RequestContext, caller: Caller): TriggerCommand {
  checkClientVersion(start.headers);
  const { values, families } = readPrefixedHeaders(StartHeaders, [FAILURE_CALLBACK_FORWARD, FORWARD], start.headers, upstash);
  const problem = runIdProblem(values['Workflow-RunId'] ?? '');
  if (problem !== null) throw new ApiError('bad-header', `${PREFIX}${HEADERS.runId} ${problem}`);
  const { destination, destinationName, body, headers } = start;
  const contentType = headerText(headers, 'content-type') ?? null;
  const command = triggerCommand(
    { destination, destinationName, body, contentType, headers: values, headersByFamily: families, itemHeaders: headers },
    context,
    request,
    caller,
  );
  const { settings, workflowUrl } = command;
  // A worker reports its own failure function, and does not use this dialect for its steps.
  if (isWorkerUrl(workflowUrl)) return command;
  const requestedCallback = settings.failureCallback;
  const retries = values['Failure-Callback-Retries'];
  const retryDelay = values['Failure-Callback-Retry-Delay'];
  return {
    ...command,
    dialect: 'upstash',
    settings: {
      ...settings,
      steps: { joined: true, introduced: isKnownWorkflow(headers) },
      failureCallback: {
        ...(requestedCallback ?? failureFunctionCallback(workflowUrl, families[FORWARD])),
        ...(retries === undefined ? {} : { maxRetries: retries }),
        ...(retryDelay === undefined ? {} : { retryDelay }),
      },
    },
  };
}
