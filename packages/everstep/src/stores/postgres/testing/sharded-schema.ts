/**
 * Shards the tables of a schema by the queue instance with PostgreSQL's own hash partitions, whose requirements for
 * keys and unique indexes are those of distributed databases.
 */
import pg from 'pg';
import { DISTRIBUTED_BY } from '../sharding/tables.js';

/** The column by which each table is sharded. */
export const SHARDED_BY: Readonly<Record<string, string>> = Object.fromEntries(DISTRIBUTED_BY);

const SHARD_TABLES = `
DO $$
DECLARE
  source_table record; part record; column_of record; n integer; definitions text[]; definition text;
BEGIN
  FOR source_table IN SELECT key AS name, value AS sharded_by FROM json_each_text(current_setting('sharding.tables')::json) LOOP
    definitions := ARRAY(
      SELECT format('ALTER TABLE %I ADD CONSTRAINT %I %s', source_table.name, conname, pg_get_constraintdef(oid))
      FROM pg_constraint WHERE conrelid = source_table.name::regclass AND contype IN ('p', 'u')
      UNION ALL
      SELECT pg_get_indexdef(indexrelid) FROM pg_index
      WHERE indrelid = source_table.name::regclass
        AND indexrelid NOT IN (SELECT conindid FROM pg_constraint WHERE conrelid = source_table.name::regclass));
    EXECUTE format('ALTER TABLE %I RENAME TO original', source_table.name);
    EXECUTE format(
      'CREATE TABLE %I (LIKE original INCLUDING DEFAULTS) PARTITION BY HASH (%I)', source_table.name, source_table.sharded_by);
    FOR column_of IN SELECT attname FROM pg_attribute WHERE attrelid = 'original'::regclass AND attidentity <> '' LOOP
      EXECUTE format('CREATE SEQUENCE %I', source_table.name || '_numbers');
      EXECUTE format(
        'ALTER TABLE %I ALTER COLUMN %I SET DEFAULT nextval(%L)', source_table.name, column_of.attname,
        source_table.name || '_numbers');
    END LOOP;
    DROP TABLE original;
    FOREACH definition IN ARRAY definitions LOOP EXECUTE definition; END LOOP;
    FOR n IN 0..1 LOOP
      EXECUTE format(
        'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 2, REMAINDER %s)', source_table.name || '_part_' || n,
        source_table.name, n);
      FOR part IN
        SELECT child.relname AS child, parent.relname AS parent FROM pg_index i
        JOIN pg_class child ON child.oid = i.indexrelid JOIN pg_inherits h ON h.inhrelid = i.indexrelid
        JOIN pg_class parent ON parent.oid = h.inhparent
        WHERE i.indrelid = (source_table.name || '_part_' || n)::regclass
      LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', part.child, part.parent || '_' || n);
      END LOOP;
    END LOOP;
  END LOOP;
END $$`;

/** Records which shards each transaction reads or writes, if it changes a task or starts a run. */
const RECORD_USED_SHARDS = `
CREATE TABLE touched (transaction xid8, part text);
CREATE FUNCTION note_touched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO touched
  SELECT pg_current_xact_id(), relname FROM pg_stat_xact_user_tables
  WHERE schemaname = current_schema() AND relname <> 'touched'
    AND coalesce(seq_scan, 0) + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del > 0;
  -- Statistics that are not flushed at the end of this transaction would count for the next one on the connection.
  PERFORM pg_stat_force_next_flush();
  RETURN NULL;
END $$;
DO $$
DECLARE part text;
BEGIN
  FOR n IN 0..1 LOOP
    EXECUTE format('CREATE CONSTRAINT TRIGGER touching AFTER INSERT OR UPDATE OR DELETE ON %I DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION note_touched()', 'task_part_' || n);
  END LOOP;
END $$`;

export interface ShardedSchema {
  /** Returns the shards, and other tables, that each transaction used, of those that changed a task since the last call. */
  takeUsedShards(): Promise<readonly (readonly string[])[]>;
  /** Stops recording. The tables stay sharded. */
  close(): Promise<void>;
}

/** Shards the tables of a schema. The tables must exist and be empty. */
export async function shardSchema(url: string): Promise<ShardedSchema> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`SELECT set_config('sharding.tables', $1, false)`, [JSON.stringify(SHARDED_BY)]);
  await client.query(SHARD_TABLES);
  await client.query(RECORD_USED_SHARDS);
  return {
    async takeUsedShards() {
      const { rows } = await client.query<{ parts: string[] }>(`
        WITH gone AS (DELETE FROM touched RETURNING *)
        SELECT array_agg(DISTINCT part ORDER BY part) AS parts FROM gone GROUP BY transaction ORDER BY transaction`);
      return rows.map(({ parts }) => parts);
    },
    async close() {
      await client.query('DROP FUNCTION note_touched CASCADE; DROP TABLE touched');
      await client.end();
    },
  };
}
