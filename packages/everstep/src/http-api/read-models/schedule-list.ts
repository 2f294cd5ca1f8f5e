/** Lists schedules. A long list is read while it is sent. */
import { LIMITS } from '../../config/limits.js';
import type { ListedSchedule, Listing, ScheduleStore } from '../../ports/stores/store.js';
import type { Reserve } from '../admission/read-budget.js';
import { StreamedList, streamed } from '../responses/streamed-json.js';

async function* partsOf<Shown>(
  store: ScheduleStore,
  instanceId: string,
  first: Listing<ListedSchedule>,
  present: (schedule: ListedSchedule) => Shown,
): AsyncGenerator<readonly Shown[]> {
  let part = first;
  for (;;) {
    yield part.items.map(present);
    if (part.next === null) return;
    part = await store.listSchedules({ instanceId, after: part.next, limit: LIMITS.schedulesAtOnce });
  }
}

export async function listedSchedules<Shown>(
  store: ScheduleStore,
  instanceId: string,
  reserve: Reserve,
  present: (schedule: ListedSchedule) => Shown,
): Promise<Shown[]> {
  const first = await store.listSchedules({ instanceId, after: null, limit: LIMITS.schedulesAtOnce });
  if (first.next === null) return first.items.map(present);
  await reserve(2 * LIMITS.partBytes);
  return streamed<Shown[]>(new StreamedList(partsOf(store, instanceId, first, present)));
}
