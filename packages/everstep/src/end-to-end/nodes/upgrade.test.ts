/** A node of an older version connects to a database that a newer version has migrated. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { Nodes } from '../nodes.fixture.js';

const BIN = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));
const schemas = await openTestSchemas();

test('a node older than the schema reports that and exits; a running node continues', {
  skip: typeof schemas === 'string' ? schemas : false,
  timeout: 180_000,
}, async (t) => {
  if (typeof schemas === 'string') return;
  const { url } = await schemas.make();
  const nodes = await Nodes.start(1, { url });
  t.after(() => nodes.dispose({ isUnreadable: true }));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('UPDATE schema_version SET version = version + 1');
  await client.end();

  const dataDir = join(nodes.node(0).dataDir, 'older');
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_')));
  const older = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BIN, 'serve', '--port', '0'], {
    env: { ...inherited, EVERSTEP_STORE: url, EVERSTEP_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => older.kill('SIGKILL'));
  let output = '';
  for (const stream of [older.stdout, older.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(older, 'close');
  assert.equal(code, 1);
  assert.match(
    output,
    /was written by a newer version of Everstep \(schema \d+; this version supports \d+\)\. Start the newer version/,
  );
  assert.ok(!output.includes(new URL(url).password), 'without the password');
  assert.equal(await nodes.node(0).healthStatus('/ready'), 200);
});
