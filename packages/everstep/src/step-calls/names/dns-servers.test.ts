/** Tests lookups at a simulated name server. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createDnsLookup } from './dns-servers.js';
import { HostsFile, parseHosts } from './hosts-file.js';
import { type NameServer, type Reply, startNameServer } from './name-server.fixture.js';
import { candidatesFor, parseResolverSettings } from './resolver-settings.js';

async function serve(t: TestContext, replies: Readonly<Record<string, Reply>>): Promise<NameServer> {
  const server = await startNameServer(({ name }) => replies[name] ?? 'no-such-name');
  t.after(() => server.close());
  return server;
}

function file(t: TestContext, text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'everstep-names-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'file');
  writeFileSync(path, text);
  return path;
}

const elapsedMs = () => performance.now();

test("a name resolves to the addresses and the shortest TTL of its server's response", async (t) => {
  const server = await serve(t, {
    'shop.test': { addresses: ['192.0.2.7', '192.0.2.8'], ttlS: 30 },
    'none.test': { addresses: [] },
    'broken.test': 'server-failure',
  });
  const lookUp = createDnsLookup({ servers: [server.address], elapsedMs, settingsFile: file(t, '') });
  const shop = await lookUp('shop.test');
  assert.ok(shop.kind === 'found');
  assert.deepEqual([shop.addresses.map(({ address }) => address), shop.ttlMs], [['192.0.2.7', '192.0.2.8'], 30_000]);
  assert.deepEqual(await lookUp('none.test'), { kind: 'no-such-name', hasRecords: true });
  assert.deepEqual(await lookUp('unknown.test'), { kind: 'no-such-name', hasRecords: false });
  assert.deepEqual(await lookUp('broken.test'), { kind: 'failed', code: 'ESERVFAIL' });
  assert.deepEqual(await lookUp(`${'x'.repeat(64)}.test`), { kind: 'no-such-name', hasRecords: false });
});

test('IPv6 addresses are used if the machine has one', async (t) => {
  const server = await serve(t, { 'both.test': { addresses: ['192.0.2.7', '2001:db8::7'] } });
  const found = await createDnsLookup({ servers: [server.address], elapsedMs, settingsFile: file(t, '') })('both.test');
  assert.ok(found.kind === 'found');
  const asked = server.questions.map(({ family }) => family);
  const expected = asked.includes(6) ? ['192.0.2.7', '2001:db8::7'] : ['192.0.2.7'];
  assert.deepEqual(found.addresses.map(({ address }) => address).sort(), expected);
});

test('if the network interfaces are not readable, both families are looked up, and IPv4 comes first', async (t) => {
  const server = await serve(t, { 'both.test': { addresses: ['2001:db8::7', '192.0.2.7'] } });
  const readInterfaces = () => {
    throw new Error('uv_interface_addresses returned Unknown system error 97');
  };
  const lookUp = createDnsLookup({ servers: [server.address], elapsedMs, settingsFile: file(t, ''), readInterfaces });
  const found = await lookUp('both.test');
  assert.ok(found.kind === 'found');
  assert.deepEqual(
    found.addresses.map(({ address }) => address),
    ['192.0.2.7', '2001:db8::7'],
  );
});

test('a lookup at a server that never responds fails after a limited time, and lookups of other names continue', async (t) => {
  const server = await serve(t, { 'shop.test': { addresses: ['192.0.2.7'] }, 'dead.test': 'never' });
  const lookUp = createDnsLookup({ servers: [server.address], elapsedMs, settingsFile: file(t, ''), queryTimeoutMs: 500 });
  let ended = 0;
  const dead = Promise.all(Array.from({ length: 100 }, () => lookUp('dead.test').finally(() => ended++)));
  assert.equal((await lookUp('shop.test')).kind, 'found');
  assert.equal(ended, 0);
  for (const lookup of await dead) assert.deepEqual(lookup, { kind: 'failed', code: 'ETIMEOUT' });
});

test('a response with too many addresses is truncated, and an invalid DNS message fails', async (t) => {
  const many = Array.from({ length: 200 }, (_, index) => `192.0.2.${index}`);
  const server = await serve(t, { 'many.test': { addresses: many }, 'huge.test': Buffer.alloc(60_000, 7) });
  const options = { servers: [server.address], elapsedMs, settingsFile: file(t, '') };
  const found = await createDnsLookup(options)('many.test');
  assert.ok(found.kind === 'found');
  assert.equal(found.addresses.length, 16);
  assert.equal((await createDnsLookup({ ...options, queryTimeoutMs: 200 })('huge.test')).kind, 'failed');
});

test('a short name is looked up in the search domains, as in a cluster', async (t) => {
  const server = await serve(t, {
    'db.prod.svc.cluster.local': { addresses: ['192.0.2.1'] },
    'api.example': { addresses: ['192.0.2.2'] },
  });
  const settingsFile = file(t, 'search prod.svc.cluster.local svc.cluster.local\noptions timeout:1 ndots:5\n');
  const lookUp = createDnsLookup({ servers: [server.address], elapsedMs, settingsFile });
  for (const [name, address] of [
    ['db', '192.0.2.1'],
    ['api.example', '192.0.2.2'],
    ['api.example.', '192.0.2.2'],
  ] as const) {
    const found = await lookUp(name);
    assert.ok(found.kind === 'found', name);
    assert.equal(found.addresses[0]?.address, address);
  }
  // Questions are compared as a set, because Node 22 answers a repeated question from its cache.
  const asked = new Set(server.questions.filter(({ family }) => family === 4).map(({ name }) => name));
  assert.deepEqual(
    asked,
    new Set(['db.prod.svc.cluster.local', 'api.example.prod.svc.cluster.local', 'api.example.svc.cluster.local', 'api.example']),
  );
});

test('resolver settings are parsed as the operating system parses them', () => {
  const text = '# a comment\nnameserver 10.0.0.2\ndomain old\nsearch One. two ; three\noptions rotate ndots:2\n';
  const settings = parseResolverSettings(text);
  assert.deepEqual(settings, { search: ['one', 'two'], ndots: 2 });
  assert.deepEqual(candidatesFor('a.b', settings), ['a.b.one', 'a.b.two', 'a.b']);
  assert.deepEqual(candidatesFor('a.b.c', settings), ['a.b.c', 'a.b.c.one', 'a.b.c.two']);
  assert.deepEqual(candidatesFor('a.', settings), ['a']);
  assert.deepEqual(parseResolverSettings(''), { search: [], ndots: 1 });
});

test('the hosts file is parsed as the operating system parses it, and read again after a change', async (t) => {
  const text =
    '127.0.0.1 localhost\n::1 localhost ip6-localhost # this machine\n10.0.0.3\tDB db.local\nnonsense x\n10.0.0.3 db\n';
  assert.deepEqual(
    [...parseHosts(text)],
    [
      ['localhost', ['127.0.0.1', '::1']],
      ['ip6-localhost', ['::1']],
      ['db', ['10.0.0.3']],
      ['db.local', ['10.0.0.3']],
    ],
  );
  let now = 0;
  const path = file(t, text);
  const hosts = new HostsFile(path, () => now);
  assert.deepEqual([hosts.find('db'), hosts.find('worker')], [['10.0.0.3'], null]);
  writeFileSync(path, '10.0.0.44 worker');
  now = 999;
  assert.equal(hosts.find('worker'), null);
  now = 1_000;
  assert.deepEqual([hosts.find('db'), hosts.find('worker')], [null, ['10.0.0.44']]);
  assert.equal(new HostsFile(`${path}.missing`, () => now).find('db'), null);
});
