/** Lists the connected workers, and the workflows that wait for a worker. */
import { parseWorkerUrl, truncateText, WORKER_APP } from '@everstep/sdk/protocol';
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { type UnservedWorkflow, type WorkerEntry, WorkerPage } from '../../../contract/workers/workers.js';
import type { WorkerStatus } from '../../../ports/workers.js';
import type { DestinationStatus } from '../../../runtime/services/workflow-service.js';
import { operation, respond } from '../../operation.js';
import { Cursor } from '../../parameters/values.js';
import { optional } from '../../presenters/optional.js';

const MAX_ERROR_LENGTH = 200;

/** Position of a connection in the list. The connection id makes it unique. */
type Position = readonly [app: string, connectedAt: number, connectionId: string];

const positionOf = ({ app, connectedAt, connectionId }: WorkerStatus): Position => [app, connectedAt, connectionId];

function comparePositions(a: Position, b: Position): number {
  for (const [index, value] of a.entries()) {
    const otherValue = b[index];
    if (otherValue !== undefined && value !== otherValue) return value < otherValue ? -1 : 1;
  }
  return 0;
}

/** Parses the position in a cursor. Throws ApiError if the cursor contains something else. */
function parsePosition(text: string): Position {
  const [app, connectedAt, connectionId]: readonly unknown[] = JSON.parse(text);
  if (typeof app === 'string' && typeof connectedAt === 'number' && typeof connectionId === 'string')
    return [app, connectedAt, connectionId];
  throw new ApiError('bad-cursor', 'the cursor does not belong to this listing; omit it to start from the beginning');
}

function presentWorker(status: WorkerStatus): WorkerEntry {
  const { workflows, workflowCount, isDraining, lastError, version, host, ...commonFields } = status;
  return {
    ...commonFields,
    // A node of an earlier version publishes all names and no count.
    workflowCount: workflowCount ?? workflows.length,
    workflows: workflows.slice(0, LIMITS.maxListedWorkflowsOfWorker),
    ...optional('version', version),
    ...optional('host', host),
    draining: isDraining,
    ...optional('lastError', lastError === null ? null : truncateText(lastError, MAX_ERROR_LENGTH)),
  };
}

function unservedWorkflowsOf({ origin, noWorkerSince, waiting }: DestinationStatus): readonly UnservedWorkflow[] {
  const workflow = parseWorkerUrl(origin);
  if (!workflow || noWorkerSince === undefined || waiting === 0) return [];
  return [{ ...workflow, workflowUrl: origin, since: noWorkerSince, waitListSize: waiting }];
}

export const listWorkers = operation({
  operationId: 'listWorkers',
  tag: 'Workers',
  summary: 'List the connected workers',
  description:
    'Returns the connections of workers, and the workflows that deliveries wait for because no connected worker serves them. Those deliveries do not use up attempts.',
  method: 'GET',
  path: '/v2/workers',
  unknownQuery: 'refuse',
  query: Type.Object({
    app: Type.Optional(Type.String({ pattern: WORKER_APP.source, description: 'Name of an app. Default: all apps.' })),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.workersPageMax,
        default: LIMITS.workersPageDefault,
        description: 'Maximum number of connections to return.',
      }),
    ),
    cursor: Type.Optional(Cursor('Cursor from the previous page, with the same filter. Omit it for the first page.')),
  }),
  responses: { 200: WorkerPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query: { app, cursor: cursorText, count = LIMITS.workersPageDefault } }, context, { instanceId }) {
    const { workers, service, cursors } = context;
    const scope = { operation: 'workers', instanceId, filters: { app } };
    const after =
      cursorText === undefined || cursorText === '' ? null : parsePosition((await cursors.open(scope, cursorText)).after);
    const destinations = await service.destinations.list({ instanceId });
    const isWanted = (entry: { readonly app: string }) => app === undefined || entry.app === app;
    const remainingWorkers = (await workers.connectionsOf(instanceId))
      .filter((entry) => isWanted(entry) && (after === null || comparePositions(positionOf(entry), after) > 0))
      .toSorted((a, b) => comparePositions(positionOf(a), positionOf(b)));
    const page = remainingWorkers.slice(0, count);
    const lastOnPage = remainingWorkers.length > count ? page.at(-1) : undefined;
    const nextState = lastOnPage && { after: JSON.stringify(positionOf(lastOnPage)), horizon: null, remaining: null };
    return respond(200, {
      ...(nextState ? { cursor: await cursors.seal(scope, nextState) } : {}),
      workers: page.map(presentWorker),
      unserved: destinations.flatMap(unservedWorkflowsOf).filter(isWanted).slice(0, LIMITS.maxListedUnservedWorkflows),
    });
  },
});
