/** Writes to runs: their state, journal, tasks and events. */
import type { FailedAttempt, KeptEvent, RecordedStep, Run, RunOutcome, RunPayload, RunSettings, Task } from '../runs/run.js';
import { alwaysFalse, alwaysTrue, alwaysZero, RUN_FACTS, SMALL_WRITE_FACTS, type WriteFactsOf } from './facts.js';
import { contentBytes, RECORD_BYTES, toJson } from './stored-size.js';

export type RunWrite =
  /** Inserts the run row and its input. Tasks and journal rows are separate writes. */
  | { readonly kind: 'create-run'; readonly run: Run; readonly input: RunPayload | { readonly copyOf: string } }
  | { readonly kind: 'note-failure-function'; readonly runKey: string }
  /** Replaces the settings of the run with the same settings, except that `steps.introduced` is true. */
  | { readonly kind: 'note-introduction'; readonly runKey: string; readonly settings: RunSettings }
  | { readonly kind: 'end-run'; readonly runKey: string; readonly outcome: RunOutcome; readonly completedAt: number }
  /** Appends to the journal. If a row with that index or step id exists, it is an error and the batch is rejected. */
  | { readonly kind: 'record-step'; readonly runKey: string; readonly step: RecordedStep }
  | { readonly kind: 'record-attempt'; readonly runKey: string; readonly attempt: FailedAttempt }
  /**
   * Copies journal rows of one run to another, byte for byte. If `length` is present, only rows with a lower index that
   * are not in `without` are copied.
   */
  | {
      readonly kind: 'copy-journal';
      readonly fromRunKey: string;
      readonly toRunKey: string;
      readonly length?: number;
      readonly without?: readonly number[];
    }
  /**
   * Copies a slice of a journal for a run that is not created yet: the rows from index `from`, below `below` and
   * not in `without`. They are not visible until that run is created. `at` is the creation time of that run in Unix ms.
   */
  | {
      readonly kind: 'stage-journal';
      readonly fromRunKey: string;
      readonly toRunKey: string;
      readonly from: number;
      readonly below: number;
      readonly without: readonly number[];
      readonly at: number;
    }
  /**
   * Assigns the journal that was staged for a run to this run, which the same unit has created before. It is an error if the
   * staged journal has a different number of steps or was abandoned.
   */
  | { readonly kind: 'adopt-journal'; readonly runKey: string; readonly instanceId: string; readonly steps: number }
  /** Abandons a staged journal, because the run will not be created. `removeStagedSteps` deletes it later. */
  | { readonly kind: 'abandon-journal'; readonly runKey: string; readonly instanceId: string }
  /**
   * Inserts the task, or replaces the one in its slot. An invocation that waits for a run that has already ended is due from
   * its `createdAt`, because the end of that run could not wake it.
   */
  | { readonly kind: 'put-task'; readonly runKey: string; readonly task: Task }
  | { readonly kind: 'delete-task'; readonly runKey: string; readonly slot: number }
  /** Clears the due times of all tasks of a run that has ended. They are kept, because a resume may need them. */
  | { readonly kind: 'park-tasks'; readonly runKey: string }
  | { readonly kind: 'delete-tasks'; readonly runKey: string }
  /** Makes the task that waits for this invoked run due from `at`, if it is open and its run is active. */
  | { readonly kind: 'wake-invoker'; readonly childRunKey: string; readonly at: number }
  | { readonly kind: 'keep-event'; readonly runKey: string; readonly event: KeptEvent }
  | { readonly kind: 'drop-event'; readonly runKey: string; readonly eventKey: string }
  | {
      readonly kind: 'remember-deduplication';
      readonly instanceId: string;
      readonly deduplicationId: string;
      readonly runKey: string;
      readonly expiresAt: number;
    };

/** Assumed weight of a journal that the store copies, because its size is not known outside the store. */
const COPY_BYTES = 256 * 1024;

/** Returns whether the task becomes due when another run ends. */
export const isWaitingForRun = (task: Task): boolean => task.kind === 'invoke' && task.dueAt === null && task.invoke === null;

export const RUN_WRITE_FACTS = {
  'create-run': {
    aggregate: 'run',
    topic: 'runs',
    instanceId: ({ run }) => run.instanceId,
    runKey: ({ run }) => run.key,
    // A store assigns the position of a message in its queue.
    isSelfContained: ({ run, input }) => !('copyOf' in input) && run.settings.message?.queue === undefined,
    time: ({ run }) => run.createdAt,
    weight: ({ input }) => ('copyOf' in input ? COPY_BYTES : input.body.length),
    storedBytes: ({ input }) =>
      'copyOf' in input ? 0 : RECORD_BYTES + contentBytes(JSON.stringify(input.forwardHeaders), input.body),
    conflicts: ({ input }, keys) => {
      if ('copyOf' in input) keys.run(input.copyOf);
    },
  },
  'note-failure-function': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'run',
    topic: 'runs',
    isSelfContained: alwaysTrue,
    time: alwaysZero,
  },
  'note-introduction': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'run',
    topic: null,
    isSelfContained: alwaysTrue,
    time: alwaysZero,
  },
  'end-run': {
    ...RUN_FACTS,
    aggregate: 'run',
    topic: 'runs',
    isSelfContained: alwaysTrue,
    time: ({ completedAt }) => completedAt,
    weight: ({ outcome }) => (outcome.status === 'succeeded' ? (outcome.result?.length ?? 0) : 0),
    storedBytes: ({ outcome }) => (outcome.status === 'succeeded' ? contentBytes(outcome.result) : 0),
  },
  'record-step': {
    ...RUN_FACTS,
    aggregate: 'journal',
    topic: 'runs',
    isSelfContained: alwaysTrue,
    time: ({ step }) => step.completedAt,
    weight: ({ step }) => step.out?.length ?? 0,
    storedBytes: ({ step }) => RECORD_BYTES + contentBytes(step.out, toJson(step.sent)),
  },
  'record-attempt': {
    ...RUN_FACTS,
    aggregate: 'journal',
    topic: 'runs',
    isSelfContained: alwaysTrue,
    time: ({ attempt }) => attempt.at,
    weight: alwaysZero,
    storedBytes: ({ attempt }) => RECORD_BYTES + contentBytes(toJson(attempt.exchange), toJson(attempt.thrown)),
  },
  'copy-journal': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'journal',
    topic: null,
    runKey: ({ toRunKey }) => toRunKey,
    isSelfContained: alwaysFalse,
    time: alwaysZero,
    weight: () => COPY_BYTES,
    conflicts: ({ fromRunKey }, keys) => keys.run(fromRunKey),
  },
  'stage-journal': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'journal',
    topic: null,
    // The copied run does not exist yet.
    runKey: ({ fromRunKey }) => fromRunKey,
    isSelfContained: alwaysFalse,
    time: alwaysZero,
    conflicts: ({ toRunKey }, keys) => keys.namedRun(toRunKey),
  },
  'adopt-journal': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'journal',
    topic: 'runs',
    instanceId: ({ instanceId }) => instanceId,
    isSelfContained: alwaysFalse,
    time: alwaysZero,
  },
  'abandon-journal': {
    ...SMALL_WRITE_FACTS,
    aggregate: 'journal',
    topic: null,
    instanceId: ({ instanceId }) => instanceId,
    runKey: () => null,
    isSelfContained: alwaysFalse,
    time: alwaysZero,
    conflicts: ({ runKey }, keys) => keys.namedRun(runKey),
  },
  'put-task': {
    ...RUN_FACTS,
    aggregate: 'task',
    topic: 'runs',
    isSelfContained: ({ task }) => !isWaitingForRun(task),
    time: ({ task }) => task.createdAt,
    weight: ({ task }) => (task.kind === 'call' ? (task.call.body?.data.length ?? 0) : 0),
    storedBytes: alwaysZero,
    conflicts: ({ task }, keys) => {
      if (task.kind !== 'invoke') return;
      // The state of the run that it waits for decides when the task is due.
      if (isWaitingForRun(task)) keys.run(task.childRunKey);
      else keys.namedRun(task.childRunKey);
    },
  },
  'delete-task': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'task',
    topic: 'runs',
    isSelfContained: alwaysTrue,
    time: alwaysZero,
  },
  'park-tasks': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'task',
    topic: 'runs',
    isSelfContained: alwaysTrue,
    time: alwaysZero,
  },
  'delete-tasks': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'task',
    topic: 'runs',
    isSelfContained: alwaysTrue,
    time: alwaysZero,
  },
  'wake-invoker': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'task',
    topic: null,
    runKey: ({ childRunKey }) => childRunKey,
    isSelfContained: alwaysFalse,
    time: ({ at }) => at,
  },
  'keep-event': {
    ...RUN_FACTS,
    aggregate: 'event',
    topic: 'runs',
    isSelfContained: alwaysTrue,
    time: ({ event }) => event.receivedAt,
    weight: ({ event }) => event.content.body?.data.length ?? 0,
    storedBytes: ({ event }) => RECORD_BYTES + contentBytes(JSON.stringify(event.content)),
  },
  'drop-event': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'event',
    topic: 'runs',
    isSelfContained: alwaysTrue,
    time: alwaysZero,
  },
  'remember-deduplication': {
    ...RUN_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'deduplication',
    topic: 'runs',
    instanceId: ({ instanceId }) => instanceId,
    isSelfContained: alwaysFalse,
    time: alwaysZero,
    conflicts: ({ instanceId, deduplicationId }, keys) => keys.object('deduplication', instanceId, deduplicationId),
  },
} satisfies WriteFactsOf<RunWrite>;
