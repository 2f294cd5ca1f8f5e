import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EverstepError } from '../errors.js';
import { SearchClient } from './search.js';

interface Sent {
  readonly request: string;
  readonly authorization: string | null;
  readonly type: string | null;
  readonly body: string;
}

/** An index that returns this response, and the requests that it received. */
function indexOf(response: Response | object) {
  const sent: Sent[] = [];
  const client = new SearchClient({
    url: 'http://service/search/idx_1/',
    token: 'srw_1',
    fetch: async (input, init) => {
      const asked = new Request(input, init);
      const { pathname, search } = new URL(asked.url);
      const { headers } = asked;
      sent.push({
        request: `${asked.method} ${pathname}${search}`,
        authorization: headers.get('authorization'),
        type: headers.get('content-type'),
        body: await asked.text(),
      });
      return response instanceof Response ? response : new Response(JSON.stringify(response));
    },
  });
  return { client, sent };
}

const DOCUMENT = { id: 'a', content: { title: 'Alien' } };

/** The call, the expected path and body, the response, and the expected result. */
const calls: readonly (readonly [
  name: string,
  act: (client: SearchClient) => Promise<unknown>,
  path: string,
  body: unknown,
  result: unknown,
  given: unknown,
])[] = [
  ['upsert', (client) => client.namespace('n').upsert(DOCUMENT), '/upsert-data/n', DOCUMENT, 'Success', undefined],
  [
    'upsert of several documents',
    (client) => client.namespace().upsert([DOCUMENT]),
    '/upsert-data',
    [DOCUMENT],
    'Success',
    undefined,
  ],
  [
    'search',
    (client) => client.namespace('a b/c').search({ query: 'x', topK: 2 }),
    '/search/a%20b%2Fc',
    { query: 'x', topK: 2 },
    [],
    [],
  ],
  [
    'fetch by ids',
    (client) => client.namespace('n').fetch({ ids: ['a', 7] }),
    '/fetch/n',
    { ids: ['a', 7] },
    [DOCUMENT, null],
    [DOCUMENT, null],
  ],
  [
    'fetch by prefix',
    (client) => client.namespace('n').fetch({ prefix: 'a' }, { includeData: false }),
    '/fetch/n',
    { prefix: 'a', includeData: false },
    [],
    [],
  ],
  ['delete', (client) => client.namespace('n').delete({ filter: 'a = 1' }), '/delete/n', { filter: 'a = 1' }, { deleted: 3 }, 3],
  [
    'range',
    (client) => client.namespace('n').range({ limit: 2, cursor: 'c' }),
    '/range/n',
    { limit: 2, cursor: 'c' },
    { nextCursor: '', vectors: [] },
    { nextCursor: '', vectors: [] },
  ],
  ['reset of a namespace', (client) => client.namespace('n').reset(), '/reset/n', undefined, 'Success', undefined],
  ['reset of all namespaces', (client) => client.reset(), '/reset?all', undefined, 'Success', undefined],
  ['namespaces', (client) => client.namespaces(), '/list-namespaces', undefined, ['', 'n'], ['', 'n']],
  ['deleteNamespace', (client) => client.deleteNamespace('n/m'), '/delete-namespace/n%2Fm', undefined, 'Success', undefined],
  ['info', (client) => client.info(), '/info', undefined, { vectorCount: 1 }, { vectorCount: 1 }],
];

describe('the client of a search index', () => {
  for (const [name, act, path, body, result, given] of calls) {
    it(`${name} sends the request and returns the result`, async () => {
      const { client, sent } = indexOf({ result });
      assert.deepEqual(await act(client), given);
      assert.deepEqual(sent, [
        {
          request: `POST /search/idx_1${path}`,
          authorization: 'Bearer srw_1',
          type: body === undefined ? null : 'application/json',
          body: body === undefined ? '' : JSON.stringify(body),
        },
      ]);
    });
  }

  it('rejects with the message and the code of the server', async () => {
    const headers = { 'Svc-Error-Code': 'read-only-token' };
    const { client } = indexOf(new Response('{"error":"this token can only read"}', { status: 403, headers }));
    await assert.rejects(client.reset(), (error: EverstepError) => {
      assert.deepEqual([error.status, error.code, error.message], [403, 'read-only-token', 'this token can only read']);
      return error instanceof EverstepError;
    });
  });

  it('reads missing options from the environment, and reports missing ones', (t) => {
    const VARIABLES = ['EVERSTEP_SEARCH_URL', 'EVERSTEP_SEARCH_TOKEN'] as const;
    const before = VARIABLES.map((name) => [name, process.env[name]] as const);
    t.after(() => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    for (const name of VARIABLES) delete process.env[name];
    for (const [name, value] of [
      ['EVERSTEP_SEARCH_URL', 'http://service/search/idx_1'],
      ['EVERSTEP_SEARCH_TOKEN', 'srw_1'],
    ] as const) {
      assert.throws(() => new SearchClient(), { name: 'EverstepError', code: 'no-configuration', message: new RegExp(name) });
      process.env[name] = value;
    }
    assert.doesNotThrow(() => new SearchClient());
  });
});
