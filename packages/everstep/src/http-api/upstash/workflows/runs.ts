/** Operations of workflow endpoints on their own run (journal, end, wait), and starting a run without the SDK. */

import { parseJson } from '@everstep/sdk/protocol';
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { TriggeredRun } from '../../../contract/runs.js';
import { InvalidFieldError } from '../../../dialects/frame-fields.js';
import { type WireEntry, wireJournal } from '../../../dialects/upstash/journal.js';
import type { StepTask, Task } from '../../../engine/runs/run.js';
import { allowCall, allowSize } from '../../admission/plan-limits.js';
import { change, RECORDED_BY_RUN, RECORDED_BY_STEP } from '../../audited/audit-rule.js';
import { type Operation, operation, respond } from '../../operation.js';
import { RunIdPath } from '../../operations/runs/runs.js';
import { destinationOf, startTriggeredRun } from '../../operations/triggers/trigger.js';
import { presentTriggeredRun } from '../../operations/triggers/trigger-command.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { StoredText } from '../../parameters/values.js';
import { StreamedList, streamedResponse } from '../../responses/streamed-json.js';
import { TRIGGER_PATH, WAIT_PATH } from '../../server/target.js';
import { headerText } from '../item-headers.js';
import { longJournal } from './long-journal.js';
import { readWait } from './planned-reader.js';
import { requireSdkToken } from './sdk-token.js';
import { checkVersion, runOverError, stepsRefusedError, withStepRefusals } from './step-refusals.js';
import { submit } from './submissions.js';
import { startCommand } from './workflow-triggers.js';

const RUN_ID_HEADER = 'upstash-workflow-runid';

const isStep = (task: Task): task is StepTask => 'name' in task;

/** Operation with which an endpoint fetches a journal that is too long for a delivery. */
const getJournal = operation({
  operationId: 'getRunSteps',
  showsPayloads: true,
  tag: 'Runs',
  summary: 'Get the steps of an active run',
  description:
    'Returns the payload, every recorded step in order, and the planned steps, each with its message id. A run that has ended has no steps.',
  method: 'GET',
  path: '/v2/workflows/runs/{workflowRunId}',
  dialect: 'upstash',
  countsCalls: true,
  unknownQuery: 'ignore',
  pathParameters: RunIdPath,
  responses: {
    200: Type.Array(
      Type.Object({
        messageId: Type.String(),
        body: Type.String({ description: 'Base64. In the first entry, the payload; in all others, a step as JSON.' }),
        callType: Type.Literal('step'),
      }),
    ),
  },
  errors: ['bad-parameter', 'not-found'],
  // The response contains fields that the run redacts elsewhere.
  needsReadWrite: true,
  async handle({ path: { workflowRunId }, request }, { reads }, { instanceId }) {
    const noActiveRun = () => new ApiError('not-found', `no active run has the id ${quoteValue(workflowRunId)}`);
    const record = await reads.runs.findRun({ instanceId, workflowRunId });
    if (record?.status !== 'active' || record.dialect !== 'upstash') throw noActiveRun();
    const runKey = record.key;
    const run = await reads.runs.loadRun({ runKey });
    const payloadHead = await reads.runs.payloadHead({ runKey });
    if (!run || !payloadHead || run.status !== 'active') throw noActiveRun();
    const openSteps = [...run.tasks.values()].filter(isStep).sort((a, b) => a.slot - b.slot);
    const { journalLength, journalBytes } = run;
    const isShort = journalLength <= LIMITS.partRows && journalBytes + payloadHead.bodyBytes <= LIMITS.partBytes;
    const { longestOutBytes } = isShort ? { longestOutBytes: 0 } : await reads.runs.journalSize({ runKey });
    const bytes = isShort ? journalBytes : Math.max(LIMITS.partBytes, longestOutBytes);
    // A running workflow waits for the response, so the request waits for memory until the endpoint would time out.
    await request.reserve(2 * (bytes + payloadHead.bodyBytes), { waitMs: LIMITS.requestTimeoutMs });
    const payload = await reads.runs.loadPayload({ runKey });
    if (!payload) throw noActiveRun();
    const source = { instanceId, workflowRunId, runKey, payload, openSteps };
    if (!isShort)
      return respond(200, streamedResponse<WireEntry[]>(new StreamedList(longJournal(reads.runs, source, journalLength))));
    const recordedSteps = (await reads.runs.loadJournal({ runKey, from: 0 })).slice(0, journalLength);
    return respond(200, [...wireJournal({ ...source, recordedSteps })]);
  },
});

const endRun = operation({
  operationId: 'endRun',
  audit: change('run.cancel', 'workflowRunId', { shouldRecord: ({ query }) => query.cancel !== false }),
  tag: 'Runs',
  summary: 'End a run, or cancel it',
  description:
    'With cancel=false, the endpoint reports that the workflow has ended. The body is the return value as JSON. Ending a run that has already ended has no effect. A run that waits for a step, such as a sleep, is not ended: the response is steps-refused.',
  method: 'DELETE',
  path: '/v2/workflows/runs/{workflowRunId}',
  dialect: 'upstash',
  // The SDK sends no prefixed header.
  ownParameters: ['cancel'],
  countsCalls: true,
  unknownQuery: 'ignore',
  pathParameters: RunIdPath,
  query: Type.Object({
    cancel: Type.Optional(Type.Boolean({ description: 'True by default.' })),
  }),
  // Larger than the maximum result, so that the error can report the exceeded limit.
  body: { kind: 'bytes', maxBytes: LIMITS.maxBatchBytes, description: 'JSON; empty if the workflow returned nothing.' },
  responses: { 200: Type.Object({ cancelled: Type.Integer({ description: 'Number of canceled runs.' }) }) },
  errors: ['bad-parameter', 'body-too-large', 'not-found', 'run-over', 'steps-refused'],
  async handle({ path: { workflowRunId }, query, body }, context, caller) {
    const { service } = context;
    if (query.cancel ?? true) {
      allowCall(context, caller.instanceId);
      const { kind } = await service.runs.cancel({ instanceId: caller.instanceId, workflowRunId });
      if (kind === 'not-found') throw new ApiError('not-found', `no run has the id ${quoteValue(workflowRunId)}`);
      return respond(200, { cancelled: kind === 'canceled' ? 1 : 0 });
    }
    if (body.byteLength > LIMITS.maxStepResultBytes)
      throw stepsRefusedError(
        `the workflow returned ${body.byteLength} bytes, but the limit is ${LIMITS.maxStepResultBytes} (maxStepResultBytes)`,
      );
    const text = body.toString('utf8');
    const resultField = text === '' ? {} : { result: jsonOf(text) };
    const submission = { done: [], planned: [], end: { kind: 'finished', ...resultField } } as const;
    const outcome = await service.runs.submit({ instanceId: caller.instanceId, workflowRunId, submission });
    // Ending a run twice is allowed, because the response to the first request may have been lost.
    if (outcome === 'not-found') throw runOverError();
    if (outcome === 'end-not-requested')
      throw stepsRefusedError(
        'the run waits for a step, so its code cannot have ended; check that the workflow awaits its steps. Omit cancel=false to cancel the run',
      );
    return respond(200, { cancelled: 0 });
  },
});

/** Returns the text as JSON. Clients other than the SDK may send any text. */
function jsonOf(text: string): string {
  try {
    parseJson(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

/** Error for an event id that no notification could reach, because the SDK does not encode it. */
const invalidEventId = (id: string): InvalidFieldError =>
  new InvalidFieldError(
    `the event id ${quoteValue(id)} contains a ?, or starts or ends with a /. @upstash/workflow does not encode it, so no notification could reach it. Choose another id, or pass encodeURIComponent(id) to waitForEvent and to notify`,
  );

const waitForEvent = operation({
  operationId: 'waitForEvent',
  audit: RECORDED_BY_STEP,
  tag: 'Events',
  summary: 'Wait for an event in a step',
  description: 'The event id can contain slashes, encoded or not.',
  method: 'POST',
  path: `${WAIT_PATH}{eventId}`,
  dialect: 'upstash',
  countsCalls: true,
  unknownQuery: 'ignore',
  pathParameters: Type.Object({
    eventId: StoredText(LIMITS.maxEventIdLength, { description: 'Id of the event, percent-encoded' }),
  }),
  body: { kind: 'bytes', description: 'JSON: { step, timeout }.' },
  responses: { 200: Type.Object({ messageId: Type.String() }) },
  errors: ['body-too-large', 'run-over', 'steps-refused'],
  pathErrorCode: 'steps-refused',
  async handle({ path: { eventId }, body, request }, context, caller) {
    requireSdkToken(request.headers, request);
    const { workflowRunId, step } = withStepRefusals(() => {
      checkVersion(request.headers);
      const { path, query } = request.target;
      const id = path.slice(WAIT_PATH.length);
      if (query !== '' || id.startsWith('/') || id.endsWith('/')) throw invalidEventId(`${id}${query && `?${query}`}`);
      return readWait(eventId, body, headerText(request.headers, RUN_ID_HEADER));
    });
    await submit(workflowRunId, { submission: { done: [], planned: [step] } }, context, caller);
    return respond(200, { messageId: context.service.newId('msg') });
  },
});

const startWorkflow = operation({
  operationId: 'startWorkflow',
  audit: RECORDED_BY_RUN,
  scope: 'trigger',
  tag: 'Runs',
  summary: 'Start a workflow run',
  description:
    'Starts a run without the SDK. If the request does not state a version of the step protocol, Everstep first calls the endpoint to determine it.',
  method: 'POST',
  path: `${TRIGGER_PATH}{workflowUrl}`,
  dialect: 'upstash',
  unknownQuery: 'part-of-path',
  pathParameters: Type.Object({
    workflowUrl: Type.String({
      description: 'URL of the workflow, raw or percent-encoded: an absolute http or https URL, or `worker://<app>/<workflow>`.',
    }),
  }),
  body: { kind: 'bytes', description: 'Payload of the run: any bytes, of any content type.' },
  responses: { 200: TriggeredRun },
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
  ],
  async handle({ body, request }, context, caller) {
    const destination = destinationOf(request.target);
    const startRequest = { destination, destinationName: 'the workflow URL', headers: request.headers, body };
    const command = startCommand(startRequest, context, request, caller);
    allowSize(context, caller.instanceId, body);
    return respond(200, presentTriggeredRun(await startTriggeredRun(command, context), command, context));
  },
});

export const runOperations: readonly Operation[] = [startWorkflow, getJournal, endRun, waitForEvent];
