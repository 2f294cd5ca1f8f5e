/** TLS to the database, with the certificates of the tests: what is verified and what is rejected. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { OTHER_CA, TEST_CA } from '../../../config/certificates.fixture.js';
import type { Log } from '../../../ports/log.js';
import { openPostgresNode, openPostgresStore } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';
import { Database, unpreparedStatement } from './connection.js';
import { StoreOpenError } from './errors.js';
import { checkTls, tlsNotice, withVerification } from './tls.js';

const schemas = await openTestSchemas();
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };
/** Whether the server was started by these tests, with their certificate. */
const hasCertificate = async (url: string): Promise<boolean> => {
  const database = new Database({ url, log: silent });
  const [row] = await database.query(
    unpreparedStatement("SELECT current_setting('ssl') AS ssl, current_setting('ssl_cert_file') AS file"),
  );
  await database.close();
  return row?.ssl === 'on' && String(row.file).includes('everstep-postgres-');
};

test('modes that the library intends to weaken are pinned to verify-full, and nothing else of a URL is changed', () => {
  const table = {
    'postgres://u:p@h/db?sslmode=require': 'postgres://u:p@h/db?sslmode=verify-full',
    'postgres://h/db?a=b&sslmode=prefer&c=d': 'postgres://h/db?a=b&sslmode=verify-full&c=d',
    'postgres://h/db?sslmode=verify-ca#x': 'postgres://h/db?sslmode=verify-full#x',
    'postgres://h/db?sslmode=verify-full': 'postgres://h/db?sslmode=verify-full',
    'postgres://h/db?sslmode=disable': 'postgres://h/db?sslmode=disable',
    'postgres://h/db?sslmode=no-verify': 'postgres://h/db?sslmode=no-verify',
    'postgres://h/db?uselibpqcompat=true&sslmode=require': 'postgres://h/db?uselibpqcompat=true&sslmode=require',
    'postgres://u:sslmode=require@h/db': 'postgres://u:sslmode=require@h/db',
  };
  for (const [given, used] of Object.entries(table)) assert.equal(withVerification(given), used);
});

test('a warning at startup names the modes that are less secure than they seem', () => {
  const notices: readonly (readonly [url: string, words: RegExp | null])[] = [
    ['postgres://db.internal/e', /not encrypted; use sslmode=verify-full/],
    ['postgres://127.0.0.1:5432,db.internal/e?sslmode=disable', /not encrypted/],
    ['postgres://db.internal/e?sslmode=no-verify', /not verified/],
    ['postgres://db.internal/e?sslmode=require', /sslmode=require is deprecated and means verify-full/],
    ['postgres://db.internal/e?sslmode=verify-full', null],
    ['postgres://db.internal/e?sslrootcert=/ca.pem', null],
    ['postgres://u:p@127.0.0.1:5432/e', null],
    ['postgres://localhost,[::1]:5433/e', null],
    ['postgres:///e?host=/var/run/postgresql', null],
  ];
  for (const [url, words] of notices) {
    if (words === null) assert.equal(tlsNotice(url), null, url);
    else assert.match(tlsNotice(url) ?? '', words, url);
  }
});

test('an unknown mode and a missing file stop the start, without showing the password', () => {
  for (const [query, words] of [
    ['sslmode=verify_full', /sslmode must be one of disable, no-verify, .*; it is "verify_full"/],
    ['sslmode=verify-full&sslrootcert=/none/ca.pem', /the file of sslrootcert cannot be read: ENOENT/],
  ] as const)
    assert.throws(
      () => checkTls(`postgres://u:hush@h/db?${query}`, 'postgres://h/db'),
      (error) => error instanceof StoreOpenError && words.test(error.message) && !error.message.includes('hush'),
    );
});

if (typeof schemas === 'string') {
  describe('TLS to PostgreSQL', { skip: schemas }, () => {});
} else {
  const { url } = await schemas.make();
  const skip = (await hasCertificate(url)) ? false : 'this server does not use the certificate of the tests';
  describe('TLS to PostgreSQL', { skip }, () => {
    let directory = '';
    const ca = (name: string) => encodeURIComponent(join(directory, name));
    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'everstep-tls-'));
      await writeFile(join(directory, 'ca.pem'), TEST_CA);
      await writeFile(join(directory, 'other.pem'), OTHER_CA);
    });
    after(() => rm(directory, { recursive: true }));

    const asking = (query: string, host = '127.0.0.1') => `${url.replace('127.0.0.1', host)}&${query}`;
    const encrypted = async (at: string) => {
      const store = new Database({ url: at, log: silent });
      const result = store.query(unpreparedStatement('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'));
      return result.then(([row]) => row?.ssl).finally(() => store.close());
    };

    test('with verify-full and the right authority, the store opens by name and by address, and the connection is encrypted', async () => {
      for (const host of ['127.0.0.1', 'localhost'])
        assert.equal(await encrypted(asking(`sslmode=verify-full&sslrootcert=${ca('ca.pem')}`, host)), true, host);
      const store = await openPostgresStore({ url: asking(`sslmode=verify-full&sslrootcert=${ca('ca.pem')}`), log: silent });
      await store.close();
      assert.equal(await encrypted(url), false, 'without sslmode nothing is encrypted');
    });

    test('a certificate of another authority is rejected at startup, even if the machine trusts that authority', async () => {
      const queries = [
        `sslmode=verify-full&sslrootcert=${ca('other.pem')}`,
        'sslmode=verify-full',
        'sslmode=require',
        'sslmode=verify-ca',
        `sslrootcert=${ca('other.pem')}`,
      ];
      for (const query of queries)
        await assert.rejects(
          openPostgresStore({ url: asking(query), log: silent }),
          (error) => error instanceof StoreOpenError && /cannot be reached: .*(certificate|issuer)/.test(error.message),
          query,
        );
    });

    test('a certificate for another name is rejected although its authority is right', async () => {
      // The system resolves this host to 127.0.0.1, but the certificate check does not treat it as an IP address.
      const elsewhere = asking(`sslmode=verify-full&sslrootcert=${ca('ca.pem')}`, '127.1');
      await assert.rejects(openPostgresStore({ url: elsewhere, log: silent }), /cannot be reached: .*does not match certificate/);
    });

    test('no-verify encrypts and verifies nothing, and the log says so', async () => {
      const lines: string[] = [];
      const log: Log = { ...silent, warn: (fields) => lines.push(JSON.stringify(fields)) };
      const facts = { host: 'here', version: '1' };
      const node = await openPostgresNode({ url: asking('sslmode=no-verify'), log, facts });
      await node.store.close();
      assert.ok(lines.some((line) => /is not verified; use sslmode=verify-full/.test(line)));
      assert.equal(await encrypted(asking('sslmode=no-verify')), true);
    });
  });
}
