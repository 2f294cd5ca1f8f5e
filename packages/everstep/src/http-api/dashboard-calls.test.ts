/** Everything that the pages can do is an operation of a document, for everybody: no page has a door of its own. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ApiWorld } from './testing/api-world.js';

const PAGES = fileURLToPath(new URL('../../../dashboard/src', import.meta.url));
const DOCUMENTS = ['/openapi.json', '/openapi-management.json', '/openapi-search.json', '/openapi-upstash.json'];
/** An address in the source of a page: a literal that begins as those of the API do. */
const ADDRESS = /['"`](\/(?:v2|search\/\$\{)[^'"`\n?]*)/g;

let world: ApiWorld;
before(async () => {
  world = await ApiWorld.open();
});
after(() => world.close());

async function addresses(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const file of await readdir(PAGES, { recursive: true })) {
    if (!/(?<!\.test)\.tsx?$/.test(file)) continue;
    const source = await readFile(join(PAGES, file), 'utf8');
    for (const [, address = ''] of source.matchAll(ADDRESS)) found.set(address, file);
  }
  return found;
}

/** `null` where any segment may stand. */
const segmentsOf = (path: string): readonly (string | null)[] =>
  path
    .replace(/\/+$/, '')
    .split('/')
    .slice(1)
    .map((segment) => (/[{$]/.test(segment) ? null : segment));

test('every address that a page asks is that of an operation in one of the documents', async () => {
  const known: (readonly (string | null)[])[] = [];
  for (const url of DOCUMENTS) {
    const { status, body } = await world.send<{ readonly paths: object }>({ method: 'GET', url });
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
