/** Every curl command in the documentation uses an existing route and method. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { routedUrl } from '../http-api/server/routing.js';
import type { Route } from '../http-api/server/server.js';
import { ApiHarness } from '../http-api/testing/api-harness.js';
import { PAGES, read } from './pages.fixture.js';
import { bodiesIn, requestsIn, type ShownRequest } from './requests.fixture.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

/** Returns whether a route accepts a request. A segment with a leading colon matches any text; a star matches the rest. */
function accepts(route: Route, { method, path }: ShownRequest): boolean {
  if (route.method !== method) return false;
  const pattern = route.path
    .replace(/[.+?()[\]{}^$|\\]/g, '\\$&')
    .replace(/:[^/]+/g, '[^/]+')
    .replace(/\*/g, '.*');
  return new RegExp(`^${pattern}/?$`).test(routedUrl(method, path));
}

test('every curl command uses an existing route', () => {
  const shown = PAGES.flatMap((path) => requestsIn(read(path)).map((each) => ({ ...each, at: path })));
  assert.ok(shown.length > 15, `${shown.length} requests`);
  const unknown = shown.filter((request) => !harness.api.routes.some((route) => accepts(route, request)));
  assert.deepEqual(unknown, []);
});

test('a request to an unknown route is detected', () => {
  const [wrongPath, wrongMethod, right] = requestsIn(
    'curl "$EVERSTEP_URL/v2/nothing"\ncurl -X PATCH "$EVERSTEP_URL/v2/settings"\ncurl \\\n  -X PUT -d 1 "$EVERSTEP_URL/v2/settings"',
  );
  const hasRoute = (request: ShownRequest | undefined) => request && harness.api.routes.some((route) => accepts(route, request));
  assert.deepEqual([hasRoute(wrongPath), hasRoute(wrongMethod), hasRoute(right)], [false, false, true]);
});

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test('every JSON body of a curl command can be parsed', () => {
  const bodies = PAGES.flatMap((path) => bodiesIn(read(path)).map((each) => ({ ...each, at: path })));
  const json = bodies.filter(({ isDeclaredJson }) => isDeclaredJson);
  assert.ok(json.length > 5, `${json.length} bodies`);
  assert.deepEqual(
    json.filter(({ body }) => !isJson(body)),
    [],
  );
});

test('an invalid JSON body is detected', () => {
  const bodies = bodiesIn(
    `curl -H "Content-Type: application/json" -d '{a:1}' x\ncurl -d "{\\"a\\":\\"$B\\"}" x\ncurl -d hello x`,
  );
  assert.deepEqual(
    bodies.map(({ body, isDeclaredJson }) => [body, isDeclaredJson, isJson(body)]),
    [
      ['{a:1}', true, false],
      ['{"a":"$B"}', true, true],
      ['hello', false, false],
    ],
  );
});
