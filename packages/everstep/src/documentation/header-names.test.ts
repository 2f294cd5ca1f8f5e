/** Every header named in user-facing text is one that the server reads or sends. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ED25519_SIGNATURE_HEADER, SIGNATURE_HEADER } from '@everstep/sdk/protocol';
import { DIALECTS } from '../dialects/index.js';
import { HEADERS } from '../dialects/upstash/wire.js';
import { ApiHarness } from '../http-api/testing/api-harness.js';
import { filesBelow, lineAt, PAGES, read } from './pages.fixture.js';

const { native, upstash } = DIALECTS;

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

interface Described {
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, unknown>> }>>;
}

/** Returns the lower-case header names of a document; a header family ends with a star. */
async function describedIn(document: string): Promise<readonly string[]> {
  const { body } = await harness.send<{ paths: Record<string, Record<string, Described>> }>({ method: 'GET', url: document });
  const operations = Object.values(body.paths).flatMap((item) => Object.values(item));
  const names = operations.flatMap(({ parameters, responses }) => [
    ...parameters.flatMap((each) => (each.in === 'header' ? [each.name] : [])),
    ...Object.values(responses).flatMap(({ headers = {} }) => Object.keys(headers)),
  ]);
  return names.map((name) => name.toLowerCase());
}

/** Returns the headers that the server sends with a step; names and values alternate. */
async function sentWithStep(): Promise<readonly string[]> {
  const { workflowRunId } = await harness.trigger('ok');
  const call = harness.endpoints.calls.find(({ request }) => request.run.id === workflowRunId);
  assert.ok(call);
  const signatures = { [SIGNATURE_HEADER]: 'sealed', [ED25519_SIGNATURE_HEADER]: 'sealed' };
  const envelope = { url: call.workflowUrl, userAgent: 'Everstep', signatures, region: 'eu-central-1' };
  return [native, upstash].flatMap(({ steps }) => steps.headers(call, envelope).filter((_, at) => at % 2 === 0));
}

async function knownHeaders(): Promise<ReadonlySet<string>> {
  const described = await Promise.all(['/openapi.json', '/openapi-upstash.json'].map(describedIn));
  const ofRuns = described.flat().filter((name) => name.startsWith(native.receivedPrefix));
  return new Set([
    ...described.flat(),
    // The published SDKs set every run setting under their own prefix.
    ...ofRuns.map((name) => upstash.receivedPrefix + name.slice(native.receivedPrefix.length)),
    ...(await sentWithStep()).map((name) => name.toLowerCase()),
    ...Object.values(HEADERS).map((name) => upstash.spell(name).toLowerCase()),
  ]);
}

const NAME = /(?<![\w-])(?:svc|upstash)-[a-z][a-z0-9-]*\*?/gi;

/** Returns every unknown name in a text with its line. */
function unknownIn(text: string, known: ReadonlySet<string>): readonly string[] {
  const families = [...known].filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return [...text.matchAll(NAME)].flatMap(({ 0: written, index }) => {
    const name = written.toLowerCase();
    if (known.has(name) || families.some((family) => name.startsWith(family))) return [];
    return [`${lineAt(text, index)}: ${written}`];
  });
}

const TEXTS = [
  ...PAGES,
  ...filesBelow('packages/everstep/src/cli', /(?<!\.test)\.ts$/),
  ...filesBelow('packages/dashboard/src', /\.tsx?$/),
  ...filesBelow('packages/sdk/src', /(?<!\.(test|fixture))\.ts$/),
  ...filesBelow('examples', /\.ts$/),
];

test('every header in the documentation, hints, dashboard and examples exists', async () => {
  const known = await knownHeaders();
  assert.ok(PAGES.flatMap((path) => [...read(path).matchAll(NAME)]).length > 50);
  assert.deepEqual(
    TEXTS.flatMap((path) => unknownIn(read(path), known).map((each) => `${path}:${each}`)),
    [],
  );
});

test('an unknown header is detected', async () => {
  const known = await knownHeaders();
  assert.deepEqual(unknownIn('Svc-Retries, svc-retry-delays\n`Svc-Forward-X-Team` Upstash-Retries Upstash-Relay', known), [
    '1: svc-retry-delays',
    '2: Upstash-Relay',
  ]);
});
