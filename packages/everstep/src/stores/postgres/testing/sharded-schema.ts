/**
 * Shards the tables of a schema by the queue instance with PostgreSQL's own hash partitions, whose requirements for
 * keys and unique indexes are those of distributed databases.
 */
import pg from 'pg';
import { DISTRIBUTED_BY } from '../sharding/tables.js';

/** Columns of the distributed tables. */
export const SPREAD_BY: Readonly<Record<string, string>> = Object.fromEntries(DISTRIBUTED_BY);

const SPREAD = `
DO $$
DECLARE
  one record; index_of record; part record; column_of record; n integer; definitions text[]; definition text;
BEGIN
  FOR one IN SELECT key AS name, value AS spread_by FROM json_each_text(current_setting('spread.tables')::json) LOOP
    definitions := ARRAY(
      SELECT format('ALTER TABLE %I ADD CONSTRAINT %I %s', one.name, conname, pg_get_constraintdef(oid))
      FROM pg_constraint WHERE conrelid = one.name::regclass AND contype IN ('p', 'u')
      UNION ALL
      SELECT pg_get_indexdef(indexrelid) FROM pg_index
      WHERE indrelid = one.name::regclass AND indexrelid NOT IN (SELECT conindid FROM pg_constraint WHERE conrelid = one.name::regclass));
    EXECUTE format('ALTER TABLE %I RENAME TO whole', one.name);
    EXECUTE format('CREATE TABLE %I (LIKE whole INCLUDING DEFAULTS) PARTITION BY HASH (%I)', one.name, one.spread_by);
    FOR column_of IN SELECT attname FROM pg_attribute WHERE attrelid = 'whole'::regclass AND attidentity <> '' LOOP
      EXECUTE format('CREATE SEQUENCE %I', one.name || '_numbers');
      EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT nextval(%L)', one.name, column_of.attname, one.name || '_numbers');
    END LOOP;
    DROP TABLE whole;
    FOREACH definition IN ARRAY definitions LOOP EXECUTE definition; END LOOP;
    FOR n IN 0..1 LOOP
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 2, REMAINDER %s)', one.name || '_part_' || n, one.name, n);
      FOR part IN
        SELECT child.relname AS child, parent.relname AS parent FROM pg_index i
        JOIN pg_class child ON child.oid = i.indexrelid JOIN pg_inherits h ON h.inhrelid = i.indexrelid
        JOIN pg_class parent ON parent.oid = h.inhparent
        WHERE i.indrelid = (one.name || '_part_' || n)::regclass
      LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', part.child, part.parent || '_' || n);
      END LOOP;
    END LOOP;
  END LOOP;
END $$`;

/** Records the shards that each transaction read or wrote that changed a task or started a run. */
const WATCH = `
CREATE TABLE touched (transaction xid8, part text);
CREATE FUNCTION note_touched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO touched
  SELECT pg_current_xact_id(), relname FROM pg_stat_xact_user_tables
  WHERE schemaname = current_schema() AND relname <> 'touched'
    AND coalesce(seq_scan, 0) + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del > 0;
  -- What is not handed on at the end of this transaction would be counted to the next one of the connection.
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

export interface SpreadSchema {
  /** Returns the shards that each transaction that changed a task used since the last call; other tables by their names. */
  touched(): Promise<readonly (readonly string[])[]>;
  /** Stops watching; the tables stay sharded. */
  close(): Promise<void>;
}

/** Shards the tables of an empty schema, which must exist. */
export async function spreadSchema(url: string): Promise<SpreadSchema> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`SELECT set_config('spread.tables', $1, false)`, [JSON.stringify(SPREAD_BY)]);
  await client.query(SPREAD);
  await client.query(WATCH);
  return {
    async touched() {
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
