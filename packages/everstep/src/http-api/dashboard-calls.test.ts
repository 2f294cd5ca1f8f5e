/** Checks that everything the dashboard does is a documented API operation. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ApiHarness } from './testing/api-harness.js';

const PAGES = fileURLToPath(new URL('../../../dashboard/src', import.meta.url));
const DOCUMENTS = ['/openapi.json', '/openapi-management.json', '/openapi-search.json', '/openapi-upstash.json'];
/** An API path in the source of a page: a string literal with the prefix of an API path. */
const ADDRESS = /['"`](\/(?:v2|search\/\$\{)[^'"`\n?]*)/g;

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

async function addresses(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const file of await readdir(PAGES, { recursive: true })) {
    if (!/(?<!\.test)\.tsx?$/.test(file)) continue;
    const source = await readFile(join(PAGES, file), 'utf8');
    for (const [, address = ''] of source.matchAll(ADDRESS)) found.set(address, file);
  }
  return found;
}

/** `null` stands for any path segment. */
const segmentsOf = (path: string): readonly (string | null)[] =>
  path
    .replace(/\/+$/, '')
    .split('/')
    .slice(1)
    .map((segment) => (/[{$]/.test(segment) ? null : segment));

test('every path that a page requests belongs to an operation of an OpenAPI document', async () => {
  const known: (readonly (string | null)[])[] = [];
  for (const url of DOCUMENTS) {
    const { status, body } = await harness.send<{ readonly paths: object }>({ method: 'GET', url });
    assert.equal(status, 200, url);
    known.push(...Object.keys(body.paths).map(segmentsOf));
  }
  const asked = await addresses();
  assert.ok(asked.size > 60, `${asked.size} addresses`);
  const unknown = [...asked].filter(([address]) => {
    const segments = segmentsOf(address.replace(/(?<!\/)\$\{.*$/, ''));
    const fits = (path: readonly (string | null)[]) =>
      path.every((segment, place) => {
        const own = segments[place];
        return own === null || segment === null ? own !== undefined || place === path.length - 1 : own === segment;
      }) && segments.length <= path.length;
    return !known.some(fits);
  });
  assert.deepEqual(unknown, []);
});
