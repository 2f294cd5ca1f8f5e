/** Starts many runs in one request. The response has one result per item; an invalid item does not affect the others. */

import Type, { type Static } from 'typebox';
import type { Caller } from '../../../accounts/tokens/caller.js';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { ErrorBody } from '../../../contract/errors.js';
import { NO_OTHER_PROPERTIES } from '../../../contract/fields/no-other-properties.js';
import { TriggeredRun } from '../../../contract/runs.js';
import { allowSize } from '../../admission/plan-limits.js';
import { RECORDED_BY_RUN } from '../../audited/audit-rule.js';
import { type ApiContext, operation, type RequestContext, respond } from '../../operation.js';
import { validate } from '../../parameters/json-body.js';
import { readPrefixedHeaders } from '../../parameters/prefixed-headers.js';
import { allowNamedObjects, NewNames } from '../../quotas/named-objects.js';
import { TRIGGER_FAMILIES, TriggerHeaders } from './setting-headers.js';
import { startTriggeredRun } from './trigger.js';
import { presentTriggeredRun, triggerCommand } from './trigger-command.js';

const FAMILY_NAMES = Object.keys(TRIGGER_FAMILIES);

const BatchItem = Type.Object(
  {
    destination: Type.String({
      description: 'URL of the workflow: an absolute http or https URL, or `worker://<app>/<workflow>`.',
    }),
    body: Type.Optional(
      Type.Unknown({
        description:
          'Payload. A string is sent unchanged. Any other JSON value is sent as JSON text with the content type application/json.',
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'Headers of a trigger by name, including Content-Type.' }),
    ),
  },
  NO_OTHER_PROPERTIES,
);
type BatchItem = Static<typeof BatchItem>;
const ItemResults = Type.Array(Type.Union([TriggeredRun, ErrorBody]));
type ItemResult = Static<typeof ItemResults>[number];

function payloadOf(body: unknown): { readonly bytes: Uint8Array; readonly contentType: string | null } {
  if (body === undefined) return { bytes: new Uint8Array(), contentType: null };
  if (typeof body === 'string') return { bytes: Buffer.from(body), contentType: null };
  return { bytes: Buffer.from(JSON.stringify(body)), contentType: 'application/json' };
}

/** Characters that a header value may contain. Other characters cannot be forwarded. */
const HEADER_VALUE = /^(?:[\t\x20-\x7e\x80-\u{10ffff}](?<!\p{Surrogate}))*$/u;

function headersOf(item: BatchItem): Readonly<Record<string, string>> {
  const entries = Object.entries(item.headers ?? {});
  if (entries.length > LIMITS.maxHeaderCount)
    throw new ApiError(
      'bad-body',
      `"headers" must not have more than ${LIMITS.maxHeaderCount} entries; this item has ${entries.length}`,
    );
  for (const [name, value] of entries) {
    if (!HEADER_VALUE.test(value))
      throw new ApiError('bad-header', `${name} contains characters that are not allowed in a header`);
  }
  // Header names are case-insensitive. Values beyond ASCII are converted to the form in which Node receives them.
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), Buffer.from(value).toString('latin1')]));
}

/** The request that contains the items, and its caller. */
interface BatchRequest {
  readonly context: ApiContext;
  readonly request: RequestContext;
  readonly caller: Caller;
  readonly newNames: NewNames;
}

async function triggerItem(rawItem: unknown, { context, request, caller, newNames }: BatchRequest): Promise<ItemResult> {
  const item = validate(BatchItem, rawItem, 'the item');
  const itemHeaders = headersOf(item);
  const { values, families } = readPrefixedHeaders(TriggerHeaders, FAMILY_NAMES, itemHeaders, request.dialect);
  if (values['Wait-For-Result'] !== undefined) {
    const name = request.dialect.spell('Wait-For-Result');
    throw new ApiError(
      'bad-header',
      `${name} cannot be used in a batch; trigger the run on its own, or request its result later`,
    );
  }
  const { bytes, contentType } = payloadOf(item.body);
  const command = triggerCommand(
    {
      destination: item.destination,
      destinationName: 'destination',
      headers: values,
      headersByFamily: families,
      body: bytes,
      contentType: itemHeaders['content-type'] ?? contentType,
      itemHeaders,
    },
    context,
    request,
    caller,
  );
  allowSize(context, caller.instanceId, bytes);
  // Items start at the same time, so none of them sees the names that the others create.
  await allowNamedObjects(context, caller.instanceId, [command.settings], newNames);
  return presentTriggeredRun(await startTriggeredRun(command, context), command, context);
}

export const triggerRuns = operation({
  operationId: 'triggerRuns',
  audit: RECORDED_BY_RUN,
  scope: 'trigger',
  tag: 'Runs',
  summary: 'Start multiple workflow runs',
  description: `Starts at most ${LIMITS.maxBatchItems} runs. The response contains one entry per item, in the same order: the run or an error.`,
  method: 'POST',
  path: '/v2/batch/trigger',
  unknownQuery: 'refuse',
  body: {
    kind: 'json',
    required: true,
    maxBytes: LIMITS.maxBodyBytes,
    schema: Type.Array(Type.Unknown(), {
      maxItems: LIMITS.maxBatchItems,
      description: 'Items of the form `{ destination, body, headers }`.',
    }),
  },
  responses: { 200: ItemResults },
  errors: ['bad-parameter', 'bad-body', 'body-too-large', 'unsupported-media-type'],
  async handle({ body, request }, context, caller) {
    const batchRequest = { context, request, caller, newNames: new NewNames() };
    const results = (body ?? []).map(async (item, index): Promise<ItemResult> => {
      try {
        return await triggerItem(item, batchRequest);
      } catch (error) {
        if (error instanceof ApiError) return { error: error.message };
        context.log.error({ item: index, error: String(error) }, 'could not trigger a batch item');
        return {
          error: 'internal error; the run may have been started: check first, or repeat it with the same run or deduplication id',
        };
      }
    });
    return respond(200, await Promise.all(results));
  },
});
