/** Operation that starts a run. */

import Type from 'typebox';
import { permits } from '../../../accounts/tokens/token-scopes.js';
import { ApiError } from '../../../contract/error-codes.js';
import { ActiveRun, RunResult, TriggeredRun } from '../../../contract/runs.js';
import { omittedResultBytes, withFullResult } from '../../../ports/stores/history-parts.js';
import type { FullRunRecord, RunRecord } from '../../../ports/stores/store.js';
import type { TriggerCommand, TriggerOutcome } from '../../../runtime/services/workflow-service.js';
import { allowRuns, allowSize, startAllowedRuns } from '../../admission/plan-limits.js';
import { RECORDED_BY_RUN } from '../../audited/audit-rule.js';
import { type ApiContext, operation, type RequestContext, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { optional } from '../../presenters/optional.js';
import { presentResult } from '../../presenters/run.js';
import { allowNamedObjects } from '../../quotas/named-objects.js';
import { type Target, TRIGGER_PATH } from '../../server/target.js';
import { TRIGGER_FAMILIES, TriggerHeaders } from './setting-headers.js';
import { presentTriggeredRun, triggerCommand } from './trigger-command.js';

const RAW_URL = /^(?:https?|worker):/i;

/**
 * Returns the workflow URL that follows the prefix in the path. A raw URL ends with the query of the request. A percent-encoded
 * URL contains its own query, and the query of the request is appended to it.
 */
export function destinationOf({ path, query }: Target, prefix = TRIGGER_PATH): string {
  const pathUrl = path.slice(prefix.length);
  let url = pathUrl;
  if (!RAW_URL.test(pathUrl)) {
    try {
      url = decodeURIComponent(pathUrl);
    } catch {
      throw new ApiError('bad-url', `the workflow URL is not correctly percent-encoded: ${quoteValue(pathUrl)}`);
    }
  }
  if (query === '') return url;
  return `${url}${url.includes('?') ? '&' : '?'}${query}`;
}

/**
 * Starts a run. Throws ApiError if the instance may not start it. A deduplicated run does not count against the daily limit.
 */
export async function startTriggeredRun(command: TriggerCommand, context: ApiContext): Promise<TriggerOutcome> {
  const { instanceId } = command;
  await allowNamedObjects(context, instanceId, [command.settings]);
  const runAdmission = await allowRuns(context, instanceId);
  return startAllowedRuns(
    context,
    { instanceId, runs: 1, runAdmission },
    () => context.service.runs.trigger({ ...command, admittedAt: runAdmission.at }),
    ({ kind }) => (kind === 'started' ? 1 : 0),
  );
}

export const stringOrNull = (value: string | readonly string[] | undefined): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

/**
 * Reads the whole result. Returns null if there is not enough memory for it, or if the run was removed: an error would make the
 * client start the run again.
 */
async function readResult(run: RunRecord, { reads }: ApiContext, { reserve }: RequestContext): Promise<FullRunRecord | null> {
  try {
    await reserve(2 * omittedResultBytes(run));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'unavailable') return null;
    throw error;
  }
  return withFullResult(reads.runs, run);
}

export const triggerRun = operation({
  operationId: 'triggerRun',
  audit: RECORDED_BY_RUN,
  scope: 'trigger',
  tag: 'Runs',
  summary: 'Start a workflow run',
  description:
    'Responds when the run is durable. The body can be any bytes; its Content-Type is forwarded. If an active run has the given id, or a run with the deduplication id was started recently, no run is created: the response contains the existing run with `deduplicated: true`. Its result requires a token that may read.',
  method: 'POST',
  path: `${TRIGGER_PATH}{workflowUrl}`,
  unknownQuery: 'part-of-path',
  pathParameters: Type.Object({
    workflowUrl: Type.String({
      description:
        'URL of the workflow, raw or percent-encoded: an absolute http or https URL, whose query is that of the request, or `worker://<app>/<workflow>` for a workflow that connected workers serve.',
    }),
  }),
  headers: TriggerHeaders,
  headerFamilies: TRIGGER_FAMILIES,
  body: { kind: 'bytes', description: 'Payload of the run: any bytes with any content type.' },
  responses: { 200: Type.Union([TriggeredRun, RunResult]), 202: ActiveRun },
  errors: [
    'bad-header',
    'bad-url',
    'bad-expression',
    'blocked-address',
    'budget-exceeded',
    'storage-quota-exceeded',
    'body-too-large',
    'daily-limit-reached',
    'too-many-active-runs',
    'too-many-flow-control-keys',
  ],
  async handle({ headers, headersByFamily, body, request }, context, caller) {
    const command = triggerCommand(
      {
        destination: destinationOf(request.target),
        destinationName: 'the workflow URL',
        headers,
        headersByFamily,
        body,
        contentType: stringOrNull(request.headers['content-type']),
      },
      context,
      request,
      caller,
    );
    allowSize(context, caller.instanceId, body);
    const timeoutMs = headers['Wait-For-Result'] ?? null;
    if (timeoutMs === null) return respond(200, presentTriggeredRun(await startTriggeredRun(command, context), command, context));
    const { instanceId } = caller;
    return context.resultWaits.during(instanceId, async () => {
      const outcome = await startTriggeredRun(command, context);
      const { run, kind } = outcome;
      // An existing run may belong to another caller.
      const isOwnRun = kind === 'started';
      const endedRun =
        isOwnRun || permits(caller.scopes, 'read')
          ? await context.service.runs.awaitEnd({ instanceId, run, timeoutMs, signal: request.signal() })
          : null;
      const { noWorker, ...triggeredRun } = presentTriggeredRun(outcome, command, context);
      const wholeRun = endedRun && (await readResult(endedRun, context, request));
      const isRedacted = !isOwnRun && caller.access === 'read-only';
      if (wholeRun) return respond(200, { ...triggeredRun, ...presentResult(wholeRun, isRedacted) });
      return respond(202, { ...triggeredRun, ...optional('noWorker', noWorker), workflowState: 'RUN_STARTED' as const });
    });
  },
});
