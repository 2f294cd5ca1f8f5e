/** Event log of messages. */
import Type, { type StaticDecode } from 'typebox';
import type { Caller } from '../../accounts/tokens/caller.js';
import { LIMITS } from '../../config/limits.js';
import { MESSAGE_FILTERS } from '../../contract/filters/message-filters.js';
import type { RunStatus } from '../../engine/runs/run.js';
import { MESSAGE_STATES, type MessageState } from '../../runtime/services/workflow-service.js';
import { type ApiContext, type Operation, operation, respond } from '../operation.js';
import { isEmptyRange, MessageOrder } from '../operations/filters.js';
import { queryFilters, storeFilterOf } from '../parameters/filters.js';
import { Cursor, Text } from '../parameters/values.js';
import { presentEvent } from './messages/present-message.js';
import { EventPage, type LogEntry, LogPage } from './shapes.js';

const TAG = 'Logs';
const DESCRIPTION =
  'Lists the newest message first, and the newest event of each page first. `order=oldest-first` reverses both. The events of one message are always on one page, so a page can be longer than count. With a filter by state, host or path, a page can be shorter or empty before the end. The last page has no cursor. Unknown parameters are ignored.';

const LogQuery = Type.Object({
  ...queryFilters(MESSAGE_FILTERS),
  order: MessageOrder,
  messageId: Type.Optional(Text(LIMITS.maxRunIdLength, { description: 'Id of the message' })),
  state: Type.Optional(
    Type.Enum([...MESSAGE_STATES, 'CANCELLED', 'CANCEL_REQUESTED'], {
      type: 'string',
      description: 'IN_PROGRESS includes ACTIVE, RETRY and ERROR. CANCELLED is an alias of CANCELED.',
    }),
  ),
  cursor: Type.Optional(Cursor('Continues a listing with the same filters and order. An empty cursor starts a new listing.')),
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIMITS.messageEventsPageMax,
      default: LIMITS.messageEventsPageDefault,
      description: 'Approximate number of events to return.',
    }),
  ),
});
type LogQuery = StaticDecode<typeof LogQuery>;

function statesOf(state: LogQuery['state']): readonly MessageState[] | null {
  switch (state) {
    case undefined:
      return null;
    case 'CANCELLED':
      return ['CANCELED'];
    case 'CANCEL_REQUESTED':
      return [];
    case 'IN_PROGRESS':
      return ['IN_PROGRESS', 'ACTIVE', 'RETRY', 'ERROR'];
    default:
      return [state];
  }
}

const FINAL_STATUSES = { DELIVERED: 'succeeded', FAILED: 'failed', CANCELED: 'canceled' } as const;

/** Returns the statuses for the store to filter by. A final state matches only messages that ended that way. */
function statusesOf(states: readonly MessageState[] | null): readonly RunStatus[] | undefined {
  const [state, ...otherStates] = states ?? [];
  if (otherStates.length > 0) return undefined;
  return state === 'DELIVERED' || state === 'FAILED' || state === 'CANCELED' ? [FINAL_STATUSES[state]] : undefined;
}

interface Logs {
  readonly entries: LogEntry[];
  readonly cursor: { readonly cursor?: string };
}

async function logsOf(query: LogQuery, { service, cursors }: ApiContext, { instanceId }: Caller): Promise<Logs> {
  const { cursor: cursorText, count, ...filters } = query;
  const scope = { operation: 'message-logs', instanceId, filters };
  const cursorState = cursorText === undefined || cursorText === '' ? null : await cursors.open(scope, cursorText);
  const states = statesOf(filters.state);
  if (isEmptyRange(filters) || states?.length === 0) return { entries: [], cursor: {} };
  const messageIds = filters.messageId === undefined ? filters.messageIds : [filters.messageId];
  const { items, next } = await service.messages.events({
    instanceId,
    filter: { ...storeFilterOf(MESSAGE_FILTERS, filters), messageIds, statuses: statusesOf(states) },
    ...(states ? { states } : {}),
    order: filters.order ?? 'newest-first',
    after: cursorState?.after ?? null,
    limit: count ?? LIMITS.messageEventsPageDefault,
  });
  const cursor = next === null ? {} : { cursor: await cursors.seal(scope, { after: next, horizon: null, remaining: null }) };
  return { entries: items.map(presentEvent), cursor };
}

const listEvents = operation({
  operationId: 'listMessageEvents',
  tag: TAG,
  summary: 'List message events (SDK path)',
  description: DESCRIPTION,
  method: 'GET',
  path: '/v2/events',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  query: LogQuery,
  responses: { 200: EventPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query }, context, caller) {
    const { entries, cursor } = await logsOf(query, context, caller);
    return respond(200, { ...cursor, events: entries });
  },
});

const listLogs = operation({
  operationId: 'listMessageLogs',
  tag: TAG,
  summary: 'List message events',
  description: DESCRIPTION,
  method: 'GET',
  path: '/v2/logs',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  query: LogQuery,
  responses: { 200: LogPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query }, context, caller) {
    const { entries, cursor } = await logsOf(query, context, caller);
    return respond(200, { ...cursor, logs: entries });
  },
});

export const logOperations: readonly Operation[] = [listEvents, listLogs];
