/** Resumes and restarts failed runs, one at a time and in bulk. */

import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { RecoveredRuns } from '../../../contract/dead-letters.js';
import { ApiError } from '../../../contract/error-codes.js';
import { OVERRIDE_HEADERS, type OverrideSetting } from '../../../contract/run-settings.js';
import { RunReferenceSchema } from '../../../contract/runs.js';
import type { RunReference } from '../../../ports/stores/store.js';
import type { RecoverCommand, RunOverrides } from '../../../runtime/services/workflow-service.js';
import { allowRuns, startAllowedRuns } from '../../admission/plan-limits.js';
import { bulkChange, change } from '../../audited/audit-rule.js';
import { type ApiContext, type Operation, operation, type RequestContext, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { ClientSuppliedId } from '../../parameters/values.js';
import { presentReference } from '../../presenters/run.js';
import { allowOverrides } from '../../quotas/named-objects.js';
import {
  checkDestination,
  type DestinationContext,
  FAILURE_CALLBACK_FORWARD,
  overrideHeaders,
} from '../triggers/setting-headers.js';
import { valuesOf } from '../triggers/trigger-command.js';
import {
  BulkByRunId,
  BulkByRunIdPrefix,
  type BulkQuery,
  distinctDlqIds,
  refuseCursorWithIds,
  refuseSmallerCount,
  runBulk,
  type TakeEntries,
} from './bulk.js';
import { DlqIdPath, deadLetterNotFound } from './dead-letters.js';

export type RecoverKind = Exclude<RecoverCommand['kind'], 'retry'>;

export const OverrideHeaders = Type.Object(overrideHeaders);
const SingleOverrideHeaders = Type.Object({
  ...overrideHeaders,
  'Workflow-RunId': Type.Optional(ClientSuppliedId(LIMITS.maxRunIdLength, { description: 'Id of the new run.' })),
});

export const RECOVER_TEXTS = {
  resume: {
    single: 'Resume a failed run from the point of failure',
    bulk: 'Resume failed runs from the point of failure',
    steps: 'Results of completed steps are kept; only failed or pending steps run again, with the given overrides.',
  },
  restart: {
    single: 'Restart a failed run from the beginning',
    bulk: 'Restart failed runs from the beginning',
    steps: 'Earlier results are discarded. All steps run again from the first step, with the original configuration and payload.',
  },
} as const;

export const OVERRIDE_FAMILIES = Object.freeze({
  [FAILURE_CALLBACK_FORWARD]: 'Sent as a header of the failure callback, without the prefix. Requires `Failure-Callback`.',
});

interface OverrideInput {
  readonly headers: StaticDecode<typeof OverrideHeaders>;
  readonly headersByFamily: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Returns the overrides. Throws ApiError when the failure callback is not allowed. */
export function overridesOf({ headers, headersByFamily }: OverrideInput, destinationContext: DestinationContext): RunOverrides {
  const failureCallback = headers['Failure-Callback'];
  const forwardedHeaders = headersByFamily[FAILURE_CALLBACK_FORWARD] ?? {};
  if (failureCallback !== undefined) checkDestination(failureCallback, 'Failure-Callback', destinationContext);
  else if (Object.keys(forwardedHeaders).length > 0) {
    const { dialect } = destinationContext.request;
    const [familyName, callbackName] = [dialect.spell(FAILURE_CALLBACK_FORWARD), dialect.spell('Failure-Callback')];
    throw new ApiError('bad-header', `${familyName}* requires ${callbackName}, which is missing`);
  }
  return {
    ...valuesOf<Pick<RunOverrides, OverrideSetting>>(OVERRIDE_HEADERS, headers, 'none'),
    delayMs: headers.Delay,
    failureCallback: failureCallback === undefined ? undefined : { url: failureCallback, headers: forwardedHeaders },
    flowControlKey: headers['Flow-Control-Key'],
    flowControlLimits: headers['Flow-Control-Value'],
  };
}

/** Creates the new runs and returns them. Throws ApiError if they cannot be created. */
export async function recover(
  command: RecoverCommand,
  context: ApiContext,
  request: RequestContext,
): Promise<readonly RunReference[]> {
  const { instanceId } = command;
  const runs = command.dlqIds.length;
  if (runs > 0) await allowOverrides(context, instanceId, command.overrides);
  const runAdmission = await allowRuns(context, instanceId, runs);
  const outcome = await startAllowedRuns(
    context,
    { instanceId, runs, runAdmission },
    () => context.service.deadLetters.recover({ ...command, admittedAt: runAdmission.at }),
    (result) => (result.kind === 'recovered' ? result.runs.length : 0),
  );
  switch (outcome.kind) {
    case 'recovered':
      return outcome.runs;
    case 'missing':
      throw deadLetterNotFound(outcome.dlqIds);
    case 'run-id-taken':
      throw new ApiError(
        'run-id-taken',
        `an active run already has the id ${quoteValue(outcome.run.workflowRunId)}; choose another id, or wait until that run has ended`,
      );
    case 'no-flow-control-key': {
      const [valueName, keyName] = [request.dialect.spell('Flow-Control-Value'), request.dialect.spell('Flow-Control-Key')];
      const message = `${valueName} requires ${keyName}, because the run of the dead letter ${outcome.dlqId} has no flow control key; nothing was changed`;
      throw new ApiError('bad-header', message);
    }
  }
}

function singleOperation(kind: RecoverKind): Operation {
  const texts = RECOVER_TEXTS[kind];
  return operation({
    operationId: kind === 'resume' ? 'resumeDeadLetter' : 'restartDeadLetter',
    audit: change(`dead-letter.${kind}`, 'dlqId'),
    tag: 'Dead letter queue',
    summary: texts.single,
    description: `Removes the entry from the queue and creates a new run. ${texts.steps}`,
    method: 'POST',
    path: `/v2/workflows/dlq/${kind}/{dlqId}`,
    otherPaths: [`/v2/dlq/${kind}/{dlqId}`],
    unknownQuery: 'refuse',
    pathParameters: DlqIdPath,
    headers: SingleOverrideHeaders,
    headerFamilies: OVERRIDE_FAMILIES,
    responses: { 200: RunReferenceSchema },
    errors: [
      'bad-parameter',
      'bad-header',
      'bad-expression',
      'bad-url',
      'blocked-address',
      'budget-exceeded',
      'storage-quota-exceeded',
      'too-many-flow-control-keys',
      'not-found',
      'run-id-taken',
      'daily-limit-reached',
      'too-many-active-runs',
    ],
    async handle({ path: { dlqId }, headers, headersByFamily, request }, context, { instanceId }) {
      const overrides = overridesOf({ headers, headersByFamily }, { context, request, instanceId });
      const workflowRunId = headers['Workflow-RunId'];
      const runs = await recover(
        { kind, instanceId, dlqIds: [dlqId], onMissing: 'fail', overrides, workflowRunId },
        context,
        request,
      );
      const [run] = runs;
      if (!run) throw new Error(`the ${kind} of ${dlqId} created no run`);
      return respond(200, presentReference(run));
    },
  });
}

function bulkOperation(kind: RecoverKind): Operation {
  const texts = RECOVER_TEXTS[kind];
  return operation({
    operationId: kind === 'resume' ? 'resumeDeadLetters' : 'restartDeadLetters',
    audit: bulkChange(`dead-letter.${kind}-many`),
    tag: 'Dead letter queue',
    summary: texts.bulk,
    description: `Processes at most ${LIMITS.bulkMax} entries per request, oldest first. Repeat the request with the returned cursor and the same filters until the cursor is empty. Covers the entries that existed at the first request. ${texts.steps} Unknown parameters are rejected, because a misspelled filter would match everything.`,
    method: 'POST',
    path: `/v2/workflows/dlq/${kind}`,
    unknownQuery: 'refuse',
    query: kind === 'resume' ? BulkByRunIdPrefix : BulkByRunId,
    headers: OverrideHeaders,
    headerFamilies: OVERRIDE_FAMILIES,
    responses: { 200: RecoveredRuns },
    errors: [
      'bad-parameter',
      'bad-cursor',
      'bad-header',
      'bad-expression',
      'bad-url',
      'blocked-address',
      'budget-exceeded',
      'storage-quota-exceeded',
      'too-many-flow-control-keys',
      'not-found',
      'daily-limit-reached',
      'too-many-active-runs',
    ],
    async handle({ query, headers, headersByFamily, request }, context, { instanceId }) {
      const overrides = overridesOf({ headers, headersByFamily }, { context, request, instanceId });
      const command = { kind, instanceId, overrides } as const;
      if (query.dlqIds !== undefined) {
        refuseCursorWithIds(query.cursor);
        const dlqIds = distinctDlqIds(query.dlqIds);
        refuseSmallerCount(dlqIds, query.count);
        const runs = await recover({ ...command, dlqIds, onMissing: 'fail' }, context, request);
        return respond(200, { workflowRuns: runs.map(presentReference), cursor: '' });
      }
      const take: TakeEntries<RunReference> = (dlqIds) => recover({ ...command, dlqIds, onMissing: 'skip' }, context, request);
      const bulkQuery: BulkQuery = query;
      const matchRunId = kind === 'resume' ? 'prefix' : 'exact';
      const page = await runBulk(context, { operation: `dlq-${kind}`, instanceId, query: bulkQuery, matchRunId }, take);
      return respond(200, { workflowRuns: page.done.map(presentReference), cursor: page.cursor });
    },
  });
}

export const recoverOperations: readonly Operation[] = [
  bulkOperation('resume'),
  bulkOperation('restart'),
  singleOperation('resume'),
  singleOperation('restart'),
];
