/** Several processes that start at once on one empty database, each with its own data directory. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { createAuthority } from '../accounts/tokens/authority.js';
import { hashOfApiKey } from '../accounts/users/api-key-hash.js';
import { createSystemClock } from '../clock/system-clock.js';
import { createSystemRandom } from '../clock/system-random.js';
import { type OpenedNode, openPostgresNode } from '../stores/postgres/index.js';
import { openTestSchemas } from '../stores/postgres/testing/schemas.js';
import { credentialsFile, readCredentials, storeCredentials } from './credentials.js';
import { startSharedAccounts } from './first-start.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

if (typeof schemas === 'string') {
  describe('the first start of several nodes', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const { url } = schema;
  const home = await mkdtemp(join(tmpdir(), 'everstep-shared-'));
  const opened: OpenedNode[] = [];
  after(() => rm(home, { recursive: true, force: true }));
  afterEach(async () => {
    for (const { store } of opened.splice(0)) await store.close();
    await schema.clear();
  });

  const newDataDir = () => mkdtemp(join(home, 'node-'));
  async function openNode(): Promise<OpenedNode> {
    const node = await openPostgresNode({ url, log, facts: { host: 'test', version: '0' } });
    opened.push(node);
    return node;
  }
  /** Simulates the start of one process. */
  async function start(dataDir: string) {
    const { store, runExclusively } = await openNode();
    const clock = createSystemClock();
    const authority = await createAuthority({ store, now: clock.now });
    const { accounts } = store;
    const options = { dataDir, region: 'eu-central-1', adminEmail: 'admin@localhost', accounts, authority, clock };
    return startSharedAccounts({ ...options, random: createSystemRandom(), runExclusively });
  }
  async function there() {
    const { accounts } = (await openNode()).store;
    const users = await accounts.listUsers();
    const instances = await accounts.listInstances();
    const keys = await accounts.listApiKeys({ userId: users[0]?.userId ?? '' });
    const tokens = await accounts.listTokens({ instanceId: instances[0]?.instanceId ?? '' });
    return { users: users.length, instances: instances.length, tokens: tokens.length, keys };
  }
  const isKept = (dataDir: string) =>
    stat(credentialsFile(dataDir)).then(
      () => true,
      () => false,
    );

  describe('the first start of several nodes', { timeout: 60_000 }, () => {
    test('one node creates the user, queue instance and tokens; the others join without credentials', async () => {
      const dataDirs = await Promise.all(Array.from({ length: 5 }, newDataDir));
      const started = await Promise.all(dataDirs.map(start));
      assert.deepEqual(started.map(({ kind }) => kind).sort(), ['first', 'joined', 'joined', 'joined', 'joined']);
      const winner = started.findIndex(({ kind }) => kind === 'first');
      for (const [n, dataDir] of dataDirs.entries()) {
        assert.equal(await isKept(dataDir), n === winner);
        assert.equal(started[n]?.credentials === null, n !== winner);
      }
      const { keys, ...counts } = await there();
      assert.deepEqual(counts, { users: 1, instances: 1, tokens: 2 });
      const [key] = keys;
      const credentials = started[winner]?.credentials;
      assert.equal(keys.length, 1);
      assert.equal(key?.keyHash, hashOfApiKey(credentials?.adminApiKey ?? ''));
    });

    test('when the nodes start again, the credentials stay the same and nothing is created', async () => {
      const dataDirs = await Promise.all(Array.from({ length: 3 }, newDataDir));
      const first = (await Promise.all(dataDirs.map(start))).find(({ kind }) => kind === 'first');
      const before = await there();
      const again = await Promise.all([...dataDirs, await newDataDir()].map(start));
      assert.deepEqual(again.map(({ kind }) => kind).sort(), ['existing', 'joined', 'joined', 'joined']);
      assert.deepEqual(again.find(({ kind }) => kind === 'existing')?.credentials, first?.credentials);
      assert.deepEqual(await there(), before);
    });

    test('if the first node ends before it stores its credentials, another one gets new ones for the same user and queue instance', async () => {
      const lost = await newDataDir();
      // The obstacle for the file fails the start after everything was created.
      await writeFile(join(lost, 'in the way'), '');
      await assert.rejects(start(join(lost, 'in the way')));
      const dataDirs = await Promise.all(Array.from({ length: 3 }, newDataDir));
      const started = await Promise.all(dataDirs.map(start));
      const made = started.filter(({ kind }) => kind !== 'joined');
      assert.equal(made.length, 1);
      const { keys, users, instances } = await there();
      assert.deepEqual({ users, instances }, { users: 1, instances: 1 });
      const hash = hashOfApiKey(made[0]?.credentials?.adminApiKey ?? '');
      assert.ok(keys.some(({ keyHash }) => keyHash === hash));
    });

    test('a joining node moves credentials of another store aside', async () => {
      const [first, second] = [await newDataDir(), await newDataDir()];
      const { credentials } = await start(first);
      assert.ok(credentials);
      await storeCredentials(second, { ...credentials, instanceId: 'qi_elsewhere' });
      const joined = await start(second);
      assert.equal(joined.kind, 'joined');
      assert.ok(joined.setAsidePath?.includes('qi_elsewhere'));
      assert.equal(await readCredentials(second), null);
      assert.deepEqual(await readdir(second), ['credentials.qi_elsewhere.json']);
    });
  });
}
