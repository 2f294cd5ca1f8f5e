/** The findings that `everstep doctor` derives from facts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfig } from '../../config/config.js';
import type { Finding } from './findings.js';
import { assessBackups, assessDescriptors, assessDisk, assessFiles, assessMemory, formatBytes } from './machine-checks.js';
import { assessSettings } from './risky-settings.js';
import {
  assessAddress,
  assessCertificate,
  assessClock,
  assessServer,
  assessServerClock,
  assessVersions,
} from './server-checks.js';
import type { NoReply, Reply } from './server-probe.js';
import { assessDatabase } from './store-checks.js';

const NOW = Date.UTC(2026, 10, 23);
const HOUR_MS = 3_600_000;
const GIB = 2 ** 30;

const statuses = (...findings: readonly Finding[]) => findings.map(({ status }) => status);
const says = (finding: Finding | undefined, status: Finding['status'], message: RegExp) => {
  assert.equal(finding?.status, status, JSON.stringify(finding));
  assert.match(finding.message, message);
  assert.equal(finding.fix !== null, status === 'warning' || status === 'problem', 'what to do');
};

test('a nearly full disk is a problem, and too little space for a copy of the store is a warning', () => {
  const disk = { path: '/data', freeBytes: 50 * GIB, totalBytes: 100 * GIB, storeBytes: GIB };
  says(assessDisk(disk), 'ok', /^50\.0 GiB of 100\.0 GiB are free on the disk of \/data$/);
  says(assessDisk({ ...disk, freeBytes: 10 * GIB }), 'warning', /free/);
  says(assessDisk({ ...disk, freeBytes: 4 * GIB }), 'problem', /free/);
  says(assessDisk({ ...disk, freeBytes: 2 ** 27, totalBytes: 2 ** 28 }), 'problem', /free/);
  says(assessDisk({ ...disk, storeBytes: 60 * GIB }), 'warning', /less than the store/);
  assert.equal(formatBytes(512), '512 B');
});

test('files that other users can access, or that this user cannot use, are problems', () => {
  const file = { path: '/data/secrets.key', mode: 0o100600, isDirectory: false, isUsable: true };
  says(assessFiles([file, { ...file, mode: null, isUsable: false }])[0], 'ok', /^1 files/);
  const [open] = assessFiles([{ ...file, mode: 0o100644 }]);
  says(open, 'problem', /other users can access \/data\/secrets\.key \(mode 644\)/);
  assert.equal(open?.fix, 'chmod 600 /data/secrets.key');
  assert.equal(assessFiles([{ ...file, path: '/data', mode: 0o40755, isDirectory: true }])[0]?.fix, 'chmod 700 /data');
  says(assessFiles([{ ...file, isUsable: false }])[0], 'problem', /this user cannot use/);
});

test('a missing or old backup is a problem', () => {
  const options = { now: NOW, maxAgeMs: 26 * HOUR_MS, isPostgres: false };
  const newest = { directory: '/backups/1', startedAt: NOW - 20 * HOUR_MS };
  says(assessBackups({ directory: '/backups', newest }, options), 'ok', /\/backups\/1, is 20 h 00 m old/);
  says(assessBackups({ directory: '/backups', newest }, { ...options, maxAgeMs: HOUR_MS }), 'problem', /allowed: 1 h 00 m/);
  says(assessBackups({ directory: '/backups', newest: null }, options), 'problem', /no complete backup/);
  says(assessBackups(null, options), 'skipped', /--backups/);
  says(assessBackups(null, { ...options, isPostgres: true }), 'skipped', /PostgreSQL/);
});

test('few file descriptors and a heap larger than the memory are warnings', () => {
  says(assessDescriptors(65_536), 'ok', /65536 files/);
  says(assessDescriptors(1_024), 'warning', /1024 files, enough for \d+ client connections/);
  says(assessDescriptors(null), 'skipped', /unknown/);
  says(assessMemory({ limitBytes: 8 * GIB, heapBytes: 4 * GIB }), 'ok', /8\.0 GiB/);
  const tight = assessMemory({ limitBytes: GIB, heapBytes: 2 * GIB });
  says(tight, 'warning', /together more than the memory/);
  assert.match(String(tight.fix), /--max-old-space-size=614 /);
  says(assessMemory({ limitBytes: 2 ** 28, heapBytes: 2 ** 27 }), 'problem', /256\.0 MiB/);
});

const reply = (changes: Partial<Reply> = {}): Reply => ({
  ...{ kind: 'replied', status: 200, body: { status: 'ok', version: '1.0.0' }, date: NOW, receivedAt: NOW + 500, roundTripMs: 0 },
  ...{ notReadyReason: null, certificate: null, ...changes },
});
const failed: NoReply = { kind: 'failed', error: 'ECONNREFUSED' };

test('a server that does not run is a warning; a server that is not ready, or another program, is a problem', () => {
  const at = 'http://127.0.0.1:8080';
  says(assessServer(at, reply(), reply()), 'ok', /is running and ready/);
  says(assessServer(at, failed, failed), 'warning', /no server responds .*ECONNREFUSED/);
  says(assessServer(at, reply({ status: 404 }), reply()), 'problem', /another program/);
  const body = { error: 'the store rejects writes: disk full' };
  says(
    assessServer(at, reply(), reply({ status: 503, body, notReadyReason: 'store-unavailable' })),
    'problem',
    /not ready: store-unavailable \(the store rejects writes/,
  );
  says(assessServer(at, reply(), failed), 'problem', /not ready: ECONNREFUSED/);
});

test('a command of another version is a warning', () => {
  assert.deepEqual(statuses(...['1.0.0', '1.1.0', null].map((version) => assessVersions('1.0.0', version))), [
    ...(['ok', 'warning', 'skipped'] as const),
  ]);
});

test('the uncertainty of a clock reading is not counted as skew', () => {
  says(assessClock('x', 1_900, 0), 'ok', /matches/);
  says(assessClock('x', -2_900, 1_000), 'ok', /matches/);
  says(assessClock('x', -5_000, 0), 'warning', /5\.0 s behind the clock of this machine/);
  says(assessClock('x', 60_000, 0), 'problem', /ahead of/);
  // The header is rounded down to a second.
  assert.equal(assessServerClock('u', reply({ receivedAt: NOW + 999 }))?.status, 'ok');
  assert.equal(assessServerClock('u', reply({ receivedAt: NOW + 10_000 }))?.status, 'warning');
  assert.equal(assessServerClock('u', reply({ date: null })), null);
  assert.equal(assessServerClock('u', failed), null);
});

test('an expired certificate is a problem, and one that expires soon is a warning', () => {
  const valid = { validFrom: NOW - HOUR_MS, validTo: NOW + 60 * 24 * HOUR_MS };
  says(assessCertificate('c', valid, NOW), 'ok', /valid until 2027-01-22/);
  says(assessCertificate('c', { ...valid, validTo: NOW + 24 * HOUR_MS }, NOW), 'warning', /expires on/);
  says(assessCertificate('c', { ...valid, validTo: NOW }, NOW), 'problem', /expired/);
  says(assessCertificate('c', { ...valid, validFrom: NOW + 1 }, NOW), 'problem', /valid only from/);
});

test('an address that another program or version serves is reported', () => {
  const [name, url] = ['EVERSTEP_PUBLIC_URL', 'https://e.test'];
  says(assessAddress(name, url, reply(), '1.0.0'), 'ok', /EVERSTEP_PUBLIC_URL \(https:\/\/e\.test\) responds/);
  says(assessAddress(name, url, reply(), null), 'ok', /responds/);
  says(assessAddress(name, url, failed, null), 'problem', /does not respond/);
  says(assessAddress(name, url, reply({ body: '<html>' }), null), 'problem', /another program/);
  says(assessAddress(name, url, reply(), '1.1.0'), 'warning', /version 1\.0\.0, but this server has version 1\.1\.0/);
});

test('fsync off and a newer schema are problems; an older schema and a slow database are warnings', () => {
  const facts = { version: '15.4', hasFsync: true, now: NOW, roundTripMs: 2, schema: 9, currentSchema: 9 };
  assert.deepEqual(statuses(...assessDatabase(facts, NOW)), ['ok', 'ok']);
  const of = (changes: Partial<typeof facts>) => assessDatabase({ ...facts, ...changes }, NOW)[0];
  says(of({ hasFsync: false }), 'problem', /fsync is off/);
  says(of({ schema: 10 }), 'problem', /newer than 9/);
  says(of({ schema: 8 }), 'warning', /migrates it to 9/);
  says(of({ schema: 0 }), 'skipped', /no Everstep schema/);
  says(of({ roundTripMs: 300 }), 'warning', /300 ms/);
  assert.equal(assessDatabase({ ...facts, now: NOW - 60_000 }, NOW)[1]?.status, 'problem');
});

function settings(env: Readonly<Record<string, string>>): readonly Finding[] {
  const parsed = parseConfig({ mode: 'serve', flags: {}, env, cwd: '/tmp' });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return assessSettings(parsed.config);
}

test('each setting that is risky in production is a warning', () => {
  assert.deepEqual(statuses(...settings({})), ['ok']);
  const behindProxy = { EVERSTEP_HOST: '0.0.0.0', EVERSTEP_PUBLIC_URL: 'https://e.test', EVERSTEP_TRUSTED_PROXIES: '10.0.0.1' };
  assert.deepEqual(statuses(...settings({ ...behindProxy, EVERSTEP_QUERY_TOKENS: '0' })), ['ok']);
  const cases: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ EVERSTEP_ACCEPT_LOSS: '1' }, /EVERSTEP_ACCEPT_LOSS/],
    [{ EVERSTEP_ALLOW_ADDRESSES: '10.0.0.0/8' }, /millions of addresses/],
    [{ EVERSTEP_HOST: '0.0.0.0', EVERSTEP_QUERY_TOKENS: '0' }, /without TLS/],
    [{ EVERSTEP_PUBLIC_URL: 'https://e.test' }, /without a trusted proxy/],
    [{ EVERSTEP_STORE: 'postgres://db/e' }, /not encrypted/],
    [{ EVERSTEP_STORE: 'postgres://db/e', EVERSTEP_SECRETS_KEY: 'k'.repeat(43), EVERSTEP_NODE_LEASE: '1' }, /lease/],
    [{ EVERSTEP_METRICS_ADDRESS: '0.0.0.0:9464' }, /metrics are served without a token/],
    [
      { EVERSTEP_SMTP_URL: 'smtp://m.test', EVERSTEP_SMTP_FROM: 'e@m.test', EVERSTEP_SMTP_TLS: 'optional' },
      /EVERSTEP_SMTP_TLS is "optional"/,
    ],
    [behindProxy, /query of a URL/],
    [{ EVERSTEP_LOG_LEVEL: 'debug' }, /EVERSTEP_LOG_LEVEL is debug/],
  ];
  for (const [env, message] of cases) {
    const found = settings(env);
    assert.equal(found.length, 1, `${JSON.stringify(env)}: ${JSON.stringify(found)}`);
    says(found[0], 'warning', message);
  }
});
