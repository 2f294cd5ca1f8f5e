/** Repairs: which there are, how each of them stands, and which this node has to drive. */
import { REPAIR_PHASES } from '../../../engine/dead-letters/repair.js';
import type { RepairDriver, RepairId, RepairRecord, RepairStore } from '../../../ports/stores/repair-store.js';
import { addAudit } from '../../shared/audit/audit-log.js';
import { integer, integerOrNull, json, type Row, text, word } from '../connection/columns.js';
import { type Database, statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, names, unnest } from '../connection/row-sets.js';
import { sendProcedure } from '../connection/sql-session.js';
import { addItems, chooseCanary, removeItems, repairItemsOf } from './repair-items.js';

const ID = { instance_id: 'text', repair_id: 'text' } as const satisfies Columns;

const CREATE = statement(`
  INSERT INTO repair (instance_id, repair_id, version, created_at, phase, ended_at, wake_at, data, driver, driven_until)
  VALUES ($1, $2, 0, $3, $4, $5, $6, $7, $8, $9)`);
/** Who writes it drives it from then on. */
const PUT = statement(`
  UPDATE repair SET version = version + 1, phase = $4, ended_at = $5, wake_at = $6, data = $7, driver = $8, driven_until = $9
  WHERE instance_id = $1 AND repair_id = $2 AND version = $3`);
const FIND = statement('SELECT * FROM repair WHERE instance_id = $1 AND repair_id = $2');
/** Their ids begin with the time of their creation. */
const LIST = statement(`
  SELECT * FROM repair WHERE instance_id = $1 AND ($2::text IS NULL OR repair_id < $2)
    AND ($3::text[] IS NULL OR phase = ANY($3::text[])) ORDER BY repair_id DESC LIMIT $4`);
const DUE = statement(`
  UPDATE repair r SET driver = $2, driven_until = $3 FROM (
    SELECT instance_id, repair_id FROM repair
    WHERE wake_at <= $1 AND (driver IS NULL OR driver = $2 OR driven_until <= $1)
    ORDER BY wake_at, repair_id LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED) picked
  WHERE r.instance_id = picked.instance_id AND r.repair_id = picked.repair_id RETURNING r.*`);
const DUE_ALONE = statement('SELECT * FROM repair WHERE wake_at <= $1 ORDER BY wake_at, repair_id LIMIT $2');
const NEXT = statement(`
  SELECT min(CASE WHEN driver IS NULL OR driver = $1 THEN wake_at ELSE greatest(wake_at, driven_until) END) AS at
  FROM repair WHERE wake_at IS NOT NULL`);
const OVER = statement(`
  SELECT repair_id FROM repair WHERE instance_id = $1 AND wake_at IS NULL
    AND (ended_at < $2 OR (phase = 'planned' AND created_at < $3)) ORDER BY repair_id LIMIT 1`);
const DELETE = statement('DELETE FROM repair WHERE instance_id = $1 AND repair_id = $2');
/** Nobody decides on it while a unit is written that builds on its version. */
const LOCK = statement(`
  SELECT r.instance_id, r.repair_id, r.version FROM ${unnest(ID)} AS u(${names(ID)})
  JOIN repair r ON r.instance_id = u.instance_id AND r.repair_id = u.repair_id
  ORDER BY r.instance_id, r.repair_id FOR SHARE OF r`);

/** What has a column of its own is not in the text. */
type Kept = Omit<RepairRecord, 'version' | 'wakeAt'>;

const recordOf = (row: Row): RepairRecord => {
  const { repair, ...rest } = json<Kept>(row, 'data');
  return {
    ...rest,
    repair: { ...repair, phase: word(row, 'phase', REPAIR_PHASES) },
    wakeAt: integerOrNull(row, 'wake_at'),
    version: integer(row, 'version'),
  };
};

const dataOf = ({ version: _version, wakeAt: _wakeAt, ...kept }: RepairRecord): string => JSON.stringify(kept);

const drivenBy = (driver: RepairDriver | null) => [driver?.nodeId ?? null, driver?.until ?? null] as const;

/** The versions of these repairs, which nobody changes until the transaction ends. Sends its statement at once. */
export async function lockRepairs(
  session: TransactionSession,
  ids: readonly RepairId[],
): Promise<readonly (RepairId & { readonly version: number })[]> {
  const rows = ids.map(({ instanceId, repairId }) => ({ instance_id: instanceId, repair_id: repairId }));
  const locked = await session.query(LOCK, columnArrays(ID, rows));
  return locked.map((row) => ({
    instanceId: text(row, 'instance_id'),
    repairId: text(row, 'repair_id'),
    version: integer(row, 'version'),
  }));
}

export const createRepairs = (database: Database): RepairStore => ({
  ...repairItemsOf(database),
  async create({ record, driver }) {
    const { repair, wakeAt } = record;
    const { instanceId, repairId, createdAt, phase, endedAt } = repair;
    const values = [instanceId, repairId, createdAt, phase, endedAt, wakeAt, dataOf(record), ...drivenBy(driver)];
    await database.execute(CREATE, values);
  },
  async find({ instanceId, repairId }) {
    const [row] = await database.query(FIND, [instanceId, repairId]);
    return row ? recordOf(row) : null;
  },
  async list({ instanceId, phases, after, limit }) {
    const rows = await database.query(LIST, [instanceId, after, phases ?? null, limit + 1]);
    const items = rows.slice(0, limit).map(recordOf);
    return { items, next: rows.length > limit ? (items.at(-1)?.repair.repairId ?? null) : null };
  },
  put({ record, driver, items = [], canary = 0, audit }) {
    const { repair, version, wakeAt } = record;
    const { instanceId, repairId, phase, endedAt } = repair;
    return database.transaction(async (session) => {
      const values = [instanceId, repairId, version, phase, endedAt, wakeAt, dataOf(record), ...drivenBy(driver)];
      if ((await session.execute(PUT, values)) === 0) return false;
      addItems(session, repair, items);
      if (canary > 0) chooseCanary(session, repair, canary);
      if (audit) sendProcedure(session, addAudit(audit));
      return true;
    });
  },
  async due({ before, limit, driver }) {
    if (driver === null) return (await database.query(DUE_ALONE, [before, limit])).map(recordOf);
    const rows = await database.query(DUE, [before, driver.nodeId, driver.until, limit]);
    return rows.map(recordOf).sort((a, b) => (a.wakeAt ?? 0) - (b.wakeAt ?? 0));
  },
  async nextAt({ nodeId }) {
    const [row] = await database.query(NEXT, [nodeId]);
    return row ? integerOrNull(row, 'at') : null;
  },
  async removeBefore({ instanceId, before, plannedBefore, limit }) {
    const [row] = await database.query(OVER, [instanceId, before ?? 0, plannedBefore]);
    if (!row) return false;
    const id = { instanceId, repairId: text(row, 'repair_id') };
    const removed = await removeItems(database, id, limit);
    if (removed < limit) await database.execute(DELETE, [id.instanceId, id.repairId]);
    return true;
  },
});
