/**
 * Hints for those who look on: what of an instance has changed, taken from the units that became durable. A hint says where
 * to ask again, never what there is, so one that is lost or comes twice does no harm. While nobody looks on anywhere, a
 * batch costs one question.
 *
 * A node on which somebody looks on says so to the others, again and again; as long as they hear that, they tell what they
 * write, gathered for a quarter of a second.
 */
import { type CommitUnit, type StoreWrite, writeFacts } from '../../engine/writes.js';
import type { Clock } from '../../ports/clock.js';
import type { Cluster } from '../../ports/cluster.js';
import { LIVE_TOPICS, type LiveHint, type LiveTopic } from '../../ports/live-hints.js';

/** Runs that one hint names. */
const MOST_RUNS = 50;
/** The same between nodes: a notice is short. Ids of users may be long. */
const MOST_TOLD_RUNS = 20;
const MOST_TOLD_CHARACTERS = 3_000;
const GATHERED_MS = 250;
/** That somebody looks on here is said so often, and believed for so long. */
const SAID_EVERY_MS = 4_000;
const BELIEVED_MS = 10_000;

/** What is known of a run. */
export interface RunOfHint {
  readonly instanceId: string;
  readonly workflowRunId: string;
  /** It passes the gate of a key. */
  readonly isLimited: boolean;
}

export interface LiveChangesOptions {
  readonly clock: Clock;
  /** Null where this process is alone on its store. */
  readonly cluster: Pick<Cluster, 'notify'> | null;
  /** Of runs in memory; undefined: nobody knows whose it is. */
  readonly runOf: (runKey: string) => RunOfHint | undefined;
}

export type LiveListener = (hint: LiveHint) => void;

/** Topics and runs of one instance, until they are told. */
class Gathered {
  readonly topics = new Set<LiveTopic>();
  readonly runIds = new Set<string>();

  run({ workflowRunId, isLimited }: Omit<RunOfHint, 'instanceId'>): void {
    this.topics.add('runs');
    if (isLimited) this.topics.add('flow-control');
    if (this.runIds.size < MOST_RUNS) this.runIds.add(workflowRunId);
  }

  add({ topics, runIds }: LiveHint): void {
    for (const topic of topics) this.topics.add(topic);
    for (const runId of runIds) if (this.runIds.size < MOST_RUNS) this.runIds.add(runId);
  }

  get hint(): LiveHint {
    return { topics: [...this.topics], runIds: [...this.runIds] };
  }
}

export class LiveChanges {
  private readonly options: LiveChangesOptions;
  private readonly listeners = new Map<string, Set<LiveListener>>();
  /** Instances that somebody looks on at from another node, and until when that is believed. */
  private readonly elsewhere = new Map<string, number>();
  private readonly toTell = new Map<string, Gathered>();
  private cancelTelling: (() => void) | null = null;
  private cancelSaying: (() => void) | null = null;

  constructor(options: LiveChangesOptions) {
    this.options = options;
  }

  get isWanted(): boolean {
    return this.listeners.size > 0 || this.elsewhere.size > 0;
  }

  /** Gives the function that ends it. */
  watch(instanceId: string, listener: LiveListener): () => void {
    const set = this.listeners.get(instanceId) ?? new Set();
    this.listeners.set(instanceId, set.add(listener));
    if (set.size === 1) this.say([instanceId]);
    this.saySoon();
    return () => {
      set.delete(listener);
      if (set.size === 0 && this.listeners.get(instanceId) === set) this.listeners.delete(instanceId);
    };
  }

  /** They are durable. */
  committed(units: readonly CommitUnit[]): void {
    const changed = new Map<string, Gathered>();
    const of = (instanceId: string): Gathered => {
      const known = changed.get(instanceId) ?? new Gathered();
      changed.set(instanceId, known);
      return known;
    };
    for (const unit of units) for (const write of unit.writes) this.gather(write, of);
    for (const [instanceId, gathered] of changed) this.pass(instanceId, gathered.hint);
  }

  /** Something changed that no unit told of. */
  changed(instanceId: string, topic: LiveTopic): void {
    if (this.isWanted) this.pass(instanceId, { topics: [topic], runIds: [] });
  }

  /** From another node. */
  heard(instanceId: string, hint: LiveHint): void {
    for (const listener of this.listeners.get(instanceId) ?? []) listener(hint);
  }

  /** Somebody looks on from another node. */
  wantedElsewhere(instanceIds: readonly string[]): void {
    const until = this.options.clock.now() + BELIEVED_MS;
    for (const instanceId of instanceIds) this.elsewhere.set(instanceId, until);
  }

  /** What other nodes told for a while may not have come. */
  missed(): void {
    for (const instanceId of this.listeners.keys()) this.heard(instanceId, { topics: LIVE_TOPICS, runIds: [] });
  }

  stop(): void {
    this.cancelTelling?.();
    this.cancelSaying?.();
    this.listeners.clear();
    this.elsewhere.clear();
  }

  private gather(write: StoreWrite, of: (instanceId: string) => Gathered): void {
    const facts = writeFacts(write);
    if (facts.topic === null) return;
    const instanceId = facts.instanceId(write);
    if (facts.topic !== 'runs') {
      if (instanceId !== null) of(instanceId).topics.add(facts.topic);
      return;
    }
    if (write.kind === 'create-run') {
      const { workflowRunId, settings } = write.run;
      of(write.run.instanceId).run({ workflowRunId, isLimited: settings.flowControl !== null });
      return;
    }
    const run = this.options.runOf(facts.runKey(write) ?? '');
    if (run) of(run.instanceId).run(run);
    // The instance of the run is not known here. Additional hints do no harm.
    else for (const each of [...this.listeners.keys(), ...this.elsewhere.keys()]) of(each).topics.add('runs');
  }

  private pass(instanceId: string, hint: LiveHint): void {
    this.heard(instanceId, hint);
    if (!this.options.cluster || !this.elsewhere.has(instanceId)) return;
    const gathered = this.toTell.get(instanceId) ?? new Gathered();
    gathered.add(hint);
    this.toTell.set(instanceId, gathered);
    const { clock } = this.options;
    this.cancelTelling ??= clock.setTimer(clock.now() + GATHERED_MS, () => this.publish());
  }

  private publish(): void {
    this.cancelTelling = null;
    const now = this.options.clock.now();
    for (const [instanceId, until] of this.elsewhere) if (until <= now) this.elsewhere.delete(instanceId);
    for (const [instanceId, { hint }] of this.toTell) {
      let room = MOST_TOLD_CHARACTERS;
      const runIds = hint.runIds.slice(0, MOST_TOLD_RUNS).filter((runId) => {
        room -= runId.length;
        return room >= 0;
      });
      if (this.elsewhere.has(instanceId)) this.options.cluster?.notify({ kind: 'live', instanceId, topics: hint.topics, runIds });
    }
    this.toTell.clear();
  }

  private say(instanceIds: readonly string[]): void {
    const { cluster } = this.options;
    // A notice is short, and ids of instances are.
    for (let from = 0; from < instanceIds.length; from += 50)
      cluster?.notify({ kind: 'live-wanted', instanceIds: instanceIds.slice(from, from + 50) });
  }

  private saySoon(): void {
    const { clock, cluster } = this.options;
    if (!cluster) return;
    this.cancelSaying ??= clock.setTimer(clock.now() + SAID_EVERY_MS, () => {
      this.cancelSaying = null;
      if (this.listeners.size === 0) return;
      this.say([...this.listeners.keys()]);
      this.saySoon();
    });
  }
}
