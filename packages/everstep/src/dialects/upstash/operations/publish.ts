/** The two requests with which the SDKs publish all that they publish: one item, or a batch of them. */

import Type, { type Static } from 'typebox';
import type { Caller } from '../../../accounts/authority.js';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { ErrorBody } from '../../../contract/errors.js';
import { allowCall, allowRuns, allowSize, startAllowed } from '../../../http-api/allowance.js';
import { IS_ITS_OWN_RECORD } from '../../../http-api/audited/audit-rule.js';
import { requireScope } from '../../../http-api/authentication.js';
import { type ApiContext, answer, type Operation, operation, type RequestContext } from '../../../http-api/operation.js';
import { destinationOf } from '../../../http-api/operations/trigger.js';
import { readJson, validate } from '../../../http-api/parameters/json-body.js';
import { allowNames } from '../../../http-api/quotas/named-things.js';
import { PUBLISH_PATH } from '../../../http-api/target.js';
import { type BatchItem, type ItemAnswer, kindOf } from './batch-items.js';
import { headerText } from './item-headers.js';
import { publishItems, publishOne } from './publish-items.js';
import { requireSdkToken } from './sdk-token.js';
import { Published, PublishedToGroup } from './shapes.js';
import { checkVersion } from './step-refusals.js';
import { readSubmissions, submit } from './submissions.js';
import { startCommand } from './workflow-triggers.js';

const TRIGGERED_BY_SDK = 'upstash-workflow-trigger-by-sdk';
const RUN_ID = 'upstash-workflow-runid';

const Item = Type.Union([Published, PublishedToGroup, ErrorBody]);

const WireItem = Type.Object({
  destination: Type.String({ minLength: 1 }),
  body: Type.Optional(Type.Unknown()),
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  queue: Type.Optional(Type.String()),
});
const WireItems = Type.Array(WireItem, { maxItems: LIMITS.maxPlannedAtOnce });

/** What may stand in a header: anything else could not be sent on. */
const HEADER_VALUE = /^(?:[\t\x20-\x7e\x80-\u{10ffff}](?<!\p{Surrogate}))*$/u;

function itemOf({ destination, body, headers = {}, queue }: Static<typeof WireItem>): BatchItem {
  const entries = Object.entries(headers);
  if (entries.length > LIMITS.maxHeaderCount)
    throw new ApiError(
      'bad-body',
      `headers must not have more than ${LIMITS.maxHeaderCount} entries, and an item has ${entries.length}`,
    );
  for (const [name, value] of entries) {
    if (!HEADER_VALUE.test(value)) throw new ApiError('bad-header', `${name} has characters that no header may have`);
  }
  const text = body === undefined || body === null ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  return {
    destination,
    body: Buffer.from(text),
    // Names are as good in any case; text beyond ASCII is put as Node would have received it.
    headers: Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), Buffer.from(value).toString('latin1')])),
    queue: queue ?? null,
  };
}

/** Who publishes, and with what. */
interface Publisher {
  readonly context: ApiContext;
  readonly request: RequestContext;
  readonly caller: Caller;
}

/** Null when it is a run to be started. */
async function introduce({ headers }: BatchItem, { context, caller }: Publisher): Promise<ItemAnswer | null> {
  const workflowRunId = headerText(headers, RUN_ID);
  if (headers[TRIGGERED_BY_SDK] !== 'true' || workflowRunId === undefined) return null;
  checkVersion(headers);
  requireScope(caller, 'write');
  const { instanceId } = caller;
  const outcome = await context.service.submit({
    instanceId,
    workflowRunId,
    submission: { done: [], planned: [], introduction: true },
  });
  const messageId = context.service.newId('msg');
  // One that has ended meanwhile is none to be started again.
  return outcome === 'taken' ? { messageId } : { messageId, deduplicated: true };
}

/** All of them are read before the first is started: a client takes the answer for the start of all. */
async function startAll(items: readonly BatchItem[], { context, request, caller }: Publisher): Promise<ItemAnswer[]> {
  if (items.length === 0) return [];
  const commands = items.map(({ destination, headers, body }) =>
    startCommand({ destination, destinationName: 'the workflow URL', headers, body }, context, request, caller),
  );
  const { instanceId } = caller;
  for (const { payload } of commands) allowSize(context, instanceId, payload.body);
  await allowNames(
    context,
    instanceId,
    commands.map(({ settings }) => settings),
  );
  const runs = commands.length;
  const letIn = await allowRuns(context, instanceId, runs);
  const outcomes = await startAllowed(
    context,
    { instanceId, runs, letIn },
    () => Promise.all(commands.map((command) => context.service.trigger({ ...command, letInAt: letIn.at }))),
    (all) => all.filter(({ kind }) => kind === 'started').length,
  );
  return outcomes.map(({ kind, run }) => ({
    messageId: `msg_${run.runKey}`,
    ...(kind === 'deduplicated' ? { deduplicated: true as const } : {}),
  }));
}

/** Throws ApiError when an item that belongs to a run, or starts one, is not acceptable. */
async function publishAll(items: readonly BatchItem[], publisher: Publisher): Promise<readonly ItemAnswer[]> {
  const { context, request, caller } = publisher;
  const answers: ItemAnswer[] = new Array(items.length);
  const placed = items.map((item, place) => ({ item, place, kind: kindOf(item) }));
  for (const { item, kind } of placed) if (kind !== 'message') requireSdkToken(item.headers, request);
  const ofRuns = placed.filter(({ kind }) => kind === 'submission' || kind === 'call' || kind === 'invoke');
  const begun = placed.filter(({ kind }) => kind === 'trigger');
  const messages = placed.filter(({ kind }) => kind === 'message');
  if (begun.length + messages.length > 0) allowCall(context, caller.instanceId);
  const most = LIMITS.maxBatchItems;
  if (begun.length + messages.length > most)
    throw new ApiError(
      'bad-body',
      `a batch takes at most ${most} messages and runs, and this has ${begun.length + messages.length}`,
    );

  const submissions = readSubmissions(
    ofRuns.map(({ item }) => item),
    context.service.now(),
  );
  await Promise.all([...submissions].map(([runId, submission]) => submit(runId, submission, context, caller)));
  for (const { place } of ofRuns) answers[place] = { messageId: context.service.newId('msg') };

  const starts: typeof begun = [];
  for (const each of begun) {
    const introduced = await introduce(each.item, publisher);
    if (introduced) answers[each.place] = introduced;
    else starts.push(each);
  }
  const started = await startAll(
    starts.map(({ item }) => item),
    publisher,
  );
  starts.forEach(({ place }, at) => {
    const result = started[at];
    if (result) answers[place] = result;
  });

  if (messages.length > 0) {
    const published = await publishItems(
      messages.map(({ item }) => item),
      context,
      request,
      caller,
    );
    messages.forEach(({ place }, at) => {
      const result = published[at];
      if (result) answers[place] = result;
    });
  }
  return answers;
}

const batch = operation({
  operationId: 'publishBatch',
  audit: IS_ITS_OWN_RECORD,
  scope: 'trigger',
  tag: 'Messages',
  summary: 'Publish many items',
  description:
    'Plain messages, runs to be started, and what workflow endpoints submit; the headers of an item tell which it is. Answered when all of it is durable, each item in its place.',
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
    const given = readJson(body, headerText(request.headers, 'content-type'));
    if (given === undefined) throw new ApiError('bad-body', 'a JSON body is missing');
    const items = validate(WireItems, given, 'the body').map(itemOf);
    return answer(200, [...(await publishAll(items, { context, request, caller }))]);
  },
});
const one = operation({
  operationId: 'publish',
  audit: IS_ITS_OWN_RECORD,
  scope: 'trigger',
  tag: 'Messages',
  summary: 'Publish one item',
  description: 'A plain message to a URL or to a URL group, or a run that a step invokes.',
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
    // Alone it is refused with the status of its error.
    if (kindOf(item) === 'message') {
      allowCall(context, caller.instanceId);
      return answer(200, await publishOne(item, context, request, caller));
    }
    const [published] = await publishAll([item], { context, request, caller });
    if (published === undefined) throw new Error('an item was not answered');
    if ('error' in published) throw new ApiError('bad-request', published.error);
    return answer(200, published);
  },
});

export const publishItemOperations: readonly Operation[] = [one, batch];
