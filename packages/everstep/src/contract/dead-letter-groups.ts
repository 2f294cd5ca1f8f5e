/**
 * Wire schemas of dead letter groups. A group contains the entries of the dead letter queue that failed with the same
 * error.
 */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { ErrorSource } from './fields/thrown-error.js';
import { unixMs } from './fields/unix-ms.js';
import { patternOption } from './patterns.js';

export const GROUP_STATES = ['new', 'known', 'regressed'] as const;
export const GroupStateSchema = Type.Enum([...GROUP_STATES], {
  type: 'string',
  description:
    'State of the group. `regressed`: a new entry arrived after the group was resolved, either manually or because its last entry had left the queue. `new`: first seen less than 24 hours ago and never acknowledged. `known`: all other groups.',
});

export const GROUP_KINDS = ['workflow', 'message'] as const;
export const GroupKindSchema = Type.Enum([...GROUP_KINDS], {
  type: 'string',
  description: 'Whether workflow runs or plain messages failed.',
});

const changeFields = {
  at: unixMs('Time of the change'),
  by: Type.String({ description: 'User or token that made the change.' }),
};

export const DeadLetterGroupNote = Type.Object(
  { noteId: Type.String(), text: Type.String(), ...changeFields },
  { ...NO_OTHER_PROPERTIES, description: 'A note on a group of dead letters.' },
);
export type DeadLetterGroupNote = Static<typeof DeadLetterGroupNote>;

export const DeadLetterGroup = Type.Object(
  {
    fingerprint: Type.String({
      description:
        'Identifies the error: a hash of the step, the response status, the normalized message and the place in your code that threw it.',
    }),
    state: GroupStateSchema,
    needsAttention: Type.Boolean({
      description:
        'True if the group has entries and is new, is regressed, or its snooze has ended. False while the group is snoozed.',
    }),
    kind: GroupKindSchema,
    stepName: Type.Union([Type.String(), Type.Null()], {
      description:
        'Name of the step that failed, with `#` in place of numbers. Null for the code between steps and for messages.',
    }),
    responseStatus: Type.Union([Type.Integer(), Type.Null()], {
      description: 'HTTP status of the last response. Null when there was no response.',
    }),
    message: Type.String({
      description: 'Error message, with placeholders such as `<id>` for the parts that differ between entries.',
    }),
    exampleDlqId: Type.Union([Type.String(), Type.Null()], {
      description: 'Id of the newest entry. Null when the group is empty.',
    }),
    latest: Type.Union(
      [
        Type.Object(
          {
            message: Type.String({ description: 'Error message of the newest entry, at most 2,000 characters.' }),
            stepName: Type.Union([Type.String(), Type.Null()], { description: 'Name of the step that failed.' }),
            source: Type.Union([ErrorSource, Type.Null()], { description: 'Null when the app did not report it.' }),
          },
          NO_OTHER_PROPERTIES,
        ),
        Type.Null(),
      ],
      { description: 'How the newest entry failed, without placeholders. Null when the group is empty.' },
    ),
    firstSeenAt: unixMs('Time of the first entry'),
    lastSeenAt: unixMs('Time of the last entry'),
    count: Type.Integer({ minimum: 0, description: 'Number of entries that are currently in the queue.' }),
    total: Type.Integer({ minimum: 0, description: 'Number of entries that have ever arrived.' }),
    workflows: Type.Array(Type.Object({ workflowUrl: Type.String(), count: Type.Integer({ minimum: 1 }) }, NO_OTHER_PROPERTIES), {
      description: 'Current entries by workflow URL, highest count first. At most 20 URLs.',
    }),
    histogram: Type.Array(
      Type.Object({ at: unixMs('Start of the hour'), count: Type.Integer({ minimum: 0 }) }, NO_OTHER_PROPERTIES),
      {
        description:
          'Number of entries that arrived in each of the last 24 hours (UTC), oldest first. The last item is the current hour.',
      },
    ),
    acknowledgedAt: Type.Union([unixMs('Time when the group was last acknowledged'), Type.Null()]),
    acknowledgedBy: Type.Union([Type.String(), Type.Null()], { description: 'User or token that acknowledged the group.' }),
    resolvedAt: Type.Union([unixMs('Time when the group was resolved', 'Null after a new entry has arrived.'), Type.Null()]),
    regressedAt: Type.Union([unixMs('Time when an entry arrived after the group was resolved', 'Null otherwise.'), Type.Null()]),
    assignment: Type.Union(
      [
        Type.Object(
          { assignee: Type.String({ description: 'Email of the user who works on the group.' }), ...changeFields },
          NO_OTHER_PROPERTIES,
        ),
        Type.Null(),
      ],
      { description: 'Null when no user is assigned.' },
    ),
    snooze: Type.Union([Type.Object({ until: unixMs('End of the snooze'), ...changeFields }, NO_OTHER_PROPERTIES), Type.Null()], {
      description:
        'Until `until`, the group needs no attention and raises no alert. An ended snooze remains until the group is acknowledged, resolved or snoozed again. Null otherwise, and after the group regressed.',
    }),
    notes: Type.Array(DeadLetterGroupNote, {
      description: 'Newest first. A list of groups contains only the newest note of each group.',
    }),
    noteCount: Type.Integer({ minimum: 0, description: 'Number of notes.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Dead letters with the same step, status and normalized message.' },
);
export type DeadLetterGroup = Static<typeof DeadLetterGroup>;

export const DeadLetterGroupPage = Type.Object(
  {
    cursor: Type.String({ description: 'Cursor for the next page; empty when there are no more results.' }),
    groups: Type.Array(DeadLetterGroup),
    totals: Type.Object(
      {
        deadLetters: Type.Integer({ minimum: 0, description: 'Number of dead letters.' }),
        groups: Type.Integer({ minimum: 0, description: 'Number of groups with entries.' }),
        needAttention: Type.Integer({ minimum: 0, description: 'Number of groups whose `needsAttention` is true.' }),
      },
      {
        ...NO_OTHER_PROPERTIES,
        description: 'Counts of all dead letters and groups of this kind, regardless of the other filters.',
      },
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of groups of dead letters.' },
);
export type DeadLetterGroupPage = Static<typeof DeadLetterGroupPage>;

export const AssignDeadLetterGroup = Type.Object(
  {
    assignee: Type.Union([Type.String({ maxLength: LIMITS.maxEmailLength, ...patternOption('email') }), Type.Null()], {
      description: 'Email of a user with access to the queue instance. Null removes the assignment.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Assignment of a group of dead letters.' },
);

export const SnoozeDeadLetterGroup = Type.Object(
  {
    until: Type.Union([Type.Integer({ minimum: 0, format: 'int64' }), Type.Null()], {
      description: 'End of the snooze in Unix milliseconds, at most 90 days from now. Null ends the snooze.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Snooze of a group of dead letters.' },
);

export const NoteText = Type.Object(
  {
    text: Type.String({
      minLength: 1,
      maxLength: LIMITS.maxGroupNoteLength,
      ...patternOption('note'),
      description: 'Text of the note.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'A new note on a group of dead letters.' },
);

export const DeadLetterAssignees = Type.Object(
  { assignees: Type.Array(Type.String(), { description: 'Emails, sorted.' }) },
  { ...NO_OTHER_PROPERTIES, description: 'Users who can be assigned to groups of dead letters.' },
);
export type DeadLetterAssignees = Static<typeof DeadLetterAssignees>;
