/** Stores repairs, and finds those that are due. */
import { OPEN_PHASES, REPAIR_PHASES } from '../../../engine/dead-letters/repair.js';
import type { RepairDriver, RepairId, RepairRecord, RepairStore } from '../../../ports/stores/repair-store.js';
import { integer, integerOrNull, json, type Row, text, textOrNull, word } from '../../records/columns.js';
import type { AddAudit } from '../audit/audit-log.js';
import { INSTANCE_COLUMN, inList, instanceColumnValue, ofInstance } from '../sql/dialect.js';
import { count, type Procedure, row, rows, type SqlStore, send } from '../sql/procedure.js';
import { byDialect, raw, type Sql, sql } from '../sql/sql.js';
import {
  addItems,
  canaryGroups,
  chooseCanary,
  listItems,
  pendingItems,
  removeItems,
  scheduledDeletions,
  settleItems,
} from './repair-items.js';

/** The stored JSON of a repair, without fields that have their own columns. */
type StoredRepair = Omit<RepairRecord, 'version' | 'wakeAt'>;

const recordOf = (foundRow: Row): RepairRecord => {
  const { repair, ...otherFields } = json<StoredRepair>(foundRow, 'data');
  return {
    ...otherFields,
    repair: { ...repair, phase: word(foundRow, 'phase', REPAIR_PHASES) },
    wakeAt: integerOrNull(foundRow, 'wake_at'),
    version: integer(foundRow, 'version'),
  };
};

const dataOf = ({ version: _version, wakeAt: _wakeAt, ...storedRepair }: RepairRecord): string => JSON.stringify(storedRepair);

const isRepair = ({ instanceId, repairId }: RepairId): Sql => sql`${ofInstance(instanceId)} AND repair_id = ${repairId}`;

/** Column in the order of creation. In PostgreSQL it is the id, which starts with the time of its creation. */
const CREATION = byDialect({ sqlite: raw('seq'), postgres: raw('repair_id') });
const POSITION = byDialect({ sqlite: raw('CAST(seq AS text)'), postgres: raw('repair_id') });
const isBefore = (position: string): Sql =>
  byDialect({ sqlite: sql`seq < ${Number(position)}`, postgres: sql`repair_id < ${position}` });

/** Returns SQL only for a store that several processes share. There, a repair names the process that last wrote and drives it. */
const ifShared = (fragment: Sql): Sql => byDialect({ sqlite: raw(''), postgres: fragment });
const nodeOf = (driver: RepairDriver | null): string | null => driver?.nodeId ?? null;
const untilOf = (driver: RepairDriver | null): number | null => driver?.until ?? null;

type CreateQuery = Parameters<RepairStore['create']>[0];

function* create({ record, driver, maxOpen }: CreateQuery): Procedure<boolean> {
  const { instanceId, repairId, createdAt, phase, endedAt } = record.repair;
  if (maxOpen !== undefined) {
    const openRows = yield* rows(sql`
      SELECT 1 FROM repair WHERE ${ofInstance(instanceId)} AND phase ${inList(OPEN_PHASES)} LIMIT ${maxOpen}`);
    if (openRows.length >= maxOpen) return false;
  }
  yield* send(sql`
    INSERT INTO repair (${INSTANCE_COLUMN}, repair_id, version, created_at, phase, ended_at, wake_at, data
      ${ifShared(raw(', driver, driven_until'))})
    VALUES (${instanceColumnValue(instanceId)}, ${repairId}, 0, ${createdAt}, ${phase}, ${endedAt}, ${record.wakeAt}, ${dataOf(record)}
      ${ifShared(sql`, ${nodeOf(driver)}, ${untilOf(driver)}`)})`);
  return true;
}

function* find(id: RepairId): Procedure<RepairRecord | null> {
  const foundRow = yield* row(sql`SELECT * FROM repair WHERE ${isRepair(id)}`);
  return foundRow && recordOf(foundRow);
}

/** Returns the version of the repair; null if there is no such repair. */
export function* versionOf(id: RepairId): Procedure<number | null> {
  const foundRow = yield* row(sql`SELECT version FROM repair WHERE ${isRepair(id)}`);
  return foundRow && integer(foundRow, 'version');
}

type ListQuery = Parameters<RepairStore['list']>[0];

function* list({ instanceId, phases, after, limit }: ListQuery) {
  const phaseCondition = phases ? sql`AND phase ${inList(phases)}` : raw('');
  const positionCondition = after === null ? raw('') : sql`AND ${isBefore(after)}`;
  const foundRows = yield* rows(sql`
    SELECT *, ${POSITION} AS position FROM repair WHERE ${ofInstance(instanceId)} ${positionCondition} ${phaseCondition}
    ORDER BY ${CREATION} DESC LIMIT ${limit + 1}`);
  const page = foundRows.slice(0, limit);
  const lastRow = page.at(-1);
  return { items: page.map(recordOf), next: foundRows.length > limit && lastRow ? text(lastRow, 'position') : null };
}

type PutQuery = Parameters<RepairStore['put']>[0];

function* put({ record, driver, items = [], canary = 0, audit }: PutQuery, addAudit: AddAudit): Procedure<boolean> {
  const { repair, version, wakeAt } = record;
  const writtenCount = yield* count(sql`
    UPDATE repair SET version = version + 1, phase = ${repair.phase}, ended_at = ${repair.endedAt}, wake_at = ${wakeAt},
      data = ${dataOf(record)} ${ifShared(sql`, driver = ${nodeOf(driver)}, driven_until = ${untilOf(driver)}`)}
    WHERE ${isRepair(repair)} AND version = ${version}`);
  if (writtenCount !== 1) return false;
  if (items.length > 0) yield* addItems(repair, items);
  if (canary > 0) yield* chooseCanary(repair, canary);
  if (audit) yield* addAudit(audit);
  return true;
}

type ClaimQuery = Parameters<RepairStore['claimDue']>[0];

/** Returns the rows of due repairs that the driver may claim. Those of each instance are limited, so that no instance hides others. */
function dueRows({ before, limit, limitPerInstance, except, driver }: ClaimQuery): Procedure<readonly Row[]> {
  const isFree = driver === null ? raw('') : sql`AND ${isFreeFor(driver, before)}`;
  return rows(sql`
    SELECT * FROM (
      SELECT *, row_number() OVER (PARTITION BY ${INSTANCE_COLUMN} ORDER BY wake_at, ${CREATION}) AS position FROM repair
      WHERE wake_at <= ${before} ${isFree} AND NOT repair_id ${inList(except.map(({ repairId }) => repairId))}) AS due
    WHERE position <= ${limitPerInstance} ORDER BY position, wake_at, ${CREATION} LIMIT ${limit}`);
}

const isFreeFor = ({ nodeId }: RepairDriver, now: number): Sql =>
  sql`(driver IS NULL OR driver = ${nodeId} OR driven_until <= ${now})`;

/** Returns the earliest end that a lease may have without being renewed. */
const renewedBelow = ({ until }: RepairDriver, now: number): number => Math.floor((now + until) / 2);

function* claim(id: RepairId, before: number, driver: RepairDriver): Procedure<RepairRecord | null> {
  const claimedRow = yield* row(sql`
    UPDATE repair SET driver = ${driver.nodeId}, driven_until = ${driver.until}
    WHERE ${isRepair(id)} AND wake_at <= ${before} AND ${isFreeFor(driver, before)} RETURNING *`);
  return claimedRow && recordOf(claimedRow);
}

/**
 * Claims due repairs for one of several processes. Each is claimed in its own transaction: instances can be on different servers,
 * and a transaction that locks several repairs could deadlock with commits, which lock repairs in another order.
 */
async function claimDue(store: SqlStore, query: ClaimQuery, driver: RepairDriver): Promise<readonly RepairRecord[]> {
  const { before } = query;
  const claimedRepairs: RepairRecord[] = [];
  for (const dueRow of await store.read(dueRows(query))) {
    const record = recordOf(dueRow);
    const isOwn = textOrNull(dueRow, 'driver') === driver.nodeId;
    const hasLease = isOwn && (integerOrNull(dueRow, 'driven_until') ?? 0) >= renewedBelow(driver, before);
    // Another process may have been faster.
    const claimedRecord = hasLease ? record : await store.write(() => claim(record.repair, before, driver));
    if (claimedRecord) claimedRepairs.push(claimedRecord);
  }
  return claimedRepairs;
}

type RenewQuery = Parameters<RepairStore['renewLeases']>[0];

/** Renews each lease in its own transaction, like `claimDue`. */
async function renewLeases(store: SqlStore, { repairIds, now, driver }: RenewQuery): Promise<void> {
  const { nodeId, until } = driver;
  const isExpiring = sql`driver = ${nodeId} AND driven_until < ${renewedBelow(driver, now)}`;
  const expiringRows = await store.read(
    rows(sql`
      SELECT instance_id, repair_id FROM repair WHERE instance_id ${inList(repairIds.map(({ instanceId }) => instanceId))}
        AND repair_id ${inList(repairIds.map(({ repairId }) => repairId))} AND ${isExpiring}`),
  );
  for (const expiringRow of expiringRows) {
    const id = { instanceId: text(expiringRow, 'instance_id'), repairId: text(expiringRow, 'repair_id') };
    await store.write(() => send(sql`UPDATE repair SET driven_until = ${until} WHERE ${isRepair(id)} AND driver = ${nodeId}`));
  }
}

function* nextAt(nodeId: string | null, after: number): Procedure<number | null> {
  const at = byDialect({
    sqlite: raw('wake_at'),
    postgres: sql`CASE WHEN driver IS NULL OR driver = ${nodeId} THEN wake_at ELSE greatest(wake_at, driven_until) END`,
  });
  const foundRow = yield* row(sql`SELECT min(${at}) AS at FROM repair WHERE wake_at IS NOT NULL AND ${at} > ${after}`);
  return foundRow && integerOrNull(foundRow, 'at');
}

type RemoveQuery = Parameters<RepairStore['removeBefore']>[0];

function* removeBefore({ instanceId, before, plannedBefore, limit }: RemoveQuery): Procedure<boolean> {
  const endedRow = yield* row(sql`
    SELECT repair_id FROM repair WHERE ${ofInstance(instanceId)} AND wake_at IS NULL
      AND (ended_at < ${before ?? 0} OR (phase = 'planned' AND created_at < ${plannedBefore})) ORDER BY ${CREATION} LIMIT 1`);
  if (!endedRow) return false;
  const id = { instanceId, repairId: text(endedRow, 'repair_id') };
  if ((yield* removeItems(id, limit)) < limit) yield* send(sql`DELETE FROM repair WHERE ${isRepair(id)}`);
  return true;
}

/** The parts that each store implements separately, because they read runs or count many entries. */
export interface StoreSpecificRepairs extends Pick<RepairStore, 'describe' | 'cohorts' | 'counts' | 'endedItems'> {
  readonly addAudit: AddAudit;
  /**
   * Called in the transaction that creates a repair, before the open repairs are counted and the repair is written. No other
   * repair of the instance is created until the transaction ends.
   */
  recordCreation(instanceId: string, at: number): Procedure<void>;
}

export function createRepairs(
  store: SqlStore,
  { addAudit, recordCreation, ...specificMethods }: StoreSpecificRepairs,
): RepairStore {
  return {
    ...specificMethods,
    create: (query) =>
      store.write(function* () {
        const { instanceId, createdAt } = query.record.repair;
        yield* recordCreation(instanceId, createdAt);
        return yield* create(query);
      }),
    find: (id) => store.read(find(id)),
    list: (query) => store.read(list(query)),
    put: (query) => store.write(() => put(query, addAudit)),
    claimDue: async (query) =>
      query.driver === null ? (await store.read(dueRows(query))).map(recordOf) : claimDue(store, query, query.driver),
    renewLeases: (query) => renewLeases(store, query),
    nextAt: ({ nodeId, after }) => store.read(nextAt(nodeId, after)),
    scheduledDeletions: ({ instanceId, dlqIds }) => store.read(scheduledDeletions(instanceId, dlqIds)),
    canaryGroups: (id) => store.read(canaryGroups(id)),
    pending: ({ canaryOnly, limit, ...id }) => store.read(pendingItems(id, canaryOnly, limit)),
    settle: async ({ items, at, ...id }) => (items.length === 0 ? [] : store.write(() => settleItems(id, items, at))),
    removeItems: ({ limit, ...id }) => store.write(() => removeItems(id, limit)),
    items: ({ states, after, limit, ...id }) => store.read(listItems(id, states, after, limit)),
    removeBefore: (query) => store.write(() => removeBefore(query)),
  };
}
