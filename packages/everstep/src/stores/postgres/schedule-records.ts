/** Schedules, and which of them is due. */
import type { Schedule } from '../../engine/run.js';
import type { ListedSchedule, StoreWrite } from '../../ports/store.js';
import type { Session, TransactionSession } from './connection.js';

export type ScheduleWrite = Extract<StoreWrite, { readonly kind: 'put-schedule' | 'delete-schedule' }>;

export interface ScheduleReference {
  readonly instanceId: string;
  readonly scheduleId: string;
}

/** All of a batch, in their order. Sends them, and waits for nothing. */
export function writeSchedules(_session: TransactionSession, _writes: readonly ScheduleWrite[]): void {
  throw new Error('not built yet');
}

/**
 * The next ticks of these schedules in their order: undefined where there is no such schedule. Their rows are locked
 * until the transaction ends, in an order that does not depend on the one given. Sends its statement at once.
 */
export async function lockNextTicks(
  _session: TransactionSession,
  _schedules: readonly ScheduleReference[],
): Promise<readonly (number | null | undefined)[]> {
  throw new Error('not built yet');
}

export async function listSchedules(_session: Session, _instanceId: string): Promise<readonly ListedSchedule[]> {
  throw new Error('not built yet');
}

export async function countSchedules(_session: Session, _instanceId: string): Promise<number> {
  throw new Error('not built yet');
}

export async function findSchedule(_session: Session, _instanceId: string, _scheduleId: string): Promise<Schedule | null> {
  throw new Error('not built yet');
}

export async function dueSchedules(_session: Session, _before: number, _limit: number): Promise<readonly Schedule[]> {
  throw new Error('not built yet');
}

export async function nextScheduleAt(_session: Session): Promise<number | null> {
  throw new Error('not built yet');
}
