import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AddressPolicy, BlockedAddressError, createAddressPolicy } from './address-policy.js';

const strict = createAddressPolicy({ allowLoopback: false, allow: [] });
const dev = createAddressPolicy({ allowLoopback: true, allow: [], explain: true });
const open = createAddressPolicy({ allowLoopback: false, allow: ['0.0.0.0/0', '::/0'] });

function resolve(
  policy: AddressPolicy,
  hostname: string,
  all: boolean,
  port = 80,
): Promise<{ error: Error | null; addresses: string[] }> {
  return new Promise((done) => {
    policy.lookupAt(port)(hostname, { all }, (error, found) => {
      const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address);
      done({ error, addresses });
    });
  });
}

test('addresses outside the public internet are refused in every notation that a URL allows', async (t) => {
  const table: readonly (readonly [url: string, reason: RegExp])[] = [
    ['http://127.0.0.1/', /loopback/],
    ['http://127.1/', /loopback/],
    ['http://2130706433/', /loopback/],
    ['http://0x7f.1/', /loopback/],
    ['http://0177.0.0.1:8080/', /loopback/],
    ['http://[::1]/', /loopback/],
    ['http://localhost/', /this machine/],
    ['http://localhost../', /this machine/],
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
    ['http://[2606:4700::5efe:7f00:1]/', /tunnel/],
    ['http://[2606:4700::200:5efe:10.0.0.1]/', /tunnel/],
    ['http://[::5efe:127.0.0.1]/', /tunnel/],
    ['http://[5f00::1]/', /segment routing/],
    ['http://[100:0:0:1::1]/', /reserved/],
  ];
  for (const [url, reason] of table) {
    await t.test(url, () => {
      const verdict = strict.check(url);
      assert.ok(!verdict.ok, `${url} was allowed`);
      assert.match(verdict.message, reason);
    });
  }
});

test('public addresses and names are allowed, up to the edges of the refused ranges', () => {
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
    'http://[5eff:ffff::1]/',
    'http://[5f01::1]/',
    'http://[100:0:0:2::1]/',
    'http://[2606:4700::5eff:7f00:1]/',
    'http://8.8.8.8:8080/',
    'https://example.org:8443/',
    'http://localhost.example.org/',
  ];
  for (const url of urls) assert.deepEqual(strict.check(url), { ok: true }, url);
});

test('only http and https URLs without credentials are allowed', () => {
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

test('development mode allows loopback and nothing else', () => {
  for (const url of ['http://127.0.0.1:3000/', 'http://127.9.9.9/', 'http://[::1]:3000/', 'http://localhost:3000/'])
    assert.deepEqual(dev.check(url), { ok: true }, url);
  for (const url of ['http://10.0.0.1/', 'http://169.254.169.254/', 'http://0.0.0.0/', 'http://[::ffff:10.0.0.1]/'])
    assert.equal(dev.check(url).ok, false, url);
});

test('an allow list allows exactly its entries', () => {
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
  assert.deepEqual(policy.checkAddress('10.9.9.9', 'internal.example', 80), { ok: true });
  assert.equal(policy.checkAddress('10.9.9.9', 'other.example', 80).ok, false);
});

test('an invalid allow list entry prevents startup', () => {
  for (const entry of ['10.0.0.0/33', '10.0.0/8', 'fd00::/129', 'a b', '', 'http://x/', 'host:0', '1.2.3.4/', '1.2.3.4/x'])
    assert.throws(() => createAddressPolicy({ allowLoopback: false, allow: [entry] }), /is invalid; use/, JSON.stringify(entry));
});

test('a name that resolves to a refused address is refused at resolution', async () => {
  for (const all of [true, false]) {
    const refused = await resolve(strict, 'localhost', all);
    assert.ok(refused.error instanceof BlockedAddressError);
    assert.equal(refused.error.message, 'Everstep does not call the address localhost');
    assert.match(refused.error.detail, /^localhost resolves to .*, a loopback address$/);
    const allowed = await resolve(dev, 'localhost', all);
    assert.equal(allowed.error, null);
    assert.ok(allowed.addresses.every((address) => address === '127.0.0.1' || address === '::1'));
    assert.ok(allowed.addresses.length > 0);
  }
});

test('a resolved address with a zone is treated like one without', () => {
  const verdict = strict.checkAddress('fe80::1%eth0', 'printer.example', 80);
  assert.ok(!verdict.ok);
  assert.match(verdict.detail, /link-local/);
});

const refusal = (policy: AddressPolicy, url: string) => {
  const verdict = policy.check(url);
  assert.ok(!verdict.ok, `${url} was allowed`);
  return verdict;
};

test('ports of well-known services that do not use HTTP are refused, including for public addresses and names', async () => {
  for (const port of [1, 22, 25, 53, 465, 3306, 5432, 6000, 6379, 11_211, 27_017])
    for (const host of ['8.8.8.8', 'example.org', '[2606:4700::1111]']) {
      const { message } = refusal(strict, `http://${host}:${port}/`);
      assert.match(message, /port of a service that does not use HTTP/, message);
    }
  assert.match(refusal(strict, 'https://example.org:25/').message, /^example\.org:25 uses a port/);
  const mail = createAddressPolicy({ allowLoopback: false, allow: ['8.8.4.4:22', 'git.example:22'], allowPorts: [25] });
  for (const url of ['http://example.org:25/', 'http://8.8.4.4:22/', 'http://git.example:22/'])
    assert.deepEqual(mail.check(url), { ok: true }, url);
  assert.equal(mail.check('http://8.8.8.8:22/').ok, false);
  // A name may resolve to the address whose port the list allows.
  assert.deepEqual(mail.checkAddress('8.8.4.4', 'other.example', 22), { ok: true });
  assert.equal(mail.checkAddress('8.8.8.8', 'other.example', 22).ok, false);
  assert.equal((await resolve(open, 'localhost', true, 22)).error?.name, 'BlockedAddressError');
  assert.deepEqual(dev.check('http://127.0.0.1:9/'), { ok: true }, 'in development mode every port of this machine is allowed');
  assert.equal(dev.check('http://8.8.8.8:22/').ok, false);
});

test('an entry with a port allows a private address only at that port', () => {
  const policy = createAddressPolicy({ allowLoopback: false, allow: ['10.0.0.5:8080', '10.96.0.0/12:443', 'app.internal:81'] });
  for (const url of ['http://10.0.0.5:8080/', 'https://10.97.1.1/', 'http://app.internal:81/'])
    assert.deepEqual(policy.check(url), { ok: true }, url);
  for (const url of ['http://10.0.0.5/', 'http://10.0.0.6:8080/', 'http://10.97.1.1/']) refusal(policy, url);
  assert.equal(policy.checkAddress('10.1.1.1', 'app.internal', 80).ok, false);
  assert.deepEqual(policy.checkAddress('10.1.1.1', 'app.internal', 81), { ok: true });
});

test('the deny list overrides every allow list, for addresses, ranges, names, subdomains and single ports', async () => {
  const policy = createAddressPolicy({
    allowLoopback: false,
    allow: ['10.0.0.0/8', 'db.example'],
    deny: ['203.0.114.0/24', '10.0.0.1', 'db.example', '*.corp.example', '9.9.9.9:443', '127.0.0.0/8', '::1'],
  });
  const denied = [
    'http://203.0.114.9/',
    'http://10.0.0.1/',
    'http://db.example/',
    'http://a.b.corp.example/',
    'https://9.9.9.9/',
  ];
  for (const url of denied) refusal(policy, url);
  for (const url of ['http://203.0.115.9/', 'http://10.0.0.2/', 'http://corp.example/', 'http://9.9.9.9/'])
    assert.deepEqual(policy.check(url), { ok: true }, url);
  assert.equal(policy.checkAddress('203.0.114.9', 'public.example', 80).ok, false);
  assert.equal((await resolve(policy, 'localhost', true)).error?.name, 'BlockedAddressError');
});

test('an address in a NAT64 prefix is checked by its embedded IPv4 address, for every prefix length in RFC 6052', () => {
  const prefixes = ['64:ff9b::/96', '2001:db8::/32', '2a00:100::/40', '2a00:200:300::/48', '2a00:400:500:600::/56', '2a01::/64'];
  const policy = createAddressPolicy({ allowLoopback: false, allow: ['10.9.9.9'], deny: ['9.9.9.9'], nat64Prefixes: prefixes });
  // RFC 6052, section 2.4, with 192.0.2.33 replaced by 10.0.2.33 and by 8.0.2.33.
  const table = [
    ['2001:db8:a00:221::', '2001:db8:800:221::'],
    ['2a00:100:0a:0002:21::', '2a00:100:08:0002:21::'],
    ['2a00:200:300:a00:2:2100::', '2a00:200:300:800:2:2100::'],
    ['2a00:400:500:60a:0:221::', '2a00:400:500:608:0:221::'],
    ['2a01::a:2:2100:0', '2a01::8:2:2100:0'],
    ['64:ff9b::10.0.2.33', '64:ff9b::8.0.2.33'],
  ] as const;
  for (const [inside, outside] of table) {
    assert.match(refusal(policy, `http://[${inside}]/`).message, /a private address/, inside);
    assert.deepEqual(policy.check(`http://[${outside}]/`), { ok: true }, outside);
  }
  assert.deepEqual(policy.check('http://[64:ff9b::10.9.9.9]/'), { ok: true });
  refusal(policy, 'http://[64:ff9b::9.9.9.9]/');
});

test("the server's own listeners are refused even if its network is allowed", () => {
  const ownListeners = () => [{ addresses: ['10.0.0.5', 'fd00::5'], port: 8080 }];
  const policy = createAddressPolicy({ allowLoopback: false, allow: ['10.0.0.0/8', 'fd00::/8'], ownListeners });
  for (const url of ['http://10.0.0.5:8080/', 'http://[fd00::5]:8080/']) refusal(policy, url);
  for (const url of ['http://10.0.0.5:8081/', 'http://10.0.0.6:8080/']) assert.deepEqual(policy.check(url), { ok: true }, url);
  const named = createAddressPolicy({ allowLoopback: false, allow: ['10.0.0.5:8080'], ownListeners });
  assert.deepEqual(named.check('http://10.0.0.5:8080/'), { ok: true }, 'an entry with the port allows a listener explicitly');
});

test('a refusal does not reveal the network or the settings to the caller; the log contains the details', () => {
  const policy = createAddressPolicy({ allowLoopback: false, allow: ['10.0.0.0/8'], deny: ['denied.example'] });
  const undisclosedRefusal = [policy.checkAddress('192.168.7.7', 'wiki.example', 80), policy.check('http://denied.example/')];
  for (const verdict of undisclosedRefusal) {
    assert.ok(!verdict.ok);
    assert.match(verdict.message, /^Everstep does not call the address [a-z.]+$/);
    assert.match(verdict.detail, /192\.168\.7\.7, a private address|denied by EVERSTEP_DENY_ADDRESSES/);
  }
  assert.doesNotMatch(refusal(policy, 'http://192.168.7.7/').message, /EVERSTEP_/);
  assert.match(refusal(dev, 'http://10.0.0.1/').message, /to allow it, add its host or range to EVERSTEP_ALLOW_ADDRESSES$/);
  assert.match(refusal(dev, 'http://8.8.8.8:25/').message, /to allow it, add 25 to EVERSTEP_ALLOW_PORTS$/);
});

test('a name from a private network is refused without a lookup', () => {
  for (const host of ['postgres', 'api.default.svc', 'api.default.svc.cluster.local', 'vault.internal', 'nas.lan', 'x.home.arpa'])
    assert.equal(refusal(strict, `http://${host}/`).message, `Everstep does not call the address ${host}`);
  const cluster = createAddressPolicy({ allowLoopback: false, allow: ['10.96.0.0/12'] });
  assert.deepEqual(cluster.check('http://api.default.svc/'), { ok: true }, 'its address may be in the allowed range');
  const named = createAddressPolicy({ allowLoopback: false, allow: ['app'] });
  assert.deepEqual([named.check('http://app/').ok, named.check('http://other/').ok], [true, false]);
});
