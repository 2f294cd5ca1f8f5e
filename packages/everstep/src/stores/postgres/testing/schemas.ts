/** Creates separate schemas for tests, on the test server. */
import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import pg from 'pg';
import { CITUS, clearCluster, prepareCluster, withClusterClient } from './citus.js';
import { openTestServer, type TestServer } from './server.js';

export interface TestSchema {
  /** URL of the schema. A connection with this URL sees no other schema. */
  readonly url: string;
  readonly name: string;
  /** Empties every table of the schema, regardless of triggers, and removes additional tables. */
  clear(): Promise<void>;
  drop(): Promise<void>;
}

export interface TestSchemas {
  /** Creates an empty schema. On a cluster, it has distributed tables unless `hasTables` is false. */
  make(options?: { readonly hasTables?: boolean }): Promise<TestSchema>;
}

/** Tables of the migrations are emptied and kept; tables with a number were created by tests. */
const CLEAR = `
DO $$
DECLARE table_row record; has_rows boolean;
BEGIN
  -- In other roles, the triggers of the audit log prevent deletions.
  SET LOCAL session_replication_role = replica;
  FOR table_row IN SELECT relname FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition
      AND relnamespace = current_schema()::regnamespace AND relname <> 'schema_version'
  LOOP
    IF table_row.relname ~ '_[0-9]+$' THEN
      EXECUTE format('DROP TABLE %I', table_row.relname);
    ELSE
      -- Cheaper than TRUNCATE for a few rows, and cheaper still for none.
      EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', table_row.relname) INTO has_rows;
      IF has_rows THEN EXECUTE format('DELETE FROM %I', table_row.relname); END IF;
    END IF;
  END LOOP;
END $$`;

/**
 * Opens the server for the tests of a file. Its schemas are removed after the tests. If there is no server, returns the reason for
 * skipping the tests as a string.
 */
export async function openTestSchemas(): Promise<TestSchemas | string> {
  const cluster = process.env[CITUS] || null;
  const server: TestServer =
    cluster === null
      ? await openTestServer()
      : { kind: 'running', url: cluster, what: `the cluster that ${CITUS} names`, stop: async () => {} };
  if (server.kind === 'missing') return `no PostgreSQL: ${server.why}`;
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  const schemas = new Set<TestSchema>();
  after(async () => {
    for (const schema of schemas) await schema.drop();
    await pool.end();
    await server.stop();
  });
  return {
    async make({ hasTables = true } = {}) {
      const name = `test_${randomBytes(6).toString('hex')}`;
      await pool.query(`CREATE SCHEMA ${name}`);
      const url = new URL(server.url);
      url.searchParams.set('options', `-c search_path=${name}`);
      const schema: TestSchema = {
        url: url.href,
        name,
        async clear() {
          if (cluster !== null) return withClusterClient(url.href, clearCluster);
          await pool.query(`SET search_path = ${name}; ${CLEAR}; SET search_path = DEFAULT`);
        },
        async drop() {
          schemas.delete(schema);
          await pool.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`);
        },
      };
      schemas.add(schema);
      if (cluster !== null && hasTables) await withClusterClient(url.href, prepareCluster);
      return schema;
    },
  };
}
