/** Checks what the first page loads, using the manifest of the build. scripts/setup builds the dashboard before the tests. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const STATIC = fileURLToPath(new URL('../../everstep/static', import.meta.url));
/** Gzipped; brotli, which browsers prefer over HTTPS, is a tenth smaller. */
const FIRST_PAINT_MAX_BYTES = 120_000;

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
}

const manifest: Readonly<Record<string, Chunk>> = JSON.parse(readFileSync(join(STATIC, '.vite', 'manifest.json'), 'utf8'));

/** Returns the files of a chunk and of all its static imports. */
function filesOf(name: string, chunks = new Set<string>()): readonly string[] {
  if (chunks.has(name)) return [];
  chunks.add(name);
  const chunk = manifest[name];
  assert.ok(chunk, `${name} is not in the manifest`);
  return [
    ...[chunk.file, ...(chunk.css ?? []), ...(chunk.assets ?? [])],
    ...(chunk.imports ?? []).flatMap((other) => filesOf(other, chunks)),
  ];
}

const gzipped = (file: string): number => gzipSync(readFileSync(join(STATIC, file)), { level: 9 }).length;

for (const page of [
  'shell/sign-in',
  'pages/insights/overview-page',
  'pages/runs/runs-page',
  'pages/runs/run-page',
  'pages/dead-letters/dead-letters-page',
])
  test(`the first paint of ${page} needs less than 120 kB, compressed, with everything that its code imports`, () => {
    const files = ['index.html', 'theme.js', 'favicon.svg', ...filesOf('index.html'), ...filesOf(`src/${page}.tsx`)];
    const sizes = [...new Set(files)].map((file) => ({ file, bytes: gzipped(file) }));
    const bytes = sizes.reduce((sum, each) => sum + each.bytes, 0);
    assert.ok(bytes < FIRST_PAINT_MAX_BYTES, `${bytes} bytes in ${JSON.stringify(sizes)}`);
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
