/** Every curl command in the documentation asks for a route that exists, with its method. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { routedUrl } from './routing.js';
import type { Route } from './server.js';
import { ApiWorld } from './testing/api-world.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const VARIABLE_URL = /["']?\$\{?(?:EVERSTEP_(?:MANAGEMENT_)?URL|MANAGEMENT_URL|SEARCH_URL|QSTASH_URL)\}?(\/[^\s"'?]*)/;

let world: ApiWorld;
before(async () => {
  world = await ApiWorld.open();
});
after(() => world.close());

interface Shown {
  readonly method: string;
  readonly path: string;
}

function requestsIn(text: string): readonly Shown[] {
  const requests: Shown[] = [];
  // A line that ends with a backslash goes on in the next one; a command ends with its line.
  for (const [command] of text.replace(/\\\n/g, ' ').matchAll(/\bcurl [^\n`]*/g)) {
    const [, path] = VARIABLE_URL.exec(command) ?? [];
    if (path === undefined) continue;
    const given = /(?:-X|--request) *([A-Z]+)/.exec(command)?.[1];
    requests.push({ method: given ?? (/ (-d|--data\S*|--json) /.test(command) ? 'POST' : 'GET'), path });
  }
  return requests;
}

/** A segment of the route that begins with a colon takes any text; a star takes the rest. */
function takes(route: Route, { method, path }: Shown): boolean {
  if (route.method !== method) return false;
  const pattern = route.path
    .replace(/[.+?()[\]{}^$|\\]/g, '\\$&')
    .replace(/:[^/]+/g, '[^/]+')
    .replace(/\*/g, '.*');
  return new RegExp(`^${pattern}/?$`).test(routedUrl(method, path));
}

test('every curl command asks for a route that there is', () => {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'));
  const files = ['README.md', 'packages/sdk/README.md', ...pages.map((path) => join('docs', path))];
  const shown = files.flatMap((path) =>
    requestsIn(readFileSync(join(ROOT, path), 'utf8')).map((each) => ({ ...each, at: path })),
  );
  assert.ok(shown.length > 15, `${shown.length} requests`);
  const unknown = shown.filter((request) => !world.api.routes.some((route) => takes(route, request)));
  assert.deepEqual(unknown, []);
});

test('a request that no route takes is found', () => {
  const [wrongPath, wrongMethod, right] = requestsIn(
    'curl "$EVERSTEP_URL/v2/nothing"\ncurl -X PATCH "$EVERSTEP_URL/v2/settings"\ncurl \\\n  -X PUT -d 1 "$EVERSTEP_URL/v2/settings"',
  );
  const found = (request: Shown | undefined) => request && world.api.routes.some((route) => takes(route, request));
  assert.deepEqual([found(wrongPath), found(wrongMethod), found(right)], [false, false, true]);
});
