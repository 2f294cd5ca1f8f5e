import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AddressPolicy, createAddressPolicy } from './address-policy.js';

const strict = createAddressPolicy({ allowLoopback: false, allow: [] });
const dev = createAddressPolicy({ allowLoopback: true, allow: [] });

function resolve(policy: AddressPolicy, hostname: string, all: boolean): Promise<{ error: Error | null; addresses: string[] }> {
  return new Promise((done) => {
    policy.lookup(hostname, { all }, (error, found) => {
      const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address);
      done({ error, addresses });
    });
  });
}

test('addresses that are not the public internet are refused, in whatever form a URL writes them', async (t) => {
  const table: readonly (readonly [url: string, reason: RegExp])[] = [
    ['http://127.0.0.1/', /loopback/],
    ['http://127.1/', /loopback/],
    ['http://2130706433/', /loopback/],
    ['http://0x7f.1/', /loopback/],
    ['http://0177.0.0.1:8080/', /loopback/],
    ['http://[::1]/', /loopback/],
    ['http://localhost/', /this machine/],
    ['http://LOCALHOST./', /this machine/],
    ['http://app.localhost/', /this machine/],
    ['http://0.0.0.0/', /unspecified/],
    ['http://0/', /unspecified/],
    ['http://[::]/', /unspecified/],
    ['http://10.0.0.1/', /private/],
    ['http://172.16.0.1/', /private/],
    ['http://172.31.255.255/', /private/],
    ['http://192.168.1.1/', /private/],
    ['http://[fc00::1]/', /unique-local/],
    ['http://[fd12:3456::1]/', /unique-local/],
    ['http://169.254.1.1/', /link-local/],
    ['http://[fe80::1]/', /link-local/],
    ['http://100.64.0.1/', /carrier-grade/],
    ['http://169.254.169.254/latest/meta-data', /metadata/],
    ['http://168.63.129.16/', /metadata/],
    ['http://100.100.100.200/', /metadata/],
    ['http://[fd00:ec2::254]/', /metadata/],
    ['http://metadata.google.internal/', /metadata/],
    ['http://224.0.0.1/', /multicast/],
    ['http://239.255.255.250/', /multicast/],
    ['http://[ff02::1]/', /multicast/],
    ['http://255.255.255.255/', /reserved/],
    ['http://240.0.0.1/', /reserved/],
    ['http://198.18.0.1/', /reserved/],
    ['http://[::ffff:127.0.0.1]/', /IPv4-mapped/],
    ['http://[::ffff:8.8.8.8]/', /IPv4-mapped/],
    ['http://[::ffff:0:7f00:1]/', /IPv4-mapped/],
    ['http://[::7f00:1]/', /IPv4-mapped/],
    ['http://[64:ff9b::7f00:1]/', /NAT64/],
    ['http://[2002:7f00:1::]/', /tunnel/],
    ['http://[2001::1]/', /tunnel/],
  ];
  for (const [url, reason] of table) {
    await t.test(url, () => {
      const verdict = strict.check(url);
      assert.ok(!verdict.ok, `${url} was allowed`);
      assert.match(verdict.message, reason);
    });
  }
});

test('public addresses and names are allowed, right up to the edges of the refused ranges', () => {
  const urls = [
    'https://example.org/x?y=1',
    'http://8.8.8.8/',
    'http://9.255.255.255/',
    'http://11.0.0.0/',
    'http://172.15.255.255/',
    'http://172.32.0.0/',
    'http://192.167.255.255/',
    'http://192.169.0.0/',
    'http://100.63.255.255/',
    'http://100.128.0.0/',
    'http://223.255.255.255/',
    'http://[2606:4700::1111]/',
    'http://[2003::1]/',
    'http://localhost.example.org/',
  ];
  for (const url of urls) assert.deepEqual(strict.check(url), { ok: true }, url);
});

test('only http and https URLs without credentials are called', () => {
  const table: readonly (readonly [string, RegExp])[] = [
    ['ftp://example.org/', /only http and https/],
    ['file:///etc/passwd', /only http and https/],
    ['javascript:alert(1)', /only http and https/],
    ['http://user:secret@example.org/', /user name or password/],
    ['http://user@example.org/', /user name or password/],
    ['/relative', /not an absolute URL/],
    ['http://', /not an absolute URL/],
  ];
  for (const [url, reason] of table) {
    const verdict = strict.check(url);
    assert.ok(!verdict.ok, url);
    assert.match(verdict.message, reason);
    assert.doesNotMatch(verdict.message, /secret/);
  }
});

test('development allows loopback and nothing else', () => {
  for (const url of ['http://127.0.0.1:3000/', 'http://127.9.9.9/', 'http://[::1]:3000/', 'http://localhost:3000/'])
    assert.deepEqual(dev.check(url), { ok: true }, url);
  for (const url of ['http://10.0.0.1/', 'http://169.254.169.254/', 'http://0.0.0.0/', 'http://[::ffff:10.0.0.1]/'])
    assert.equal(dev.check(url).ok, false, url);
});

test('an allow-list opens exactly what it names', () => {
  const policy = createAddressPolicy({
    allowLoopback: false,
    allow: ['10.1.0.0/16', 'fd00:1::/32', '192.168.7.7', 'Internal.Example.', '[fd00:2::1]'],
  });
  for (const url of [
    'http://10.1.2.3/',
    'http://[fd00:1::9]/',
    'http://192.168.7.7/',
    'http://internal.example:81/',
    'http://[fd00:2::1]/',
  ])
    assert.deepEqual(policy.check(url), { ok: true }, url);
  for (const url of [
    'http://10.2.0.1/',
    'http://[fd00:3::9]/',
    'http://192.168.7.8/',
    'http://127.0.0.1/',
    'http://[fd00:2::2]/',
  ])
    assert.equal(policy.check(url).ok, false, url);
  assert.deepEqual(policy.checkAddress('10.9.9.9', 'internal.example'), { ok: true });
  assert.equal(policy.checkAddress('10.9.9.9', 'other.example').ok, false);
});

test('an allow-list entry that is no host, address or range stops the start', () => {
  for (const entry of ['10.0.0.0/33', '10.0.0/8', 'fd00::/129', 'a b', '', 'http://x/', 'host:80', '1.2.3.4/', '1.2.3.4/x'])
    assert.throws(() => createAddressPolicy({ allowLoopback: false, allow: [entry] }), /is neither/, JSON.stringify(entry));
});

test('a name that resolves to a refused address is refused when it is resolved', async () => {
  for (const all of [true, false]) {
    const refused = await resolve(strict, 'localhost', all);
    assert.equal(refused.error?.name, 'BlockedAddressError');
    assert.match(refused.error?.message ?? '', /localhost resolves to .*a loopback address/);
    const allowed = await resolve(dev, 'localhost', all);
    assert.equal(allowed.error, null);
    assert.ok(allowed.addresses.every((address) => address === '127.0.0.1' || address === '::1'));
    assert.ok(allowed.addresses.length > 0);
  }
});

test('a resolved address with a zone is judged like one without', () => {
  const verdict = strict.checkAddress('fe80::1%eth0', 'printer.example');
  assert.ok(!verdict.ok);
  assert.match(verdict.message, /link-local/);
});
