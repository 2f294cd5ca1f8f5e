/** Reads queues, URL groups, flow control keys, schedules, holds and settings. */
import type { Store } from '../../../ports/stores/store.js';
import { integer } from '../../records/columns.js';
import { ofInstance } from '../sql/dialect.js';
import { type Procedure, row, type SqlStore } from '../sql/procedure.js';
import { raw, sql } from '../sql/sql.js';
import { findFlowControl, listFlowControls } from './flow-controls.js';
import { findQueue, listQueues } from './queues.js';
import { dueSchedules, findSchedule, listSchedules, nextScheduleAt } from './schedules.js';
import { findInstanceSettings, listHolds } from './settings.js';
import { findUrlGroup, listUrlGroups } from './url-groups.js';

type CountQuery = Parameters<Store['countObjects']>[0];

const TABLES = {
  queue: raw('queue'),
  'url-group': raw('url_group'),
  'flow-control': raw('flow_control'),
  schedule: raw('schedule'),
};

export function* countObjects({ instanceId, objectKind }: CountQuery): Procedure<number> {
  const foundRow = yield* row(sql`SELECT count(*) AS objects FROM ${TABLES[objectKind]} WHERE ${ofInstance(instanceId)}`);
  return foundRow ? integer(foundRow, 'objects') : 0;
}

export function createControls(store: SqlStore) {
  return {
    listFlowControls: ({ instanceId }) => store.read(listFlowControls(instanceId)),
    findFlowControl: ({ instanceId, key }) => store.read(findFlowControl(instanceId, key)),
    listQueues: ({ instanceId }) => store.read(listQueues(instanceId)),
    findQueue: ({ instanceId, name }) => store.read(findQueue(instanceId, name)),
    listUrlGroups: ({ instanceId }) => store.read(listUrlGroups(instanceId)),
    findUrlGroup: ({ instanceId, name }) => store.read(findUrlGroup(instanceId, name)),
    countObjects: (query) => store.read(countObjects(query)),
    listSchedules: ({ instanceId, after, limit }) => store.read(listSchedules(instanceId, after, limit)),
    findSchedule: ({ instanceId, scheduleId }) => store.read(findSchedule(instanceId, scheduleId)),
    // The server starts the runs of these schedules, so the schedules must be durable.
    dueSchedules: (query) => store.readDurable(dueSchedules(query)),
    nextScheduleAt: () => store.read(nextScheduleAt()),
    listHolds: ({ instanceId }) => store.read(listHolds(instanceId)),
    instanceSettings: ({ instanceId }) => store.read(findInstanceSettings(instanceId)),
  } satisfies Partial<Store>;
}
