/** One delivery, from the slot that it was given to what the engine makes of its answer. Keeps invariants 23 and 24. */
import type { RunEvent } from '../../engine/runs/decide.js';
import type { Decision } from '../../engine/runs/decision.js';
import { CALLBACK_SLOT, type Run, type Task } from '../../engine/runs/run.js';
import type { Clock } from '../../ports/clock.js';
import type { Cluster } from '../../ports/cluster.js';
import type { MessageSender } from '../../ports/message-sender.js';
import { NotAttemptedError } from '../../ports/not-attempted.js';
import type { StepCaller } from '../../ports/step-caller.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { Store } from '../../ports/stores/store.js';
import type { StoreWrites } from '../commits/store-writes.js';
import type { DueTasks } from '../due/due-tasks.js';
import type { DeliveryGates, DeliveryResult, Passage, Ticket } from '../gates/delivery-gates.js';
import { makeCall } from '../messages/messages.js';
import type { Decisions } from '../runs/decisions.js';
import { HeavyRuns } from '../runs/heavy-runs.js';
import type { CachedRun, RunCache } from '../runs/run-cache.js';
import type { Callbacks } from '../services/callbacks.js';
import { type Delivered, deliver } from './deliverer.js';
import type { Departures } from './departures.js';
import { sendMessage } from './message-delivery.js';
import { isDelivery, resultOfEvent, resultOfFailure } from './passages.js';
import { timeoutOf } from './timeouts.js';

export interface DeliveriesOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Runs on while `clock` is moved. */
  readonly paceClock?: Clock;
  readonly stepCaller: StepCaller;
  readonly messageSender: MessageSender;
  readonly cluster?: Cluster;
  readonly cache: RunCache;
  readonly decisions: Decisions;
  readonly gates: DeliveryGates;
  readonly departures: Departures;
  readonly callbacks: Callbacks;
  readonly owners: InstanceOwners;
  readonly due: DueTasks;
  readonly writes: Pick<StoreWrites, 'failed' | 'persist'>;
  readonly stopped: AbortSignal;
  readonly isStopping: () => boolean;
  /** Acts on a task, now or when it is due. */
  readonly schedule: (entry: CachedRun, task: Task) => void;
  /** Whether a delivery with this timeout takes one of the slots for long deliveries. */
  readonly isLong: (instanceId: string, timeoutMs: number) => boolean;
  readonly isDeleted: (instanceId: string) => boolean;
  /** Has a delivery made, once the gates let it pass. */
  readonly admit: (ticket: Ticket, passage: Passage) => void;
}

/** What could not be attempted is tried again so long after. */
const ATTEMPT_AGAIN_MS = 1_000;

const deliveredBy = (event: RunEvent | null): Delivered | null => event && { event };

const idOf = ({ runKey, slot }: Ticket): string => `${runKey}/${slot}`;
/** Another one once others have taken over from this node. */
const nodeIdOf = (cluster: Cluster | undefined): string | undefined => cluster?.nodeId;

export class Deliveries {
  private readonly options: DeliveriesOptions;
  /** Asked for while the delivery before of the same slot was out, which may have looked too early to see what is owed now. */
  private readonly askedMeanwhile = new Map<string, Passage>();

  private readonly heavy: HeavyRuns;
  /** Takes back the timers of what is tried again. */
  private readonly tryingAgain = new Set<() => void>();

  constructor(options: DeliveriesOptions) {
    this.options = options;
    this.heavy = new HeavyRuns(options.owners);
  }

  /** Whether the delivery waits because its run is too large for the memory that is free. */
  waitsForMemory(ticket: Ticket): boolean {
    return this.heavy.isWaiting(ticket);
  }

  /** A delivery of the slot was asked for, and one is here already: when that is out it may be the wrong one. */
  asked(ticket: Ticket, passage: Passage): void {
    if (this.options.departures.isInFlight(ticket)) this.askedMeanwhile.set(idOf(ticket), passage);
  }

  /** Others have taken over: what was asked for before is theirs. */
  forgetAsked(): void {
    this.askedMeanwhile.clear();
    this.heavy.forget();
    for (const cancel of this.tryingAgain) cancel();
    this.tryingAgain.clear();
  }

  /** It has its slot; all that follows from it is begun when this resolves. */
  async make(host: string, ticket: Ticket, passage: Passage): Promise<void> {
    let recorded: () => void = () => {};
    const answerRecorded = new Promise<void>((resolve) => {
      recorded = resolve;
    });
    try {
      await this.makeOne(host, ticket, passage, answerRecorded);
    } finally {
      recorded();
    }
  }

  private async makeOne(host: string, ticket: Ticket, passage: Passage, answerRecorded: Promise<void>): Promise<void> {
    const { cache, gates, departures, callbacks, decisions, due, cluster, stopped, writes } = this.options;
    if (!gates.mayStart(ticket) || this.options.isDeleted(passage.instanceId)) {
      // Its destination was held while it waited for a place: it waits at the gates again. Or its queue instance was deleted.
      departures.done(host, ticket);
      gates.roomFreed();
      departures.drainSoon();
      due.resume(passage.instanceId);
      return;
    }
    let entry: CachedRun | null = null;
    let givenUp = 0;
    let asked: Passage | undefined;
    let askedOf = nodeIdOf(cluster);
    let delivered: Delivered | null = null;
    let result: DeliveryResult = { kind: 'not-made' };
    let needsLongSlot = false;
    let isAttempted = true;
    let heavyEnds: (() => void) | null = () => {};
    const mayTake = ({ instanceId }: Pick<Run, 'instanceId'>, timeoutMs: number): boolean => {
      needsLongSlot = !passage.isLong && this.options.isLong(instanceId, timeoutMs);
      return !needsLongSlot;
    };
    const nodeId = nodeIdOf(cluster);
    // Without its lease a node starts nothing. It may be paused, and others may take over, at any await until the request is sent.
    const mayLeave = () => {
      if (nodeIdOf(cluster) === nodeId && (cluster?.canStartWork ?? true)) return true;
      // The lease may be good again before anybody notices that it had ended.
      due.restart();
      return false;
    };
    try {
      if (!mayLeave()) return;
      if (ticket.slot === CALLBACK_SLOT) {
        const told = await callbacks.deliver(ticket.runKey, stopped, mayTake, answerRecorded);
        if (told !== 'refused') result = resultOfFailure(told);
      } else {
        entry = await this.stateFor(ticket);
        givenUp = entry?.givenUp ?? 0;
        const task = entry?.durable.tasks.get(ticket.slot);
        const isTaken = !entry || !task || !isDelivery(task) || mayTake(entry.durable, timeoutOf(entry.durable, task));
        if (entry && isTaken) heavyEnds = this.heavy.begin(ticket, entry, () => this.options.admit(ticket, passage));
        if (entry && isTaken && heavyEnds && mayLeave())
          delivered = await this.deliverTask(entry, ticket.slot, mayLeave, answerRecorded);
        result = resultOfEvent(delivered?.event ?? null);
      }
    } catch (error) {
      // It is not the fault of the endpoint, and counts as no attempt.
      if (error instanceof NotAttemptedError) isAttempted = false;
      // Not sent, because it cannot be read what is to be sent, or the result could not be recorded. What is due is read
      // again when the store takes writes.
      else if (!writes.failed(error)) throw error;
    } finally {
      heavyEnds?.();
      departures.done(host, ticket);
      asked = this.askedMeanwhile.get(idOf(ticket));
      this.askedMeanwhile.delete(idOf(ticket));
      askedOf = nodeIdOf(cluster);
      gates.done(ticket, passage, result);
      gates.roomFreed();
      departures.drainSoon();
      due.resume(passage.instanceId);
    }
    if (heavyEnds === null) {
      // Its run is read again when it is its turn.
      if (entry && entry.deliveries === 0 && entry.uncommitted === 0) cache.drop(ticket.runKey);
      return;
    }
    if (needsLongSlot) {
      // It was read from the store without its timeout.
      this.options.admit(ticket, { ...passage, isLong: true });
      return;
    }
    if (!isAttempted) {
      this.tryAgain(ticket, passage);
      return;
    }
    const applied = entry !== null && (await this.decide(entry, givenUp, delivered, ticket));
    if (applied) return;
    // A decision asks for what it makes due itself, and the place is free for that.
    if (asked && nodeIdOf(cluster) === askedOf) this.options.admit(ticket, asked);
    if (passage.queue === undefined || !cluster) return;
    // It was claimed before the answer to the commit that made it due: it is this node's, so no scan claims it again.
    if (!delivered) due.restart();
    // It may have ended on another node: then its place in the queue is free.
    gates.verifyQueues((runKey) => decisions.isActive(runKey));
  }

  private tryAgain(ticket: Ticket, passage: Passage): void {
    const { clock, paceClock = clock, isStopping, admit } = this.options;
    if (isStopping()) return;
    const cancel = paceClock.setTimer(paceClock.now() + ATTEMPT_AGAIN_MS, () => {
      this.tryingAgain.delete(cancel);
      admit(ticket, passage);
    });
    this.tryingAgain.add(cancel);
  }

  /** Whether something was decided on the answer. */
  private async decide(entry: CachedRun, givenUp: number, delivered: Delivered | null, ticket: Ticket): Promise<boolean> {
    const { decisions, due, cluster, isStopping } = this.options;
    // What was read again since then found it still under way.
    if (entry.givenUp !== givenUp && !isStopping()) due.restart();
    const isCurrent = decisions.isCurrent(entry);
    if (isCurrent) return delivered !== null && (await this.record(entry, delivered)) !== null;
    if (isStopping()) return false;
    // The state was let go while the endpoint worked.
    const applied = delivered && (await this.record(entry, delivered));
    // Of several nodes the one that decided meanwhile acts on what follows.
    if (!applied && (delivered === null || !cluster)) await this.askAgain(ticket);
    return applied !== null;
  }

  /**
   * Decides on the answer, as soon as the store takes writes. By then the state may have been let go: the answer counts if
   * its attempt is still the one that is awaited, so it may be decided on again when nobody knows whether it was written.
   */
  private async record(entry: CachedRun, { event, onDurable }: Delivered): Promise<Decision | null> {
    const { decisions, writes } = this.options;
    const { key: runKey } = entry.run;
    try {
      return await writes.persist(event, () =>
        decisions.isCurrent(entry)
          ? decisions.applyOrReject(entry, event, onDurable)
          : decisions.decideOn(runKey, event, { onDurable }),
      );
    } catch (error) {
      decisions.lost(runKey, error);
      return null;
    }
  }

  /** The run, by its latest state when an older one has nothing to deliver in the slot. */
  private async stateFor({ runKey, slot }: Ticket): Promise<CachedRun | null> {
    const { cache, cluster, decisions } = this.options;
    const entry = await cache.load(runKey);
    if (!cluster || !entry || entry.run.tasks.has(slot)) return entry;
    return (await decisions.openTask(runKey, slot))?.entry ?? null;
  }

  private async askAgain({ runKey, slot }: Ticket): Promise<void> {
    const { cluster, due, cache, schedule } = this.options;
    // Of several nodes it may be another's by now: this one reads again what it has claimed.
    if (cluster) {
      due.restart();
      return;
    }
    const entry = await cache.load(runKey);
    const task = entry?.run.tasks.get(slot);
    if (entry && task) schedule(entry, task);
  }

  /** One attempt of the task; null when there is nothing to do or it was given up. */
  private async deliverTask(
    entry: CachedRun,
    slot: number,
    mayLeave: () => boolean,
    answerRecorded: Promise<void>,
  ): Promise<Delivered | null> {
    const { store, stepCaller, messageSender, clock, gates, cache } = this.options;
    const task = entry.durable.tasks.get(slot);
    // A decision that is being written has something else in mind for the slot: whatever that is, it is scheduled
    // once it is durable. To deliver the old task now would also keep the new one out of the queue.
    if (!task || task !== entry.run.tasks.get(slot) || task.dueAt === null || task.dueAt > clock.now()) return null;
    const onSent = () => {
      if (mayLeave()) gates.left({ runKey: entry.run.key, slot });
      else cache.giveUp(entry);
    };
    switch (task.kind) {
      case 'advance':
      case 'step':
        return deliver(store, stepCaller, entry, task, {
          onSent: () => {
            entry.deliveryStartedAt.set(slot, clock.now());
            onSent();
          },
          answerRecorded,
        }).finally(() => entry.deliveryStartedAt.delete(slot));
      case 'call':
        return deliveredBy(await makeCall(messageSender, entry, task, () => clock.now(), { onSent, answerRecorded }));
      case 'message':
        return deliveredBy(
          await sendMessage({ store, sender: messageSender, now: () => clock.now() }, entry, task, { onSent, answerRecorded }),
        );
      default:
        return null;
    }
  }
}
