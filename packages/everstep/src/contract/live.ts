/** Wire schemas of live data: change hints and the nodes of the installation. */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';

const time = (description: string) => Type.Integer({ format: 'int64', description });

/** Kinds of data that a change hint refers to. */
export const LIVE_TOPICS = ['runs', 'dlq', 'repairs', 'flow-control', 'schedules', 'queues', 'settings'] as const;
export type LiveTopic = (typeof LIVE_TOPICS)[number];
/** Maximum number of run ids in one hint. */
export const LIVE_RUN_IDS_MAX = 50;

export const LiveChange = Type.Object(
  {
    topics: Type.Array(Type.Enum([...LIVE_TOPICS], { type: 'string', description: 'Kind of data that a change can affect.' }), {
      description: 'Kinds of data that have changed or may have changed.',
    }),
    runIds: Type.Array(Type.String(), {
      maxItems: LIVE_RUN_IDS_MAX,
      description: 'Ids of runs that have changed. Incomplete if `moreRuns` is set.',
    }),
    moreRuns: Type.Optional(
      Type.Literal(true, {
        description: 'Runs that are not in `runIds` may have changed too. Absent when `runIds` is complete.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Data of an event named `change`: a hint to request the data again.' },
);
export type LiveChange = Static<typeof LiveChange>;

export const NodeEntry = Type.Object(
  {
    nodeId: Type.String(),
    host: Type.String(),
    version: Type.String({ description: 'Version of Everstep on the node.' }),
    startedAt: time('Time when the node joined, in Unix milliseconds.'),
    leaseUntil: Type.Union([Type.Integer({ format: 'int64' }), Type.Null()], {
      description:
        'Time when the lease of the node ends, in Unix milliseconds. Until then no other node takes over its work; the node renews the lease continuously. Null when the server is a single process.',
    }),
    expired: Type.Boolean({
      description:
        'The lease has ended, by the clock that all nodes share. The node does not respond, and other nodes take over its work.',
    }),
    leaving: Type.Boolean({ description: 'The node is stopping and does not accept new work.' }),
    self: Type.Boolean({ description: 'This node sent the response.' }),
    runsClaimed: Type.Integer({ minimum: 0, description: 'Number of pending run deliveries that the node has claimed.' }),
    gates: Type.Integer({
      minimum: 0,
      description: 'Number of queue instances whose queues, flow control keys and destinations this node manages.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Node: one process of the server.' },
);
export type NodeEntry = Static<typeof NodeEntry>;

export const Nodes = Type.Object({ nodes: Type.Array(NodeEntry) }, NO_OTHER_PROPERTIES);
export type Nodes = Static<typeof Nodes>;
