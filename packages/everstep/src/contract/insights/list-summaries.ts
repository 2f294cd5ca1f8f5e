/** Wire schemas of summaries of lists: the number of entries over time, and the most frequent values of a field. */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from '../fields/no-other-properties.js';
import { unixMs } from '../fields/unix-ms.js';

const count = (description: string) => Type.Integer({ minimum: 0, description });

const field = <const Names extends readonly string[]>(names: Names, description: string) =>
  Type.Enum([...names] as Names[number][], { type: 'string', description });

export const RunField = field(['state', 'workflowUrl', 'label', 'flowControlKey', 'callerIp'], 'Field of runs.');
export type RunField = Static<typeof RunField>;

export const DeadLetterField = field(
  ['workflowUrl', 'label', 'flowControlKey', 'callerIp', 'failureFunctionState', 'fingerprint'],
  'Field of dead letters.',
);
export type DeadLetterField = Static<typeof DeadLetterField>;

export const MessageField = field(
  ['state', 'url', 'host', 'queueName', 'topicName', 'scheduleId', 'label', 'flowControlKey', 'callerIp'],
  'Field of messages.',
);
export type MessageField = Static<typeof MessageField>;

/** Final states of messages, by which a list of messages can be filtered. */
export const ENDED_MESSAGE_STATES = ['DELIVERED', 'FAILED', 'CANCELED'] as const;

export const TopValues = Type.Object(
  {
    values: Type.Array(
      Type.Object({ value: Type.String(), count: count('Number of entries with the value.') }, NO_OTHER_PROPERTIES),
      {
        description: 'Values with the most entries first. At most 20.',
      },
    ),
    examined: count('Number of entries that were examined, newest first.'),
    complete: Type.Boolean({ description: 'Whether all entries were examined.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'The most frequent values of a field.' },
);
export type TopValues = Static<typeof TopValues>;

export const ListSummary = Type.Object(
  {
    from: unixMs('Start of the first interval'),
    to: unixMs('End of the last interval'),
    intervalMs: Type.Integer({ minimum: 1, description: 'Length of an interval in milliseconds.' }),
    counts: Type.Array(count('Number of entries.'), {
      description: 'Number of entries in each interval, oldest first. At most 120.',
    }),
    source: Type.Enum(['counters', 'entries'], {
      type: 'string',
      description:
        '`counters`: from the counters of insights, which include entries that have since been removed. `entries`: from the entries themselves.',
    }),
    coveredFrom: Type.Union(
      [
        unixMs(
          'Start of the time range in which entries are counted',
          'Older entries match too, but are not counted: one request examines a limited number, and counters exist for a limited time.',
        ),
        Type.Null(),
      ],
      { description: 'Null if all entries are counted.' },
    ),
    topValues: Type.Union([TopValues, Type.Null()], { description: 'Null if no field was requested.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Number of entries of a list over time, with the same filters as the list.' },
);
export type ListSummary = Static<typeof ListSummary>;
