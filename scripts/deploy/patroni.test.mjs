// Compares deploy/patroni/ with the page about it. `npm run test:failover` starts a cluster with these files.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (path) => readFileSync(join(ROOT, path), 'utf8');

const DIRECTORY = 'deploy/patroni';
const files = readdirSync(join(ROOT, DIRECTORY)).sort();
const page = read('docs/operations/patroni.md');
const patroni = parse(read(`${DIRECTORY}/patroni.yaml`));

test('the page links every file', () => {
  const linked = [...page.matchAll(/\]\(\.\.\/\.\.\/deploy\/patroni\/([\w.-]+)\)/g)].map(([, name]) => name);
  assert.deepEqual(linked.sort(), files);
});

test('the page describes every variable of the files', () => {
  const used = files.flatMap((name) =>
    [...read(`${DIRECTORY}/${name}`).matchAll(/\$\{(\w+)\}/g)].map(([, variable]) => variable),
  );
  const rows = page.split('\n').filter((line) => /^\| `[A-Z_]+`/.test(line));
  const described = rows.flatMap((row) => [...row.split('|')[1].matchAll(/`(\w+)`/g)].map(([, variable]) => variable));
  assert.deepEqual([...new Set(used)].sort(), described.sort());
});

test('the times of Patroni follow its rule, and commits wait for a standby', () => {
  const { ttl, loop_wait: loop, retry_timeout: retry, synchronous_mode: synchronous } = patroni.bootstrap.dcs;
  assert.ok(loop + 2 * retry <= ttl);
  assert.equal(synchronous, true);
});

test('PgBouncer keeps sessions, and its pool fits into the connections of PostgreSQL', () => {
  const settings = Object.fromEntries(
    [...read(`${DIRECTORY}/pgbouncer.ini`).matchAll(/^(\w+) = (.+)$/gm)].map(([, ...pair]) => pair),
  );
  assert.equal(settings.pool_mode, 'session');
  assert.ok(Number(settings.default_pool_size) < patroni.bootstrap.dcs.postgresql.parameters.max_connections);
});
