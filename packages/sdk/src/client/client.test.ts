import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { EverstepError } from '../errors.js';
import { Client } from './client.js';

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

interface FakeResponse {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

let received: Received[] = [];
let answers: FakeResponse[] = [];
let baseUrl = '';
let client: Client;

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => /^svc-|^content-type$|^authorization$/.test(name)),
    );
    received.push({ method: request.method, url: request.url, headers, body });
    const result = answers.shift() ?? { body: {} };
    response.writeHead(result.status ?? 200, { 'Content-Type': 'application/json', ...result.headers });
    response.end(typeof result.body === 'string' ? result.body : JSON.stringify(result.body));
  });
});

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  baseUrl = `http://127.0.0.1:${address.port}`;
  client = new Client({ baseUrl: `${baseUrl}/`, token: 't' });
});
after(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  received = [];
  answers = [];
});

const JSON_TYPE = { 'content-type': 'application/json' };
const DLQ = '/v2/workflows/dlq';

const calls: readonly (readonly [
  string,
  (client: Client) => Promise<unknown>,
  Omit<Received, 'headers' | 'body'> & Partial<Received>,
])[] = [
  [
    'trigger with every option',
    (client) =>
      client.trigger('http://app/flow?a=1&b=2', {
        body: { n: 1 },
        headers: { 'X-One': 'ü' },
        runId: 'my run',
        retries: 2,
        retryDelay: '1000 * retried',
        delay: '1.5s',
        notBefore: new Date('2030-01-01T00:00:00.5Z'),
        timeout: 30,
        labels: ['a', 'b'],
        flowControl: { key: 'k', parallelism: 2, rate: 10, period: '1m' },
        failureCallback: { url: 'http://app/failed', headers: { 'X-Two': '2' } },
        deduplicationId: 'd',
        contentBasedDeduplication: true,
        waitForResult: '5s',
      }),
    {
      method: 'POST',
      url: '/v2/trigger/http%3A%2F%2Fapp%2Fflow%3Fa%3D1%26b%3D2',
      body: '{"n":1}',
      headers: {
        ...JSON_TYPE,
        'svc-forward-x-one': Buffer.from('ü').toString('latin1'),
        'svc-workflow-runid': 'my run',
        'svc-retries': '2',
        'svc-retry-delay': '1000 * retried',
        'svc-delay': '2s',
        'svc-not-before': '1893456001',
        'svc-timeout': '30s',
        'svc-label': 'a,b',
        'svc-flow-control-key': 'k',
        'svc-flow-control-value': 'parallelism=2, rate=10, period=60s',
        'svc-failure-callback': 'http://app/failed',
        'svc-failure-callback-forward-x-two': '2',
        'svc-deduplication-id': 'd',
        'svc-content-based-deduplication': 'true',
        'svc-wait-for-result': '5s',
      },
    },
  ],
  [
    'trigger without options',
    (client) => client.trigger('http://app/flow'),
    { method: 'POST', url: '/v2/trigger/http%3A%2F%2Fapp%2Fflow', body: '', headers: {} },
  ],
  [
    'trigger with text',
    (client) => client.trigger('http://app/', { body: 'ü', waitForResult: true }),
    { method: 'POST', url: '/v2/trigger/http%3A%2F%2Fapp%2F', body: 'ü', headers: { 'svc-wait-for-result': 'true' } },
  ],
  [
    'trigger with bytes and a content type',
    (client) => client.trigger('http://app/', { body: new Uint8Array([65, 66]), contentType: 'image/png' }),
    { method: 'POST', url: '/v2/trigger/http%3A%2F%2Fapp%2F', body: 'AB', headers: { 'content-type': 'image/png' } },
  ],
  [
    'triggerMany',
    (client) =>
      client.triggerMany([
        { workflowUrl: 'http://app/a', body: { n: 1 }, retries: 1 },
        { workflowUrl: 'http://app/b', body: 'text' },
        { workflowUrl: 'http://app/c' },
      ]),
    {
      method: 'POST',
      url: '/v2/batch/trigger',
      headers: JSON_TYPE,
      body: JSON.stringify([
        { destination: 'http://app/a', headers: { 'Svc-Retries': '1', 'Content-Type': 'application/json' }, body: '{"n":1}' },
        { destination: 'http://app/b', headers: {}, body: 'text' },
        { destination: 'http://app/c', headers: {} },
      ]),
    },
  ],
  [
    'runs.get',
    (client) => client.runs.get('a/b', { workflowCreatedAt: 5 }),
    { method: 'GET', url: '/v2/workflows/runs/a%2Fb?workflowCreatedAt=5' },
  ],
  [
    'runs.result',
    (client) => client.runs.result('a', { timeout: '30s' }),
    { method: 'GET', url: '/v2/workflows/runs/a/result?timeout=30s' },
  ],
  ['runs.cancel', (client) => client.runs.cancel('a'), { method: 'DELETE', url: '/v2/workflows/runs/a' }],
  [
    'runs.cancelMany',
    (client) => client.runs.cancelMany({ workflowRunIds: ['a'], workflowUrlExactMatch: true, fromDate: new Date(7) }),
    {
      method: 'DELETE',
      url: '/v2/workflows/runs',
      headers: JSON_TYPE,
      body: '{"workflowRunIds":["a"],"workflowUrlExactMatch":true,"fromDate":7}',
    },
  ],
  [
    'runs.list',
    (client) =>
      client.runs.list({
        state: 'RUN_FAILED',
        callerIp: ['a', 'b'],
        toDate: new Date(9),
        count: 3,
        trimBody: true,
        cursor: 'c=',
      }),
    {
      method: 'GET',
      url: '/v2/workflows/logs?state=RUN_FAILED&callerIp=a&callerIp=b&toDate=9&count=3&trimBody=true&cursor=c%3D',
    },
  ],
  [
    'dlq.list',
    (client) =>
      client.dlq.list({
        label: ['a,b', 'c'],
        workflowUrl: 'http://app/',
        failureFunctionState: 'CALLBACK_FAIL',
        callerIp: ['::1'],
      }),
    {
      method: 'GET',
      url: `${DLQ}?label=a%2Cb&label=c&workflowUrl=http%3A%2F%2Fapp%2F&failureFunctionState=CALLBACK_FAIL&callerIp=%3A%3A1`,
    },
  ],
  [
    'dlq.list with a value that contains a comma: it is repeated, so that the server does not split it',
    (client) => client.dlq.list({ workflowUrl: 'http://app/a,b', flowControlKey: ['x,y'], workflowRunId: 'r,s' }),
    {
      method: 'GET',
      url: `${DLQ}?workflowUrl=http%3A%2F%2Fapp%2Fa%2Cb&workflowUrl=http%3A%2F%2Fapp%2Fa%2Cb&flowControlKey=x%2Cy&flowControlKey=x%2Cy&workflowRunId=r%2Cs`,
    },
  ],
  [
    'runs.list with a value that contains a comma, for filters with and without several values',
    (client) => client.runs.list({ workflowUrl: 'http://app/a,b', flowControlKey: 'x,y' }),
    {
      method: 'GET',
      url: '/v2/workflows/logs?workflowUrl=http%3A%2F%2Fapp%2Fa%2Cb&flowControlKey=x%2Cy&flowControlKey=x%2Cy',
    },
  ],
  ['dlq.get', (client) => client.dlq.get('dlq_1'), { method: 'GET', url: `${DLQ}/dlq_1` }],
  [
    'dlq.groups',
    (client) => client.dlq.groups({ state: ['new', 'regressed'], workflowUrl: 'http://w/', withEmpty: true, count: 5 }),
    { method: 'GET', url: `${DLQ}/groups?state=new&state=regressed&workflowUrl=http%3A%2F%2Fw%2F&withEmpty=true&count=5` },
  ],
  ['dlq.group', (client) => client.dlq.group('0f45eafa82874b91'), { method: 'GET', url: `${DLQ}/groups/0f45eafa82874b91` }],
  [
    'dlq.acknowledgeGroup',
    (client) => client.dlq.acknowledgeGroup('0f45eafa82874b91'),
    { method: 'POST', url: `${DLQ}/groups/0f45eafa82874b91/acknowledge` },
  ],
  [
    'dlq.resolveGroup',
    (client) => client.dlq.resolveGroup('0f45eafa82874b91'),
    { method: 'POST', url: `${DLQ}/groups/0f45eafa82874b91/resolve` },
  ],
  ['dlq.delete', (client) => client.dlq.delete('dlq_1'), { method: 'DELETE', url: `${DLQ}/dlq_1` }],
  [
    'dlq.resume',
    (client) => client.dlq.resume('dlq_1', { runId: 'r', retries: 0, flowControl: { parallelism: 1 } }),
    {
      method: 'POST',
      url: `${DLQ}/resume/dlq_1`,
      headers: { 'svc-workflow-runid': 'r', 'svc-retries': '0', 'svc-flow-control-value': 'parallelism=1' },
    },
  ],
  ['dlq.restart', (client) => client.dlq.restart('dlq_1'), { method: 'POST', url: `${DLQ}/restart/dlq_1`, headers: {} }],
  [
    'dlq.resumeMany',
    (client) =>
      client.dlq.resumeMany({ dlqIds: ['a', 'b'], count: 2 }, { delay: '10s', labels: ['x'], failureCallback: 'http://f/' }),
    {
      method: 'POST',
      url: `${DLQ}/resume?dlqIds=a&dlqIds=b&count=2`,
      headers: { 'svc-delay': '10s', 'svc-label': 'x', 'svc-failure-callback': 'http://f/' },
    },
  ],
  [
    'dlq.restartMany',
    (client) => client.dlq.restartMany({ workflowRunId: 'r', cursor: 'c' }),
    { method: 'POST', url: `${DLQ}/restart?workflowRunId=r&cursor=c` },
  ],
  ['dlq.deleteMany', (client) => client.dlq.deleteMany({ fromDate: 0 }), { method: 'DELETE', url: `${DLQ}?fromDate=0` }],
  [
    'an empty list of ids, which differs from no list',
    (client) => client.dlq.deleteMany({ dlqIds: [] }),
    { method: 'DELETE', url: `${DLQ}?dlqIds=` },
  ],
  ['keys.get', (client) => client.keys.get(), { method: 'GET', url: '/v2/keys' }],
  ['keys.rotate', (client) => client.keys.rotate(), { method: 'POST', url: '/v2/keys/rotate' }],
];

describe('the client sends', () => {
  for (const [name, call, expected] of calls) {
    it(name, async () => {
      await call(client);
      const [request] = received;
      assert.ok(request);
      const { authorization, ...headers } = request.headers;
      assert.equal(authorization, 'Bearer t');
      assert.deepEqual({ method: request.method, url: request.url }, { method: expected.method, url: expected.url });
      if (expected.headers) assert.deepEqual(headers, expected.headers);
      if (expected.body !== undefined) assert.equal(request.body, expected.body);
    });
  }

  it('nothing for a label with a comma, or for bytes in a batch', async () => {
    await assert.rejects(client.trigger('http://app/', { labels: ['a,b'] }), RangeError);
    await assert.rejects(client.triggerMany([{ workflowUrl: 'http://app/', body: new Uint8Array(1) }]), TypeError);
    assert.equal(received.length, 0);
  });
});

describe('the client returns', () => {
  it('the response unchanged', async () => {
    answers = [{ body: { workflowRunId: 'r', workflowCreatedAt: 1, deduplicated: true } }];
    assert.deepEqual(await client.trigger('http://app/'), { workflowRunId: 'r', workflowCreatedAt: 1, deduplicated: true });
  });

  it('flow control entries', async () => {
    answers = [{ body: { flowControls: [{ flowControlKey: 'k', waitListSize: 0 }] } }];
    assert.deepEqual(await client.flowControl.list(), [{ flowControlKey: 'k', waitListSize: 0 }]);
    assert.equal(received[0]?.url, '/v2/flowControl/');
  });

  it('all entries, following cursors', async () => {
    answers = [
      { body: { messages: [{ dlqId: 'a' }, { dlqId: 'b' }], cursor: 'next' } },
      { body: { messages: [{ dlqId: 'c' }], cursor: '' } },
    ];
    const ids: string[] = [];
    for await (const { dlqId } of client.dlq.entries({ label: 'x', order: 'oldest-first' })) ids.push(dlqId);
    assert.deepEqual(ids, ['a', 'b', 'c']);
    assert.deepEqual(
      received.map(({ url }) => url),
      [`${DLQ}?label=x&order=oldest-first`, `${DLQ}?label=x&order=oldest-first&cursor=next`],
    );
  });

  it('all runs of the log, without fetching unneeded pages', async () => {
    answers = [
      { body: { runs: [{ workflowRunId: 'a' }, { workflowRunId: 'b' }], cursor: 'next' } },
      { body: { runs: [{ workflowRunId: 'c' }] } },
    ];
    const ids: string[] = [];
    for await (const { workflowRunId } of client.logs()) ids.push(workflowRunId);
    assert.deepEqual(ids, ['a', 'b', 'c']);
    answers = [{ body: { runs: [{ workflowRunId: 'a' }], cursor: 'next' } }];
    received = [];
    for await (const _run of client.logs()) break;
    assert.equal(received.length, 1);
  });

  for (const verb of ['resume', 'restart'] as const) {
    it(`the new runs of a bulk ${verb}, request after request`, async () => {
      answers = [
        { body: { workflowRuns: [{ workflowRunId: 'a', workflowCreatedAt: 1 }], cursor: 'c1' } },
        { body: { workflowRuns: [], cursor: 'c2' } },
        { body: { workflowRuns: [{ workflowRunId: 'b', workflowCreatedAt: 2 }], cursor: '' } },
      ];
      const ids: string[] = [];
      const all =
        verb === 'resume'
          ? client.dlq.resumeAll({ label: 'x' }, { retries: 1 })
          : client.dlq.restartAll({ label: 'x' }, { retries: 1 });
      for await (const run of all) ids.push(run.workflowRunId);
      assert.deepEqual(ids, ['a', 'b']);
      assert.deepEqual(
        received.map(({ url, headers }) => [url, headers['svc-retries']]),
        [
          [`${DLQ}/${verb}?label=x`, '1'],
          [`${DLQ}/${verb}?label=x&cursor=c1`, '1'],
          [`${DLQ}/${verb}?label=x&cursor=c2`, '1'],
        ],
      );
    });
  }

  it('the total number of deleted entries', async () => {
    answers = [{ body: { deleted: 50, cursor: 'c' } }, { body: { deleted: 7, cursor: '' } }];
    assert.equal(await client.dlq.deleteAll({ fromDate: 0 }), 57);
  });
});

describe('a failure is an EverstepError', () => {
  const failing: readonly (readonly [string, FakeResponse, { status: number; code: string; message: RegExp }])[] = [
    [
      'an error of the server',
      { status: 404, headers: { 'Svc-Error-Code': 'not-found' }, body: { error: 'no such run' } },
      { status: 404, code: 'not-found', message: /^no such run$/ },
    ],
    [
      'an error of another server',
      { status: 502, body: '<html>Bad gateway' },
      { status: 502, code: 'unknown', message: /status 502: <html>Bad gateway/ },
    ],
    [
      'a success response that is not JSON',
      { body: 'hello' },
      { status: 200, code: 'unknown', message: /not JSON; check that http.* is the address of the server/ },
    ],
  ];
  for (const [name, response, expected] of failing) {
    it(name, async () => {
      answers = [response];
      await assert.rejects(client.runs.get('r'), (error) => {
        assert.ok(error instanceof EverstepError);
        assert.deepEqual([error.status, error.code], [expected.status, expected.code]);
        assert.match(error.message, expected.message);
        return true;
      });
    });
  }

  it('without any response', async () => {
    const unreachable = new Client({ baseUrl: 'http://127.0.0.1:1', token: 't' });
    await assert.rejects(unreachable.keys.get(), { name: 'EverstepError', status: 0, code: 'unreachable' });
  });

  it('except that an aborted call rejects with the reason of its signal', async () => {
    const control = new AbortController();
    control.abort(new Error('enough'));
    await assert.rejects(client.runs.result('r', { signal: control.signal }), /enough/);
  });
});

describe('a client finds the server', () => {
  it('from the environment', async (test) => {
    const { env } = process;
    const kept = { url: env.EVERSTEP_URL, token: env.EVERSTEP_TOKEN };
    test.after(() => {
      for (const [name, value] of [
        ['EVERSTEP_URL', kept.url],
        ['EVERSTEP_TOKEN', kept.token],
      ] as const) {
        if (value === undefined) delete env[name];
        else env[name] = value;
      }
    });
    delete env.EVERSTEP_URL;
    delete env.EVERSTEP_TOKEN;
    assert.throws(() => new Client(), /the option baseUrl is missing: pass it, or set the environment variable EVERSTEP_URL/);
    assert.throws(() => new Client({ baseUrl }), /the option token is missing: .* EVERSTEP_TOKEN/);
    env.EVERSTEP_URL = baseUrl;
    env.EVERSTEP_TOKEN = 'from-env';
    await new Client().keys.get();
    assert.equal(received[0]?.headers.authorization, 'Bearer from-env');
  });

  for (const [given, region, expected] of [
    ['https://example.com', 'us-east-1', 'https://us-east-1.example.com/v2/keys'],
    ['https://eu-central-1.example.com:8443/base/', 'us-east-1', 'https://us-east-1.example.com:8443/base/v2/keys'],
    ['https://queue-eu-central-1.example.com', 'us-east-1', 'https://queue-us-east-1.example.com/v2/keys'],
    ['http://localhost:8080', 'us-east-1', 'http://us-east-1.localhost:8080/v2/keys'],
  ] as const) {
    it(`in ${region} with ${given}`, async () => {
      let asked = '';
      const fetchOnce: typeof fetch = async (input) => {
        asked = String(input);
        return new Response('{}');
      };
      await new Client({ baseUrl: given, token: 't', region, fetch: fetchOnce }).keys.get();
      assert.equal(asked, expected);
    });
  }

  it('and rejects a region for an IP address', () => {
    for (const address of ['http://127.0.0.1:8080', 'http://[::1]:8080']) {
      assert.throws(() => new Client({ baseUrl: address, token: 't', region: 'us-east-1' }), RangeError);
    }
  });
});
