/** Lists schedules. A long list is read while it is sent. */
import { LIMITS } from '../../config/limits.js';
import type { ListedSchedule, Listing, ScheduleStore } from '../../ports/stores/store.js';
import type { Reserve } from '../admission/read-budget.js';
import { StreamedList, streamed } from '../responses/streamed-json.js';

async function* partsOf<Presented>(
  store: ScheduleStore,
  instanceId: string,
  first: Listing<ListedSchedule>,
  present: (schedule: ListedSchedule) => Presented,
): AsyncGenerator<readonly Presented[]> {
  let part = first;
  for (;;) {
    yield part.items.map(present);
    if (part.next === null) return;
    part = await store.listSchedules({ instanceId, after: part.next, limit: LIMITS.schedulesAtOnce });
  }
}

export async function listSchedules<Presented>(
  store: ScheduleStore,
  instanceId: string,
  reserve: Reserve,
  present: (schedule: ListedSchedule) => Presented,
): Promise<Presented[]> {
  const first = await store.listSchedules({ instanceId, after: null, limit: LIMITS.schedulesAtOnce });
  if (first.next === null) return first.items.map(present);
  await reserve(2 * LIMITS.partBytes);
  return streamed<Presented[]>(new StreamedList(partsOf(store, instanceId, first, present)));
}
