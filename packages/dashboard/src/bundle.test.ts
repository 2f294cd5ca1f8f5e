/** Checks what the first page loads, using the manifest of the build. scripts/setup builds the dashboard before the tests. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const STATIC = fileURLToPath(new URL('../../everstep/static', import.meta.url));
const FIRST_PAGE_MAX_BYTES = 250_000;

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
}

const manifest: Readonly<Record<string, Chunk>> = JSON.parse(readFileSync(join(STATIC, '.vite', 'manifest.json'), 'utf8'));

/** Returns the files of a chunk and of all its static imports. */
function filesOf(name: string, seen = new Set<string>()): Set<string> {
  const chunk = manifest[name];
  assert.ok(chunk, `${name} is not in the manifest`);
  for (const file of [chunk.file, ...(chunk.css ?? []), ...(chunk.assets ?? [])]) seen.add(file);
  for (const other of chunk.imports ?? []) filesOf(other, seen);
  return seen;
}

const gzipped = (file: string): number => gzipSync(readFileSync(join(STATIC, file))).length;

test('the first page loads less than 250 kB, gzipped', () => {
  const files = new Set(['index.html', 'theme.js', 'favicon.svg']);
  for (const name of ['index.html', 'src/shell/login.tsx', 'src/pages/insights/overview-page.tsx'])
    for (const file of filesOf(name)) files.add(file);
  const bytes = [...files].reduce((sum, file) => sum + gzipped(file), 0);
  assert.ok(bytes < FIRST_PAGE_MAX_BYTES, `${bytes} bytes in ${[...files].join(', ')}`);
});

test('the dashboard loads nothing from other hosts and has no inline scripts or styles', () => {
  const html = readFileSync(join(STATIC, 'index.html'), 'utf8');
  for (const [tag] of html.matchAll(/<(?:script|link|style)\b[^>]*>/g)) {
    assert.match(tag, /(?:src|href)="\//, `${tag} does not load a local file`);
  }
  assert.doesNotMatch(html, /<script[^>]*>[^<]+<|\sstyle=|\son\w+=/);
  for (const file of readdirSync(join(STATIC, 'assets')).filter((name) => name.endsWith('.css'))) {
    assert.doesNotMatch(readFileSync(join(STATIC, 'assets', file), 'utf8'), /url\((?!["']?\/)|@import/, file);
  }
});
