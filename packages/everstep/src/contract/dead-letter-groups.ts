/** Wire schemas of the groups of the dead letter queue: entries that failed alike. */
import Type, { type Static } from 'typebox';

const CLOSED = { additionalProperties: false } as const;
const unixMs = (description: string) => Type.Integer({ format: 'int64', description: `${description}, Unix ms` });

export const GROUP_STATES = ['new', 'known', 'regressed'] as const;
export const GroupStateSchema = Type.Enum([...GROUP_STATES], {
  type: 'string',
  description:
    'regressed: an entry came after the group was resolved, by hand or because its last entry had left the queue; new: first seen less than 24 hours ago and never acknowledged; known: any other.',
});

export const GROUP_KINDS = ['workflow', 'message'] as const;
export const GroupKindSchema = Type.Enum([...GROUP_KINDS], {
  type: 'string',
  description: 'Whether runs of workflows failed, or plain messages.',
});

/** Text of a fingerprint: so many hexadecimal digits. */
export const FINGERPRINT_LENGTH = 16;

export const DeadLetterGroup = Type.Object(
  {
    fingerprint: Type.String({ description: 'What the entries have in common: step, status and normalised message.' }),
    state: GroupStateSchema,
    kind: GroupKindSchema,
    stepName: Type.Union([Type.String(), Type.Null()], {
      description: 'The step that failed, with # for numbers; null for the code between steps, and for a message.',
    }),
    responseStatus: Type.Union([Type.Integer(), Type.Null()], { description: 'Status of the last answer; null without one.' }),
    message: Type.String({
      description: 'What went wrong, with placeholders such as <id> for what differs from entry to entry.',
    }),
    exampleDlqId: Type.Union([Type.String(), Type.Null()], { description: 'The newest entry; null when there is none now.' }),
    firstSeenAt: unixMs('When the first entry ever came'),
    lastSeenAt: unixMs('When the last entry came'),
    count: Type.Integer({ minimum: 0, description: 'Entries in the queue now.' }),
    total: Type.Integer({ minimum: 0, description: 'Entries that ever came.' }),
    workflows: Type.Array(Type.Object({ workflowUrl: Type.String(), count: Type.Integer({ minimum: 1 }) }, CLOSED), {
      description: 'Entries now by the URL of their workflow, most first; at most 20.',
    }),
    histogram: Type.Array(Type.Object({ at: unixMs('Beginning of the hour'), count: Type.Integer({ minimum: 0 }) }, CLOSED), {
      description: 'How many came in each of the last 24 hours (UTC), oldest first, the present hour last.',
    }),
    acknowledgedAt: Type.Union([unixMs('When somebody acknowledged it last'), Type.Null()]),
    acknowledgedBy: Type.Union([Type.String(), Type.Null()], { description: 'Who did: a user, or a token.' }),
    resolvedAt: Type.Union([unixMs('When it was resolved; null from the moment at which an entry came again'), Type.Null()]),
    regressedAt: Type.Union([unixMs('When an entry came after it was resolved; null otherwise'), Type.Null()]),
  },
  CLOSED,
);
export type DeadLetterGroup = Static<typeof DeadLetterGroup>;

export const DeadLetterGroupPage = Type.Object(
  {
    cursor: Type.String({ description: 'Where the next page begins; empty at the end.' }),
    groups: Type.Array(DeadLetterGroup),
  },
  CLOSED,
);
export type DeadLetterGroupPage = Static<typeof DeadLetterGroupPage>;
