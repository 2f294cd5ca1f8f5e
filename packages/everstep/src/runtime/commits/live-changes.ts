/**
 * Change hints for open live streams, taken from the units that became durable. A hint names what to read again and contains no
 * data, so a lost or repeated hint does no harm. Without any stream, a batch costs one check.
 *
 * A node with open streams announces their instances to the other nodes repeatedly. While they receive these announcements,
 * they publish the hints of their own writes, collected over a quarter of a second.
 */
import { type CommitUnit, type StoreWrite, writeFacts } from '../../engine/writes.js';
import type { Clock } from '../../ports/clock.js';
import type { Cluster } from '../../ports/cluster.js';
import { LIVE_TOPICS, type LiveHint, type LiveTopic } from '../../ports/live-hints.js';

/** Maximum number of runs in a hint. */
const MAX_RUNS = 50;
/** Maximum number of runs in a hint between nodes. Notices are short, and ids chosen by users can be long. */
const MAX_NOTICE_RUNS = 20;
const MAX_NOTICE_CHARACTERS = 3_000;
/** Hints for other nodes are collected for this time. */
const COLLECT_FOR_MS = 250;
/** Interval of the announcements, and how long one is valid. */
const ANNOUNCE_EVERY_MS = 4_000;
const ANNOUNCEMENT_VALID_MS = 10_000;

/** The properties of a run that a hint needs. */
export interface HintedRun {
  readonly instanceId: string;
  readonly workflowRunId: string;
  /** Whether the run has a flow control key. */
  readonly isLimited: boolean;
}

export interface LiveChangesOptions {
  readonly clock: Clock;
  /** The connection to other nodes; null if no other process uses the store. */
  readonly cluster: Pick<Cluster, 'notify'> | null;
  /** Returns a run in memory; undefined if it is not in memory. */
  readonly runOf: (runKey: string) => HintedRun | undefined;
}

export type LiveListener = (hint: LiveHint) => void;

/** Topics and runs of one instance that are not published yet. */
class PendingHint {
  readonly topics = new Set<LiveTopic>();
  readonly runIds = new Set<string>();
  private moreRuns = false;

  addRun({ workflowRunId, isLimited }: Omit<HintedRun, 'instanceId'>): void {
    this.topics.add('runs');
    if (isLimited) this.topics.add('flow-control');
    this.addRunId(workflowRunId);
  }

  /** Adds a run whose id is unknown. */
  addUnnamedRun(): void {
    this.topics.add('runs');
    this.moreRuns = true;
  }

  add({ topics, runIds, moreRuns }: LiveHint): void {
    for (const topic of topics) this.topics.add(topic);
    for (const runId of runIds) this.addRunId(runId);
    if (moreRuns) this.moreRuns = true;
  }

  get hint(): LiveHint {
    return { topics: [...this.topics], runIds: [...this.runIds], ...(this.moreRuns ? { moreRuns: true } : {}) };
  }

  private addRunId(runId: string): void {
    if (this.runIds.size < MAX_RUNS) this.runIds.add(runId);
    else if (!this.runIds.has(runId)) this.moreRuns = true;
  }
}

export class LiveChanges {
  private readonly options: LiveChangesOptions;
  private readonly listeners = new Map<string, Set<LiveListener>>();
  /** Time until which other nodes want the hints of an instance (Unix ms), by instance. */
  private readonly wantedUntil = new Map<string, number>();
  /** Hints for other nodes that are not published yet, by instance. */
  private readonly unpublishedHints = new Map<string, PendingHint>();
  private cancelPublishing: (() => void) | null = null;
  private cancelAnnouncing: (() => void) | null = null;

  constructor(options: LiveChangesOptions) {
    this.options = options;
  }

  get isWanted(): boolean {
    return this.listeners.size > 0 || this.wantedUntil.size > 0;
  }

  /** Adds a listener. Returns a function that removes it. */
  watch(instanceId: string, listener: LiveListener): () => void {
    const instanceListeners = this.listeners.get(instanceId) ?? new Set();
    this.listeners.set(instanceId, instanceListeners.add(listener));
    if (instanceListeners.size === 1) this.announce([instanceId]);
    this.announceLater();
    return () => {
      instanceListeners.delete(listener);
      if (instanceListeners.size === 0 && this.listeners.get(instanceId) === instanceListeners) this.listeners.delete(instanceId);
    };
  }

  /** Publishes hints about durable units. */
  onCommitted(units: readonly CommitUnit[]): void {
    const hints = new Map<string, PendingHint>();
    const hintOf = (instanceId: string): PendingHint => {
      const hint = hints.get(instanceId) ?? new PendingHint();
      hints.set(instanceId, hint);
      return hint;
    };
    for (const unit of units) for (const write of unit.writes) this.collect(write, hintOf);
    for (const [instanceId, pendingHint] of hints) this.distribute(instanceId, pendingHint.hint);
  }

  /** Publishes a change that is not in a unit. */
  changed(instanceId: string, topic: LiveTopic): void {
    if (this.isWanted) this.distribute(instanceId, { topics: [topic], runIds: [] });
  }

  /** Passes a hint to the listeners of this node. */
  notifyListeners(instanceId: string, hint: LiveHint): void {
    for (const listener of this.listeners.get(instanceId) ?? []) listener(hint);
  }

  /** Records that another node has streams of these instances. */
  recordWantedElsewhere(instanceIds: readonly string[]): void {
    const until = this.options.clock.now() + ANNOUNCEMENT_VALID_MS;
    for (const instanceId of instanceIds) this.wantedUntil.set(instanceId, until);
  }

  /** Publishes that everything may have changed, because notices of other nodes may have been lost. */
  publishEverything(): void {
    for (const instanceId of this.listeners.keys())
      this.notifyListeners(instanceId, { topics: LIVE_TOPICS, runIds: [], moreRuns: true });
  }

  stop(): void {
    this.cancelPublishing?.();
    this.cancelAnnouncing?.();
    this.listeners.clear();
    this.wantedUntil.clear();
  }

  private collect(write: StoreWrite, hintOf: (instanceId: string) => PendingHint): void {
    const facts = writeFacts(write);
    if (facts.topic === null) return;
    const instanceId = facts.instanceId(write);
    if (facts.topic !== 'runs') {
      if (instanceId !== null) hintOf(instanceId).topics.add(facts.topic);
      return;
    }
    if (write.kind === 'create-run') {
      const { workflowRunId, settings } = write.run;
      hintOf(write.run.instanceId).addRun({ workflowRunId, isLimited: settings.flowControl !== null });
      return;
    }
    const run = this.options.runOf(facts.runKey(write) ?? '');
    if (run) hintOf(run.instanceId).addRun(run);
    // The instance of the run is not known here. Additional hints do no harm.
    else for (const instanceId of [...this.listeners.keys(), ...this.wantedUntil.keys()]) hintOf(instanceId).addUnnamedRun();
  }

  private distribute(instanceId: string, hint: LiveHint): void {
    this.notifyListeners(instanceId, hint);
    if (!this.options.cluster || !this.wantedUntil.has(instanceId)) return;
    const pendingHint = this.unpublishedHints.get(instanceId) ?? new PendingHint();
    pendingHint.add(hint);
    this.unpublishedHints.set(instanceId, pendingHint);
    const { clock } = this.options;
    this.cancelPublishing ??= clock.setTimer(clock.now() + COLLECT_FOR_MS, () => this.publish());
  }

  private publish(): void {
    this.cancelPublishing = null;
    const now = this.options.clock.now();
    for (const [instanceId, until] of this.wantedUntil) if (until <= now) this.wantedUntil.delete(instanceId);
    for (const [instanceId, { hint }] of this.unpublishedHints) {
      let remainingCharacters = MAX_NOTICE_CHARACTERS;
      const runIds = hint.runIds.slice(0, MAX_NOTICE_RUNS).filter((runId) => {
        remainingCharacters -= runId.length;
        return remainingCharacters >= 0;
      });
      const change = { ...hint, runIds, ...(runIds.length < hint.runIds.length ? { moreRuns: true as const } : {}) };
      if (this.wantedUntil.has(instanceId)) this.options.cluster?.notify({ kind: 'live', instanceId, ...change });
    }
    this.unpublishedHints.clear();
  }

  private announce(instanceIds: readonly string[]): void {
    const { cluster } = this.options;
    // Notices have a limited size. Ids of instances are short.
    for (let from = 0; from < instanceIds.length; from += 50)
      cluster?.notify({ kind: 'live-wanted', instanceIds: instanceIds.slice(from, from + 50) });
  }

  private announceLater(): void {
    const { clock, cluster } = this.options;
    if (!cluster) return;
    this.cancelAnnouncing ??= clock.setTimer(clock.now() + ANNOUNCE_EVERY_MS, () => {
      this.cancelAnnouncing = null;
      if (this.listeners.size === 0) return;
      this.announce([...this.listeners.keys()]);
      this.announceLater();
    });
  }
}
