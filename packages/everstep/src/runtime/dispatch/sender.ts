/**
 * Makes one attempt of a delivery that has a slot: reads the state of its run, sends the request and returns the response as
 * an event for the engine.
 *
 * Keeps invariant 24.
 */
import type { RunEvent } from '../../engine/runs/decide.js';
import { CALLBACK_SLOT, type DeliveryFailure, type Run } from '../../engine/runs/run.js';
import { DamagedValueError } from '../../ports/damaged-value.js';
import { NotAttemptedError } from '../../ports/not-attempted.js';
import type { DueTasks } from '../due/due-tasks.js';
import { type Delivery, type DeliveryRef, type DeliveryResult, NOT_SENT } from '../gates/delivery.js';
import type { DeliveryGates } from '../gates/delivery-gates.js';
import { makeCall } from '../messages/messages.js';
import type { Decisions } from '../runs/decisions.js';
import { HeavyRuns, type Redispatcher } from '../runs/heavy-runs.js';
import type { CachedRun, RunCache } from '../runs/run-cache.js';
import type { RuntimeDeps } from '../runs/runtime-deps.js';
import type { Callbacks } from '../services/callbacks.js';
import { resultOfEvent, resultOfFailure } from './delivery-result.js';
import { isDeliveryTask } from './delivery-task.js';
import { sendMessage } from './requests/message-delivery.js';
import { type DeliveredEvent, deliverStep } from './requests/step-delivery.js';
import { isLong, timeoutMsOf } from './requests/timeouts.js';

interface SenderParts {
  readonly cache: RunCache;
  readonly decisions: Decisions;
  readonly callbacks: Callbacks;
  readonly due: DueTasks;
  readonly gates: Pick<DeliveryGates, 'onRequestSent'>;
  readonly redispatch: Redispatcher;
}

/** The outcome of one attempt to make a delivery. */
export type Attempt =
  | {
      readonly kind: 'attempted';
      readonly result: DeliveryResult;
      /** The state of the run; null if the run is not active, and for failure callbacks, which record their own outcome. */
      readonly entry: CachedRun | null;
      /** `entry.giveUpCount` when the state was read. */
      readonly giveUpCount: number;
      /** The response; null if nothing was sent, or the attempt was given up. */
      readonly response: DeliveredEvent | null;
    }
  | {
      /**
       * Nothing was sent. `lease-lost`: this node may not start work. `waits-for-memory`: the run is larger than the free
       * memory; it is dispatched again when memory is free. `needs-long-slot`: the timeout is long, which is known only from
       * the run. `not-attempted`: this process lacks a resource. `handed-over`: another node makes it.
       */
      readonly kind: 'lease-lost' | 'waits-for-memory' | 'needs-long-slot' | 'not-attempted' | 'handed-over';
      readonly result: DeliveryResult;
    };

const unsentAttempt = (kind: Exclude<Attempt['kind'], 'attempted'>): Attempt => ({ kind, result: NOT_SENT });

const toDeliveredEvent = (event: RunEvent | null): DeliveredEvent | null => event && { event };

export class DeliverySender {
  private readonly deps: RuntimeDeps;
  private readonly parts: SenderParts;
  private readonly heavyRuns: HeavyRuns;
  private readonly abortController = new AbortController();

  constructor(deps: RuntimeDeps, parts: SenderParts) {
    this.deps = deps;
    this.parts = parts;
    this.heavyRuns = new HeavyRuns(deps.owners, parts.redispatch, deps.paceClock);
  }

  /** Returns whether the delivery waits because its run is larger than the free memory. */
  waitsForMemory(ref: DeliveryRef): boolean {
    return this.heavyRuns.isWaiting(ref);
  }

  /** Forgets the deliveries that wait for memory. */
  forgetWaiting(): void {
    this.heavyRuns.forget();
  }

  /** Removes the delivery of a task that no longer exists, if it waits for memory. */
  withdraw(ref: DeliveryRef): void {
    this.heavyRuns.withdraw(ref);
  }

  /** Removes the deliveries of a run that wait for memory, because it has ended on another node. */
  withdrawRun(runKey: string): void {
    this.heavyRuns.withdrawRun(runKey);
  }

  /** Removes the deliveries of a deleted queue instance that wait for memory. */
  dropInstance(instanceId: string): void {
    this.heavyRuns.drop(instanceId);
  }

  /** Aborts the failure callbacks in flight. */
  abort(): void {
    this.abortController.abort();
  }

  /** Makes one attempt. Resolves after the response. Rejects on an unexpected error. */
  send(delivery: Delivery, outcomeRecorded: Promise<void>): Promise<Attempt> {
    const mayWork = this.leaseCheck();
    if (!mayWork()) return Promise.resolve(unsentAttempt('lease-lost'));
    return delivery.slot === CALLBACK_SLOT
      ? this.sendCallback(delivery, outcomeRecorded)
      : this.sendTask(delivery, mayWork, outcomeRecorded);
  }

  /**
   * Returns a function that checks the lease of this node. The process may be paused at any await until the request is sent,
   * and other nodes may take over in the meantime.
   */
  private leaseCheck(): () => boolean {
    const { cluster } = this.deps;
    const nodeId = cluster?.nodeId;
    return () => {
      if (cluster?.nodeId === nodeId && (cluster?.canStartWork ?? true)) return true;
      // The lease may be valid again before anything notices that it had expired.
      this.parts.due.restart();
      return false;
    };
  }

  private needsLongSlot({ limits }: Delivery, { instanceId }: Run, timeoutMs: number): boolean {
    return !limits.isLong && isLong(timeoutMs, instanceId, this.deps.limits);
  }

  private async sendCallback(delivery: Delivery, outcomeRecorded: Promise<void>): Promise<Attempt> {
    const mayTake = (run: Run, timeoutMs: number) => !this.needsLongSlot(delivery, run, timeoutMs);
    const { signal } = this.abortController;
    try {
      const failure = await this.parts.callbacks.deliver(delivery.runKey, signal, mayTake, outcomeRecorded);
      if (failure === 'refused') return unsentAttempt('needs-long-slot');
      return { kind: 'attempted', result: resultOfFailure(failure), entry: null, giveUpCount: 0, response: null };
    } catch (error) {
      return this.attemptOfError(error, null, 0);
    }
  }

  private async sendTask(delivery: Delivery, mayWork: () => boolean, outcomeRecorded: Promise<void>): Promise<Attempt> {
    let entry: CachedRun | null = null;
    let giveUpCount = 0;
    let endHeavyRun: (() => void) | null = null;
    try {
      entry = await this.loadState(delivery);
      if (!entry) return { kind: 'attempted', result: NOT_SENT, entry, giveUpCount, response: null };
      giveUpCount = entry.giveUpCount;
      const run = entry.durableRun;
      const task = run.tasks.get(delivery.slot);
      if (task && isDeliveryTask(task) && this.needsLongSlot(delivery, run, timeoutMsOf(run, task)))
        return unsentAttempt('needs-long-slot');
      endHeavyRun = this.heavyRuns.start(delivery, entry);
      if (!endHeavyRun) {
        // The run is read again when it is its turn.
        if (entry.deliveries === 0 && entry.uncommitted === 0) this.parts.cache.drop(delivery.runKey);
        return unsentAttempt('waits-for-memory');
      }
      const response = mayWork() ? await this.deliverTask(entry, delivery.slot, mayWork, outcomeRecorded) : null;
      return { kind: 'attempted', result: resultOfEvent(response?.event ?? null), entry, giveUpCount, response };
    } catch (error) {
      const failureEvent = error instanceof DamagedValueError && entry ? this.damagedValueEvent(error, entry, delivery) : null;
      if (failureEvent) return { kind: 'attempted', result: NOT_SENT, entry, giveUpCount, response: failureEvent };
      return this.attemptOfError(error, entry, giveUpCount);
    } finally {
      endHeavyRun?.();
      this.heavyRuns.attempted(delivery);
    }
  }

  /** Returns the event that fails a run whose stored data is damaged, because each attempt would read the same data. */
  private damagedValueEvent(
    { message }: DamagedValueError,
    { durableRun: run }: CachedRun,
    { slot }: DeliveryRef,
  ): DeliveredEvent | null {
    const task = run.tasks.get(slot);
    if (!task || !isDeliveryTask(task)) return null;
    this.deps.log.error({ instanceId: run.instanceId, runKey: run.key, error: message }, 'stored value is damaged, run failed');
    const attempt = { slot, messageId: task.messageId, retried: task.retried };
    const failure: DeliveryFailure = {
      ...{ cause: 'refused', message, retry: { kind: 'never' } },
      ...{ status: null, responseHeaders: {}, responseBody: new Uint8Array() },
    };
    return {
      event:
        task.kind === 'message'
          ? { kind: 'message-attempted', attempt, failure, notice: null }
          : { kind: 'attempt-failed', attempt, failure },
    };
  }

  /** Returns the attempt that ended with an expected error; throws any other error. */
  private attemptOfError(error: unknown, entry: CachedRun | null, giveUpCount: number): Attempt {
    // The endpoint is not at fault, and no attempt is counted.
    if (error instanceof NotAttemptedError) return unsentAttempt('not-attempted');
    // The store is unavailable: what to send could not be read, or the result could not be recorded. Due tasks are read again
    // when the store accepts writes.
    if (this.deps.writes.reportFailure(error)) return { kind: 'attempted', result: NOT_SENT, entry, giveUpCount, response: null };
    throw error;
  }

  /** Resolves with the run, in its latest state if an older one has nothing to deliver in the slot. */
  private async loadState({ runKey, slot }: DeliveryRef): Promise<CachedRun | null> {
    const { cache, decisions } = this.parts;
    const entry = await cache.load(runKey);
    if (!this.deps.cluster || !entry || entry.run.tasks.has(slot)) return entry;
    return (await decisions.openTask(runKey, slot))?.entry ?? null;
  }

  /** Delivers the task. Resolves with the response; null if there is nothing to do or the attempt was given up. */
  private async deliverTask(
    entry: CachedRun,
    slot: number,
    mayWork: () => boolean,
    outcomeRecorded: Promise<void>,
  ): Promise<DeliveredEvent | null> {
    const { store, slices, limits, stepCaller, messageSender, clock, observer, traces, alerts } = this.deps;
    const task = entry.durableRun.tasks.get(slot);
    // A decision that is being written changes the task. The new task is scheduled once the decision is durable; sending the
    // old one now would also keep the new one out of the queue.
    if (!task || task !== entry.run.tasks.get(slot) || task.dueAt === null || task.dueAt > clock.now()) return null;
    const { dueAt } = task;
    const onSent = () => {
      if (mayWork()) {
        this.parts.gates.onRequestSent({ runKey: entry.run.key, slot });
        observer.deliverySent(clock.now() - dueAt);
      } else this.parts.cache.giveUp(entry);
    };
    switch (task.kind) {
      case 'advance':
      case 'step':
        return deliverStep({ store, slices, caller: stepCaller, traces }, entry, task, {
          onSent: () => {
            entry.deliveryStartedAt.set(slot, clock.now());
            onSent();
          },
          outcomeRecorded,
        }).finally(() => entry.deliveryStartedAt.delete(slot));
      case 'call':
        return toDeliveredEvent(
          await makeCall(messageSender, entry, task, { now: () => clock.now(), traces, limits }, { onSent, outcomeRecorded }),
        );
      case 'message':
        return toDeliveredEvent(
          await sendMessage({ store, sender: messageSender, now: () => clock.now(), traces, alerts, limits }, entry, task, {
            onSent,
            outcomeRecorded,
          }),
        );
      default:
        return null;
    }
  }
}
