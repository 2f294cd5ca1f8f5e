/** Wire schemas of connected workers. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { NO_OTHER_PROPERTIES } from '../fields/no-other-properties.js';
import { unixMs } from '../fields/unix-ms.js';

export const MissingWorker = Type.Object(
  { app: Type.String(), since: unixMs('Time since which no connected worker has served the workflow') },
  {
    ...NO_OTHER_PROPERTIES,
    description:
      'No connected worker serves the workflow of a worker URL. The run waits until a worker of the app connects, and does not use up an attempt.',
  },
);
export type MissingWorker = Static<typeof MissingWorker>;

export const WorkerEntry = Type.Object(
  {
    connectionId: Type.String(),
    workerId: Type.String({ description: 'Identifies the process of the worker, which may have several connections.' }),
    app: Type.String(),
    workflows: Type.Array(Type.String(), {
      maxItems: LIMITS.maxListedWorkflowsOfWorker,
      description: 'Names of the workflows that the worker serves, in alphabetical order.',
    }),
    workflowCount: Type.Integer({ description: 'Number of workflows that the worker serves. `workflows` may list fewer.' }),
    version: Type.Optional(Type.String({ description: 'Version of the app.' })),
    host: Type.Optional(Type.String({ description: 'Host name of the worker.' })),
    sdk: Type.String({ description: 'SDK of the worker.' }),
    nodeId: Type.String({ description: 'Node that the worker is connected to.' }),
    connectedAt: unixMs('Time when the worker connected'),
    inFlight: Type.Integer({ description: 'Number of requests that the worker is handling.' }),
    maxConcurrency: Type.Integer({ description: 'Maximum number of requests that the worker handles at the same time.' }),
    draining: Type.Boolean({ description: 'The worker does not accept new work, because the worker or the node is stopping.' }),
    lastError: Type.Optional(
      Type.String({
        description:
          'Name of the error of the last failed request, or `timeout`, `invalid reply`, `reply too long` or `failure function failed`. Absent when none has failed.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Connection of a worker.' },
);
export type WorkerEntry = Static<typeof WorkerEntry>;

export const UnservedWorkflow = Type.Object(
  {
    app: Type.String(),
    workflow: Type.String({ description: 'Name of the workflow.' }),
    workflowUrl: Type.String(),
    since: unixMs('Time since which no connected worker has served the workflow'),
    waitListSize: Type.Integer({
      description: 'Number of deliveries that wait for a worker. With several nodes: those of the node that sent the response.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Workflow that deliveries wait for, because no connected worker serves it.' },
);
export type UnservedWorkflow = Static<typeof UnservedWorkflow>;

export const WorkerPage = Type.Object(
  {
    workers: Type.Array(WorkerEntry, { description: 'Connections in order of app, then of connection time.' }),
    unserved: Type.Array(UnservedWorkflow, {
      maxItems: LIMITS.maxListedUnservedWorkflows,
      description: 'Workflows that deliveries wait for, because no connected worker serves them. In order of URL.',
    }),
    cursor: Type.Optional(Type.String({ description: 'Cursor for the next page. Absent on the last page.' })),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Page of connected workers, and the workflows without one.' },
);
export type WorkerPage = Static<typeof WorkerPage>;
