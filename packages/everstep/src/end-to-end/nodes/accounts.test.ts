/** Account operations with several nodes: the audit log, the rotation of secrets, and deleting an instance. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { AdminClient, Client } from '@everstep/sdk';
import pg from 'pg';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { type Endpoint, forEachIndex, listen, Nodes, waitUntil } from '../nodes.fixture.js';

const BIN = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));
/** Tables whose rows remain: billing records and the deletion mark. */
const KEPT: ReadonlySet<string> = new Set(['usage', 'deleted_instance']);
const run = promisify(execFile);
const schemas = await openTestSchemas();

suite('accounts on several nodes', { skip: typeof schemas === 'string' && schemas, timeout: 240_000 }, () => {
  let nodes: Nodes;
  let endpoint: Endpoint;
  let storeUrl: string;
  let pool: pg.Pool;

  before(async () => {
    if (typeof schemas === 'string') return;
    storeUrl = (await schemas.make()).url;
    pool = new pg.Pool({ connectionString: storeUrl, max: 1 });
    nodes = await Nodes.start(2, { url: storeUrl });
    // The endpoint never responds, so the runs stay active.
    endpoint = await listen(() => {});
  });
  after(async () => {
    endpoint?.close();
    await pool?.end();
    await nodes?.dispose();
  });

  const admin = (index: number) => new AdminClient({ baseUrl: nodes.node(index).url, ...nodes.admin });

  test('the audit chain is intact after concurrent changes at both nodes', async () => {
    await forEachIndex(100, 16, async (n) => {
      await admin(n % 2).instances.create({ name: `queue-${n}`, region: 'eu-central-1' });
    });
    const names = new Set<string>();
    await waitUntil('all changes are in the log', async () => {
      names.clear();
      for await (const { action, details } of admin(0).audit.export()) {
        if (action === 'queue.create' && String(details.name).startsWith('queue-')) names.add(String(details.name));
      }
      return names.size === 100;
    });
    const verified = await admin(1).audit.verify();
    assert.deepEqual(verified.faults, []);
    assert.ok(verified.checked >= 100, `${verified.checked} entries checked`);
  });

  test('tokens stay valid on both nodes after a rotation, and are refused after --end-tokens', async () => {
    const statusAt = async (index: number) => {
      const headers = { authorization: `Bearer ${nodes.token}` };
      return (await fetch(`${nodes.node(index).url}/v2/workflows/logs`, { headers })).status;
    };
    const env = { ...process.env, EVERSTEP_STORE: storeUrl, EVERSTEP_SECRETS_KEY: 'k'.repeat(43) };
    const rotate = (...flags: readonly string[]) => run(process.execPath, [BIN, 'rotate-secrets', '--json', ...flags], { env });
    const rotated = JSON.parse((await rotate()).stdout);
    assert.ok(rotated.replaced.includes('token-signing-key'), JSON.stringify(rotated));
    assert.deepEqual([await statusAt(0), await statusAt(1)], [200, 200]);
    await rotate('--end-tokens');
    await waitUntil('both nodes refuse the token', async () => (await statusAt(0)) === 401 && (await statusAt(1)) === 401);
  });

  test('an instance is removed with all its data although both nodes are killed during the removal', async () => {
    const made = await admin(0).instances.create({ name: 'to delete', region: 'eu-central-1' });
    const client = (index: number) => new Client({ baseUrl: nodes.node(index).url, token: made.token });
    await forEachIndex(600, 16, async (n) => {
      await client(n % 2).trigger(endpoint.url, { body: { n, filler: 'x'.repeat(2_000) } });
    });
    await admin(1).instances.delete(made.id, { confirm: 'to delete' });
    await Promise.all(nodes.all.map((node) => node.end('SIGKILL')));
    await Promise.all(nodes.all.map((node) => node.start()));
    await nodes.node(0).end('SIGKILL');
    await waitUntil('its rows are removed', async () => (await tablesWith(made.id)).every((table) => KEPT.has(table)));
    const status = await fetch(`${nodes.node(1).url}/v2/workflows/logs`, { headers: { authorization: `Bearer ${made.token}` } });
    assert.equal(status.status, 401);
    assert.ok(
      (await admin(1).instances.list()).some(({ name }) => name === 'queue-7'),
      'other instances remain',
    );
  });

  async function tablesWith(instanceId: string): Promise<readonly string[]> {
    const found: string[] = [];
    for (const table of await tablesOfInstances()) {
      const { rowCount } = await pool.query(`SELECT 1 FROM ${table} WHERE instance_id = $1 LIMIT 1`, [instanceId]);
      if (rowCount) found.push(table);
    }
    return found;
  }

  async function tablesOfInstances(): Promise<readonly string[]> {
    const { rows } = await pool.query(`SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
      WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
        AND attname = 'instance_id'`);
    return rows.map(({ relname }) => relname);
  }
});
