/**
 * Lists the deliveries that wait for a flow control key. The process that holds the gates of the instance has the list.
 * Another process reads what is due at the key, in the order of due times. That is the order of the offers, except for
 * deliveries that waited for their destination.
 */
import { LIMITS } from '../../config/limits.js';
import type { Clock } from '../../ports/clock.js';
import type { Store, TaskReference } from '../../ports/stores/store.js';
import type { FlowControlStatus, KeyWaiter, KeyWaitList } from '../services/workflow-service.js';
import type { DeliveryRef } from './delivery.js';
import type { DeliveryGates } from './delivery-gates.js';

/** Number of tasks per read. */
const PAGE_SIZE = 1_000;

export interface KeyWaitListOptions {
  readonly store: Pick<Store, 'dueTasks' | 'loadRun'>;
  readonly clock: Clock;
  /** Whether this process holds the gates of the instance. */
  readonly holdsGates: boolean;
  readonly gates: Pick<DeliveryGates, 'waitingAt'>;
}

interface KeyQuery {
  readonly instanceId: string;
  readonly key: string;
  readonly limit: number;
}

/** Reads the deliveries that are due at the key. The first `inFlight` of them are assumed to be in flight. */
async function readDueDeliveries(
  { store, clock }: KeyWaitListOptions,
  { instanceId, key, limit }: KeyQuery,
  inFlight: number,
): Promise<readonly DeliveryRef[]> {
  const refs: DeliveryRef[] = [];
  let after: TaskReference | null = null;
  for (let scanned = 0; scanned < LIMITS.maxDueTasksScanned && refs.length < inFlight + limit; scanned += PAGE_SIZE) {
    const page: Awaited<ReturnType<Store['dueTasks']>> = await store.dueTasks({
      instanceId,
      before: clock.now(),
      after,
      limit: PAGE_SIZE,
    });
    refs.push(...page.filter((task) => task.flowControlKey === key));
    after = page.at(-1) ?? null;
    if (page.length < PAGE_SIZE) break;
    // Other work of the process gets its turn.
    await new Promise<void>((resolve) => clock.endOfTurn(resolve));
  }
  return refs.slice(inFlight, inFlight + limit);
}

/** Returns the first deliveries that wait for the key, with their runs. */
export async function readKeyWaitList(
  options: KeyWaitListOptions,
  query: KeyQuery,
  status: FlowControlStatus,
): Promise<KeyWaitList> {
  const { instanceId, key, limit } = query;
  const refs = options.holdsGates
    ? options.gates.waitingAt(instanceId, key, limit)
    : await readDueDeliveries(options, query, status.inFlight);
  const waiters: KeyWaiter[] = [];
  for (const { runKey, slot } of refs) {
    const run = await options.store.loadRun({ runKey });
    const task = run?.tasks.get(slot);
    // The delivery may have been sent or have ended since.
    if (!run || !task || task.dueAt === null) continue;
    waiters.push({ run, stepName: 'name' in task ? task.name : null, since: task.dueAt });
  }
  return { waiting: waiters, size: Math.max(status.waiting, waiters.length) };
}
