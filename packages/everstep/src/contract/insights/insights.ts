/** Wire schemas of insights: counters of runs over time, and items that need attention. */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from '../fields/no-other-properties.js';
import { unixMs } from '../fields/unix-ms.js';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const duration = (description: string) => Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description });

export const INSIGHT_WINDOWS = ['1h', '6h', '24h', '7d', '30d', '90d'] as const;
export const InsightWindow = Type.Enum([...INSIGHT_WINDOWS], {
  type: 'string',
  default: '24h',
  description: 'Time range that the response covers, up to now.',
});
export type InsightWindow = Static<typeof InsightWindow>;

const COUNTS = {
  started: count('Number of runs that started.'),
  succeeded: count('Number of runs that succeeded.'),
  failed: count('Number of runs that failed.'),
  canceled: count('Number of runs that were canceled.'),
};
const DURATIONS = {
  p50Ms: duration(
    'Median duration of the runs that succeeded or failed, in milliseconds, from creation to end. Interpolated within a bucket whose end is 1.41 times its start. Null if there are none.',
  ),
  p95Ms: duration('Duration in milliseconds that 95% of these runs do not exceed.'),
};

export const InsightPoint = Type.Object(
  { at: unixMs('Start of the interval'), ...COUNTS, ...DURATIONS },
  {
    ...NO_OTHER_PROPERTIES,
    description: 'Counters of one interval. Runs count as started at their creation, and as ended at their end.',
  },
);
export type InsightPoint = Static<typeof InsightPoint>;

export const InsightTotals = Type.Object(
  { ...COUNTS, ...DURATIONS },
  { ...NO_OTHER_PROPERTIES, description: 'Counters of the whole window.' },
);
export type InsightTotals = Static<typeof InsightTotals>;

const SERIES = {
  from: unixMs('Start of the first interval'),
  to: unixMs('End of the last interval', 'The last interval is not complete yet.'),
  intervalMs: Type.Integer({ minimum: 1, description: 'Length of an interval in milliseconds.' }),
  points: Type.Array(InsightPoint, { description: 'Every interval, oldest first. At most 120.' }),
  totals: InsightTotals,
};

export const ATTENTION_KINDS = [
  'dead-letter-group',
  'held-destination',
  'no-worker',
  'paused-key',
  'oldest-pending',
  'store-unavailable',
] as const;

export const AttentionItem = Type.Object(
  {
    kind: Type.Enum([...ATTENTION_KINDS], {
      type: 'string',
      description:
        '`dead-letter-group`: an error that is new, regressed, or no longer snoozed. `held-destination`: deliveries to it wait until it is released. `no-worker`: deliveries wait for a worker. `paused-key`: deliveries wait for a flow control key. `oldest-pending`: a delivery was due more than five minutes ago. `store-unavailable`: the store rejects writes.',
    }),
    subject: Type.String({
      description: 'Fingerprint, destination, workflow URL or key that the item is about; otherwise empty.',
    }),
    text: Type.String({ description: 'Error message or reason.' }),
    count: Type.Integer({ minimum: 0, description: 'Number of dead letters or waiting deliveries.' }),
    since: Type.Union([unixMs('Time when it started to need attention'), Type.Null()]),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Something that needs attention now.' },
);
export type AttentionItem = Static<typeof AttentionItem>;

export const InstanceInsights = Type.Object(
  {
    ...SERIES,
    workflows: Type.Array(
      Type.Object(
        {
          workflowUrl: Type.Union([Type.String(), Type.Null()], {
            description:
              'Null for all other workflows together, because at most 50 workflows per hour, and 100 per day, have their own counters.',
          }),
          ...COUNTS,
        },
        NO_OTHER_PROPERTIES,
      ),
      { description: 'Workflows with the most started runs. At most 20.' },
    ),
    now: Type.Object(
      {
        backlog: count('Number of deliveries that are due on the node that sent the response; at most 1,000 are counted.'),
        oldestDueAt: Type.Union([unixMs('Due time of the oldest of these deliveries'), Type.Null()]),
        workers: count('Number of connected workers.'),
        errors: count('Number of error groups that need attention. `attention` has at most 8 of them.'),
      },
      { ...NO_OTHER_PROPERTIES, description: 'The current state.' },
    ),
    attention: Type.Array(AttentionItem, { description: 'What needs attention now, most urgent first. At most 20.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Counters of the runs of a queue instance over time, and its current state.' },
);
export type InstanceInsights = Static<typeof InstanceInsights>;

export const WorkflowInsights = Type.Object(
  {
    ...SERIES,
    steps: Type.Array(
      Type.Object(
        {
          stepName: Type.Union([Type.String(), Type.Null()], {
            description:
              'Empty for the code between steps. Null for all other steps together, because at most 20 steps per hour have their own counters.',
          }),
          finished: count('Number of recorded results.'),
          failedAttempts: count('Number of failed attempts.'),
          meanMs: duration('Mean duration in milliseconds, from the start of the successful attempt.'),
          p50Ms: duration('Median duration in milliseconds.'),
          p95Ms: duration('Duration in milliseconds that 95% of the steps do not exceed.'),
        },
        NO_OTHER_PROPERTIES,
      ),
      {
        description:
          'Steps, slowest first by the 95th percentile of their durations. Sleeps and waits are not included. At most 100.',
      },
    ),
    recentFailures: Type.Array(
      Type.Object(
        {
          dlqId: Type.String({ description: 'Id of the dead letter.' }),
          workflowRunId: Type.String({ description: 'Id of the run.' }),
          failedAt: unixMs('Time of the failure'),
          error: Type.String({ description: 'Start of the error message.' }),
        },
        NO_OTHER_PROPERTIES,
      ),
      { description: 'Dead letters of the workflow, newest first. At most 10.' },
    ),
    versions: Type.Array(
      Type.Object({ version: Type.String(), workers: count('Number of connected workers.') }, NO_OTHER_PROPERTIES),
      {
        description: 'Versions of the connected workers that serve the workflow. Empty for an HTTP endpoint.',
      },
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Counters of the runs and steps of a workflow over time.' },
);
export type WorkflowInsights = Static<typeof WorkflowInsights>;
