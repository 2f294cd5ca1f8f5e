/** The two operations with which the SDKs publish one item or a batch of items. */

import Type, { type Static } from 'typebox';
import type { Caller } from '../../../accounts/tokens/caller.js';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { ErrorBody } from '../../../contract/errors.js';
import { requireScope } from '../../admission/authentication.js';
import { allowCall, allowRuns, allowSize, startAllowedRuns } from '../../admission/plan-limits.js';
import { RECORDED_BY_RUN } from '../../audited/audit-rule.js';
import { type ApiContext, type Operation, operation, type RequestContext, respond } from '../../operation.js';
import { destinationOf } from '../../operations/triggers/trigger.js';
import { readJson, validate } from '../../parameters/json-body.js';
import { allowNamedObjects } from '../../quotas/named-objects.js';
import { PUBLISH_PATH } from '../../server/target.js';
import { headerText } from '../item-headers.js';
import { Published, PublishedToGroup } from '../shapes.js';
import { requireSdkToken } from '../workflows/sdk-token.js';
import { checkVersion, stepRefusalOf } from '../workflows/step-refusals.js';
import { readSubmissions, submit } from '../workflows/submissions.js';
import { startCommand } from '../workflows/workflow-triggers.js';
import { type BatchItem, type ItemResult, kindOf } from './batch-items.js';
import { publishItems, publishOne } from './publish-items.js';

const TRIGGERED_BY_SDK = 'upstash-workflow-trigger-by-sdk';
const RUN_ID_HEADER = 'upstash-workflow-runid';

const Item = Type.Union([Published, PublishedToGroup, ErrorBody]);

const WireItem = Type.Object({
  destination: Type.String({ minLength: 1 }),
  body: Type.Optional(Type.Unknown()),
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  queue: Type.Optional(Type.String()),
});
const WireItems = Type.Array(WireItem, { maxItems: LIMITS.maxPlannedAtOnce });

/** Characters allowed in a header value. A value with any other character could not be forwarded. */
const HEADER_VALUE = /^(?:[\t\x20-\x7e\x80-\u{10ffff}](?<!\p{Surrogate}))*$/u;

function itemOf({ destination, body, headers = {}, queue }: Static<typeof WireItem>): BatchItem {
  const entries = Object.entries(headers);
  if (entries.length > LIMITS.maxHeaderCount)
    throw new ApiError(
      'bad-body',
      `headers can have at most ${LIMITS.maxHeaderCount} entries, but an item has ${entries.length}`,
    );
  for (const [name, value] of entries) {
    if (!HEADER_VALUE.test(value))
      throw new ApiError('bad-header', `${name} has a value with characters that a header cannot contain`);
  }
  const text = body === undefined || body === null ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  return {
    destination,
    body: Buffer.from(text),
    // Header names are case-insensitive. Non-ASCII text is converted to what Node would have received.
    headers: Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), Buffer.from(value).toString('latin1')])),
    queue: queue ?? null,
  };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

/** Returns whether an endpoint submits the item, which may be invalid, for its run. */
function isOfRun(item: unknown): boolean {
  if (!isRecord(item) || !isRecord(item.headers)) return false;
  const headers = Object.fromEntries(
    Object.entries(item.headers).map(([name, value]): [string, string] => [
      name.toLowerCase(),
      typeof value === 'string' ? value : '',
    ]),
  );
  const kind = kindOf({ headers });
  return kind !== 'message' && (kind !== 'trigger' || headers[TRIGGERED_BY_SDK] === 'true');
}

function readItems(json: unknown): readonly BatchItem[] {
  try {
    return validate(WireItems, json, 'the body').map(itemOf);
  } catch (error) {
    throw Array.isArray(json) && json.some(isOfRun) ? stepRefusalOf(error) : error;
  }
}

/** The request that publishes items, and its caller. */
interface Publisher {
  readonly context: ApiContext;
  readonly request: RequestContext;
  readonly caller: Caller;
}

/** Records that the endpoint of a run introduced itself. Returns null if the item starts a run instead. */
async function introduce({ headers }: BatchItem, { context, caller }: Publisher): Promise<ItemResult | null> {
  const workflowRunId = headerText(headers, RUN_ID_HEADER);
  if (headers[TRIGGERED_BY_SDK] !== 'true' || workflowRunId === undefined) return null;
  checkVersion(headers);
  requireScope(caller, 'write');
  const { instanceId } = caller;
  const outcome = await context.service.runs.submit({
    instanceId,
    workflowRunId,
    submission: { done: [], planned: [], introduction: true },
  });
  const messageId = context.service.newId('msg');
  // A run that ended in the meantime is not started again.
  return outcome === 'taken' ? { messageId } : { messageId, deduplicated: true };
}

/** Reads all items before it starts the first run: a client takes the response as confirmation that all runs started. */
async function startAll(items: readonly BatchItem[], { context, request, caller }: Publisher): Promise<ItemResult[]> {
  if (items.length === 0) return [];
  const commands = items.map(({ destination, headers, body }) =>
    startCommand({ destination, destinationName: 'the workflow URL', headers, body }, context, request, caller),
  );
  const { instanceId } = caller;
  for (const { payload } of commands) allowSize(context, instanceId, payload.body);
  await allowNamedObjects(
    context,
    instanceId,
    commands.map(({ settings }) => settings),
  );
  const runs = commands.length;
  const runAdmission = await allowRuns(context, instanceId, runs);
  const outcomes = await startAllowedRuns(
    context,
    { instanceId, runs, runAdmission },
    () => Promise.all(commands.map((command) => context.service.runs.trigger({ ...command, admittedAt: runAdmission.at }))),
    (startOutcomes) => startOutcomes.filter(({ kind }) => kind === 'started').length,
  );
  return outcomes.map(({ kind, run }) => ({
    messageId: `msg_${run.runKey}`,
    ...(kind === 'deduplicated' ? { deduplicated: true as const } : {}),
  }));
}

/** Publishes all items. Throws ApiError if an item that belongs to a run, or starts one, is invalid. */
async function publishAll(items: readonly BatchItem[], publisher: Publisher): Promise<readonly ItemResult[]> {
  const { context, request, caller } = publisher;
  const results: ItemResult[] = new Array(items.length);
  const indexedItems = items.map((item, index) => ({ item, index, kind: kindOf(item) }));
  for (const { item, kind } of indexedItems) if (kind !== 'message') requireSdkToken(item.headers, request);
  const submittedItems = indexedItems.filter(({ kind }) => kind === 'submission' || kind === 'call' || kind === 'invoke');
  const triggers = indexedItems.filter(({ kind }) => kind === 'trigger');
  const messages = indexedItems.filter(({ kind }) => kind === 'message');
  if (triggers.length + messages.length > 0) allowCall(context, caller.instanceId);
  const maxItems = LIMITS.maxBatchItems;
  if (triggers.length + messages.length > maxItems)
    throw new ApiError(
      'bad-body',
      `a batch can contain at most ${maxItems} messages and runs, but this one contains ${triggers.length + messages.length}`,
    );

  const submissions = readSubmissions(
    submittedItems.map(({ item }) => item),
    context.service.now(),
  );
  await Promise.all([...submissions].map(([runId, runSubmission]) => submit(runId, runSubmission, context, caller)));
  for (const { index } of submittedItems) results[index] = { messageId: context.service.newId('msg') };

  const runStarts: typeof triggers = [];
  for (const trigger of triggers) {
    const introductionResult = await introduce(trigger.item, publisher);
    if (introductionResult) results[trigger.index] = introductionResult;
    else runStarts.push(trigger);
  }
  const startResults = await startAll(
    runStarts.map(({ item }) => item),
    publisher,
  );
  runStarts.forEach(({ index }, position) => {
    const result = startResults[position];
    if (result) results[index] = result;
  });

  if (messages.length > 0) {
    const messageResults = await publishItems(
      messages.map(({ item }) => item),
      context,
      request,
      caller,
    );
    messages.forEach(({ index }, position) => {
      const result = messageResults[position];
      if (result) results[index] = result;
    });
  }
  return results;
}

const publishBatch = operation({
  operationId: 'publishBatch',
  audit: RECORDED_BY_RUN,
  scope: 'trigger',
  tag: 'Messages',
  summary: 'Publish a batch of items',
  description:
    'Publishes plain messages, starts runs, and accepts submissions of workflow endpoints. The headers of an item determine its kind. The response is sent when everything is durable, and lists the results in the order of the items.',
  method: 'POST',
  path: '/v2/batch',
  dialect: 'upstash',
  countsCalls: true,
  unknownQuery: 'ignore',
  body: { kind: 'bytes', maxBytes: LIMITS.maxBatchBytes, description: 'JSON array of { destination, headers, body, queue }.' },
  responses: { 200: Type.Array(Item) },
  errors: [
    'bad-body',
    'bad-header',
    'bad-url',
    'bad-expression',
    'blocked-address',
    'body-too-large',
    'budget-exceeded',
    'storage-quota-exceeded',
    'too-many-flow-control-keys',
    'too-many-queues',
    'daily-limit-reached',
    'too-many-active-runs',
    'run-over',
    'steps-refused',
    'unsupported-media-type',
  ],
  async handle({ body, request }, context, caller) {
    const json = readJson(body, headerText(request.headers, 'content-type'));
    if (json === undefined) throw new ApiError('bad-body', 'the request body is missing; send a JSON array');
    return respond(200, [...(await publishAll(readItems(json), { context, request, caller }))]);
  },
});
const publishOperation = operation({
  operationId: 'publish',
  audit: RECORDED_BY_RUN,
  scope: 'trigger',
  tag: 'Messages',
  summary: 'Publish one item',
  description: 'Publishes a plain message to a URL or to a URL group, or starts a run that a step invokes.',
  method: 'POST',
  path: `${PUBLISH_PATH}{destination}`,
  dialect: 'upstash',
  countsCalls: true,
  unknownQuery: 'part-of-path',
  pathParameters: Type.Object({
    destination: Type.String({
      description: 'Absolute http or https URL, raw or percent-encoded, or the name of a URL group.',
    }),
  }),
  body: { kind: 'bytes', maxBytes: LIMITS.maxBatchBytes, description: 'Any bytes, of any content type.' },
  responses: { 200: Type.Union([Published, PublishedToGroup]) },
  errors: [
    'bad-body',
    'bad-header',
    'bad-url',
    'bad-expression',
    'blocked-address',
    'body-too-large',
    'budget-exceeded',
    'storage-quota-exceeded',
    'too-many-flow-control-keys',
    'too-many-queues',
    'daily-limit-reached',
    'too-many-active-runs',
    'not-found',
    'run-over',
    'steps-refused',
  ],
  async handle({ body, request }, context, caller) {
    const item: BatchItem = {
      destination: destinationOf(request.target, PUBLISH_PATH),
      headers: request.headers,
      body,
      queue: null,
    };
    // A single item is rejected with the status of its error.
    if (kindOf(item) === 'message') {
      allowCall(context, caller.instanceId);
      return respond(200, await publishOne(item, context, request, caller));
    }
    const [result] = await publishAll([item], { context, request, caller });
    if (result === undefined) throw new Error('an item has no result');
    if ('error' in result) throw new ApiError('bad-request', result.error);
    return respond(200, result);
  },
});

export const publishItemOperations: readonly Operation[] = [publishOperation, publishBatch];
