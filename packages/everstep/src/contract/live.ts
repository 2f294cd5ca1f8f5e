/** Wire schemas of what goes on right now: hints of changes, and the nodes of the service. */
import Type, { type Static } from 'typebox';

const CLOSED = { additionalProperties: false } as const;
const time = (description: string) => Type.Integer({ format: 'int64', description });

/** What a page may want to ask for again. */
export const LIVE_TOPICS = ['runs', 'dlq', 'repairs', 'flow-control', 'schedules', 'queues', 'settings'] as const;
export type LiveTopic = (typeof LIVE_TOPICS)[number];
/** Ids of runs that one hint names at most. */
export const LIVE_RUN_IDS_MAX = 50;

export const LiveChange = Type.Object(
  {
    topics: Type.Array(Type.Enum([...LIVE_TOPICS], { type: 'string' }), { description: 'What has changed, or may have.' }),
    runIds: Type.Array(Type.String(), {
      maxItems: LIVE_RUN_IDS_MAX,
      description: 'Runs that have changed; not all of them where there are many, or where another node changed them.',
    }),
  },
  { ...CLOSED, description: 'The data of an event named change: a hint to ask again.' },
);
export type LiveChange = Static<typeof LiveChange>;

export const NodeEntry = Type.Object(
  {
    nodeId: Type.String(),
    host: Type.String(),
    version: Type.String({ description: 'Of the service.' }),
    startedAt: time('Since when it is one of the nodes, Unix ms'),
    leaseUntil: Type.Union([Type.Integer({ format: 'int64' }), Type.Null()], {
      description:
        'Until when nobody takes over what it has, Unix ms; it is renewed all the time. Null: it is alone on its store.',
    }),
    leaving: Type.Boolean({ description: 'It is stopping, and takes nothing any more.' }),
    self: Type.Boolean({ description: 'It answers this request.' }),
    runsClaimed: Type.Integer({ minimum: 0, description: 'Deliveries of runs that it has taken on and not ended.' }),
    gates: Type.Integer({ minimum: 0, description: 'Queue instances of which it keeps the limits.' }),
  },
  CLOSED,
);
export type NodeEntry = Static<typeof NodeEntry>;

export const Nodes = Type.Object({ nodes: Type.Array(NodeEntry) }, CLOSED);
export type Nodes = Static<typeof Nodes>;
