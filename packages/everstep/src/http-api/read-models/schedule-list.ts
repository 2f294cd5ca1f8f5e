/** Lists schedules. A long list is read while it is sent. */
import { LIMITS } from '../../config/limits.js';
import type { ListedSchedule, Listing, ScheduleStore } from '../../ports/stores/store.js';
import type { Reserve } from '../admission/read-budget.js';
import { StreamedList, streamedResponse } from '../responses/streamed-json.js';

async function* presentParts<PresentedSchedule>(
  store: ScheduleStore,
  instanceId: string,
  firstPart: Listing<ListedSchedule>,
  present: (schedule: ListedSchedule) => PresentedSchedule,
): AsyncGenerator<readonly PresentedSchedule[]> {
  let part = firstPart;
  for (;;) {
    yield part.items.map(present);
    if (part.next === null) return;
    part = await store.listSchedules({ instanceId, after: part.next, limit: LIMITS.schedulesAtOnce });
  }
}

/** Returns all schedules of a queue instance, oldest first. */
export async function listSchedules<PresentedSchedule>(
  store: ScheduleStore,
  instanceId: string,
  reserve: Reserve,
  present: (schedule: ListedSchedule) => PresentedSchedule,
): Promise<PresentedSchedule[]> {
  const firstPart = await store.listSchedules({ instanceId, after: null, limit: LIMITS.schedulesAtOnce });
  if (firstPart.next === null) return firstPart.items.map(present);
  await reserve(2 * LIMITS.partBytes);
  return streamedResponse<PresentedSchedule[]>(new StreamedList(presentParts(store, instanceId, firstPart, present)));
}
