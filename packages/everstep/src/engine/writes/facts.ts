/**
 * Facts that the runtime and the stores need about a write or a guard without applying it. Each kind declares its facts
 * next to its type, so a new kind needs no further entry anywhere except its application in each store.
 */

/** The part of a store that applies a write. Writes of one aggregate are applied together. */
export type Aggregate =
  | 'run'
  | 'journal'
  | 'task'
  | 'event'
  | 'deduplication'
  | 'dead-letter'
  | 'repair'
  | 'flow-control'
  | 'queue'
  | 'url-group'
  | 'schedule'
  | 'hold'
  | 'settings'
  | 'usage'
  | 'day-count'
  | 'insights'
  | 'audit'
  | 'alert';

/** The topic of a change, for clients with an open live stream. */
export type ChangedTopic = 'runs' | 'dlq' | 'repairs' | 'flow-control' | 'schedules' | 'queues' | 'settings';

/** Objects other than runs that two units cannot change at the same time. */
export type ConflictObject =
  | 'run-id'
  | 'deduplication'
  | 'dead-letter'
  | 'repair-item'
  | 'flow-control'
  | 'queue'
  | 'url-group'
  | 'schedule'
  | 'schedules'
  | 'hold'
  | 'settings';

/** Collects the runs and objects that a write or guard conflicts with. */
export interface ConflictKeys {
  /** A run that exists. Its state matters to the write or guard. */
  run(runKey: string): void;
  /** A run that may not exist yet. Only the order of the writes that mention its key matters. */
  namedRun(runKey: string): void;
  object(object: ConflictObject, instanceId: string, id: string): void;
}

/** Facts of a guard kind. */
export interface GuardFacts<Part> {
  /** Returns the queue instance; null if only the run identifies it. */
  instanceId(part: Part): string | null;
  /** Returns the key of the run to which the guard or write belongs; null if there is none. It always conflicts with this run. */
  runKey(part: Part): string | null;
  /** Reports everything else that the guard or write conflicts with. Units without a common key can be written in any order. */
  conflicts(part: Part, keys: ConflictKeys): void;
}

/** Facts of a write kind. */
export interface WriteFacts<Write> extends GuardFacts<Write> {
  readonly aggregate: Aggregate;
  /** Topic of the change. `runs` refers to the run of the write. Null if no client sees the change. */
  readonly topic: ChangedTopic | null;
  /** Returns whether a store that has the state of the run can apply the write without reading anything else. */
  isSelfContained(write: Write): boolean;
  /** Returns when the write was decided, Unix ms; 0 if it does not contain the time. */
  time(write: Write): number;
  /** Returns approximately how many bytes a store writes for its contents, to limit the size of batches. */
  weight(write: Write): number;
  /** Returns the bytes that the write adds to the stored bytes of its instance, except bytes that only the store can count. */
  storedBytes(write: Write): number;
}

type OfKind<Part extends { readonly kind: string }, Kind> = Extract<Part, { readonly kind: Kind }>;

/** Facts of all kinds of `Write`. A missing kind or fact is a compile error. */
export type WriteFactsOf<Write extends { readonly kind: string }> = {
  readonly [Kind in Write['kind']]: WriteFacts<OfKind<Write, Kind>>;
};

/** Facts of all kinds of `Guard`. A missing kind or fact is a compile error. */
export type GuardFactsOf<Guard extends { readonly kind: string }> = {
  readonly [Kind in Guard['kind']]: GuardFacts<OfKind<Guard, Kind>>;
};

export const alwaysTrue = (): true => true;
export const alwaysFalse = (): false => false;
export const alwaysZero = (): 0 => 0;
const nothing = (): null => null;

/** Facts of a write that belongs to a run and conflicts with nothing else. */
export const RUN_FACTS = {
  instanceId: nothing,
  runKey: ({ runKey }: { readonly runKey: string }) => runKey,
  conflicts: () => {},
};

/** Facts of a write that belongs to a queue instance and to no run. */
export const INSTANCE_FACTS = {
  instanceId: ({ instanceId }: { readonly instanceId: string }) => instanceId,
  runKey: nothing,
};

/** Facts of a write that adds to a sum that no guard reads, so that it conflicts with nothing. */
export const COUNTER_FACTS = { ...INSTANCE_FACTS, conflicts: () => {} };

/** Facts of a write that contains nothing that counts as stored bytes or takes much space. */
export const SMALL_WRITE_FACTS = { weight: alwaysZero, storedBytes: alwaysZero };
