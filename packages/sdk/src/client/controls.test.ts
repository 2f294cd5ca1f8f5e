import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client } from './client.js';

interface Sent {
  readonly method: string;
  readonly path: string;
  /** Headers that belong to the call. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Exchange {
  readonly sent: Sent;
  readonly result: unknown;
}

/** Makes one call of the client against an API that returns this response. */
async function exchange(call: (client: Client) => Promise<unknown>, response: unknown = {}): Promise<Exchange> {
  const sent: Sent[] = [];
  const api: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const headers = Object.fromEntries([...request.headers].filter(([name]) => /^svc-|^content-type$/.test(name)));
    sent.push({ method: request.method, path: `${pathname}${search}`, headers, body: await request.text() });
    return new Response(JSON.stringify(response));
  };
  const result = await call(new Client({ baseUrl: 'http://service', token: 't', fetch: api }));
  const [only, ...more] = sent;
  assert.ok(only && more.length === 0);
  return { sent: only, result };
}

it('rejects an id that a URL cannot contain, and sends nothing', async () => {
  const client = new Client({
    baseUrl: 'http://service',
    token: 't',
    fetch: () => assert.fail('a request was sent'),
  });
  for (const call of [
    () => client.notify({ eventId: '..' }),
    () => client.waiters('.'),
    () => client.runs.get('..'),
    () => client.flowControl.pause('.'),
  ])
    await assert.rejects(call(), /an id cannot be "\." or "\.\."/);
});

const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = '/v2/flowControl/a%2Fb';

const calls: readonly (readonly [string, (client: Client) => Promise<unknown>, Pick<Sent, 'method' | 'path'> & Partial<Sent>])[] =
  [
    [
      'notify with a value',
      (client) => client.notify({ eventId: 'order/7 ü', eventData: { by: 'me' } }),
      { method: 'POST', path: '/v2/notify/order%2F7%20%C3%BC', headers: JSON_TYPE, body: '{"by":"me"}' },
    ],
    [
      'notify with text for one run',
      (client) => client.notify({ eventId: 'a/b', eventData: 'text', workflowRunId: 'my run' }),
      {
        method: 'POST',
        path: '/v2/notify/my%20run/a%2Fb',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        body: 'text',
      },
    ],
    [
      'notify with bytes',
      (client) => client.notify({ eventId: 'e', eventData: new Uint8Array([65]) }),
      { method: 'POST', path: '/v2/notify/e', headers: { 'content-type': 'application/octet-stream' }, body: 'A' },
    ],
    [
      'a search over runs',
      (client) => client.runs.search({ q: 'acme 100%', state: 'RUN_FAILED', label: ['a', 'b'], fromDate: new Date(5), count: 7 }),
      { method: 'GET', path: '/v2/workflows/search?q=acme%20100%25&state=RUN_FAILED&label=a&label=b&fromDate=5&count=7' },
    ],
    [
      'attempts of a run',
      (client) => client.runs.attempts('my run', { createdAt: 5, stepId: 2 }),
      { method: 'GET', path: '/v2/workflows/runs/my%20run/attempts?createdAt=5&stepId=2' },
    ],
    [
      'all waiters',
      (client) => client.allWaiters({ workflowUrl: 'http://w/a?b', cursor: 'c' }),
      { method: 'GET', path: '/v2/waiters?workflowUrl=http%3A%2F%2Fw%2Fa%3Fb&cursor=c' },
    ],
    [
      'deliveries that wait for a key',
      (client) => client.flowControl.waiting('a/b', { count: 3 }),
      { method: 'GET', path: `${KEY}/waiting?count=3` },
    ],
    [
      'a schedule that is run now',
      (client) => client.schedules.run('daily/1'),
      { method: 'POST', path: '/v2/schedules/daily%2F1/run' },
    ],
    [
      'notify with its own content type',
      (client) => client.notify({ eventId: 'e', eventData: '{"n":1}', contentType: 'application/json' }),
      { method: 'POST', path: '/v2/notify/e', headers: JSON_TYPE, body: '{"n":1}' },
    ],
    [
      'notify without data',
      (client) => client.notify({ eventId: 'e' }),
      { method: 'POST', path: '/v2/notify/e', headers: {}, body: '' },
    ],
    ['waiters', (client) => client.waiters('a/b'), { method: 'GET', path: '/v2/waiters/a%2Fb' }],
    ['flowControl.get', (client) => client.flowControl.get('a/b'), { method: 'GET', path: KEY }],
    ['flowControl.pause', (client) => client.flowControl.pause('a/b'), { method: 'POST', path: `${KEY}/pause` }],
    ['flowControl.resume', (client) => client.flowControl.resume('a/b'), { method: 'POST', path: `${KEY}/resume` }],
    [
      'flowControl.pin',
      (client) => client.flowControl.pin('a/b', { parallelism: 2, rate: 3, period: '1m' }),
      { method: 'POST', path: `${KEY}/pin?parallelism=2&rate=3&period=60s` },
    ],
    [
      'flowControl.pin with some limits',
      (client) => client.flowControl.pin('a/b', { parallelism: 2 }),
      { method: 'POST', path: `${KEY}/pin?parallelism=2` },
    ],
    ['flowControl.unpin', (client) => client.flowControl.unpin('a/b'), { method: 'POST', path: `${KEY}/unpin` }],
    ['flowControl.resetRate', (client) => client.flowControl.resetRate('a/b'), { method: 'POST', path: `${KEY}/resetRate` }],
    [
      'flowControl.globalParallelism',
      (client) => client.flowControl.globalParallelism(),
      { method: 'GET', path: '/v2/globalParallelism' },
    ],
    [
      'destinations.hold',
      (client) => client.destinations.hold({ url: 'http://app/flow', reason: 'maintenance' }),
      {
        method: 'POST',
        path: '/v2/destinations/hold',
        headers: JSON_TYPE,
        body: '{"url":"http://app/flow","reason":"maintenance"}',
      },
    ],
    [
      'destinations.release',
      (client) => client.destinations.release('http://app'),
      { method: 'POST', path: '/v2/destinations/release', headers: JSON_TYPE, body: '{"origin":"http://app"}' },
    ],
    [
      'schedules.create',
      (client) =>
        client.schedules.create('http://app/flow?a=1', {
          cron: '0 9 * * 1-5',
          timezone: 'Europe/Berlin',
          scheduleId: 'daily',
          body: { n: 1 },
          retries: 5,
          delay: '10s',
          labels: ['x'],
          redact: ['body'],
        }),
      {
        method: 'POST',
        path: '/v2/schedules/http%3A%2F%2Fapp%2Fflow%3Fa%3D1',
        headers: {
          ...JSON_TYPE,
          'svc-cron': '0 9 * * 1-5',
          'svc-cron-timezone': 'Europe/Berlin',
          'svc-schedule-id': 'daily',
          'svc-retries': '5',
          'svc-delay': '10s',
          'svc-label': 'x',
          'svc-redact-fields': 'body',
        },
        body: '{"n":1}',
      },
    ],
    [
      'schedules.create with only the required options',
      (client) => client.schedules.create('http://app/', { cron: '* * * * *' }),
      { method: 'POST', path: '/v2/schedules/http%3A%2F%2Fapp%2F', headers: { 'svc-cron': '* * * * *' }, body: '' },
    ],
    ['schedules.list', (client) => client.schedules.list(), { method: 'GET', path: '/v2/schedules' }],
    [
      'schedules.change',
      (client) => client.schedules.change('a/b', { cron: '0 9 * * *' }),
      { method: 'PATCH', path: '/v2/schedules/a%2Fb', body: '{"cron":"0 9 * * *"}' },
    ],
    ['schedules.get', (client) => client.schedules.get('a/b'), { method: 'GET', path: '/v2/schedules/a%2Fb' }],
    ['schedules.pause', (client) => client.schedules.pause('a'), { method: 'PATCH', path: '/v2/schedules/a/pause' }],
    ['schedules.resume', (client) => client.schedules.resume('a'), { method: 'PATCH', path: '/v2/schedules/a/resume' }],
    ['schedules.delete', (client) => client.schedules.delete('a'), { method: 'DELETE', path: '/v2/schedules/a' }],
    ['signatures.get', (client) => client.signatures.get(), { method: 'GET', path: '/v2/signatures' }],
    [
      'signatures.update',
      (client) => client.signatures.update({ origins: null, ed25519: true }),
      { method: 'PUT', path: '/v2/signatures', headers: JSON_TYPE, body: '{"origins":null,"ed25519":true}' },
    ],
    ['signatures.rotate', (client) => client.signatures.rotate(), { method: 'POST', path: '/v2/signatures/rotate' }],
    ['settings.get', (client) => client.settings.get(), { method: 'GET', path: '/v2/settings' }],
    [
      'settings.update',
      (client) => client.settings.update({ breaker: { enabled: true }, retention: { failed: { maxCount: null } } }),
      {
        method: 'PUT',
        path: '/v2/settings',
        headers: JSON_TYPE,
        body: '{"breaker":{"enabled":true},"retention":{"failed":{"maxCount":null}}}',
      },
    ],
    [
      'runs.explain',
      (client) => client.runs.explain('a/b', { workflowCreatedAt: 5 }),
      { method: 'GET', path: '/v2/workflows/runs/a%2Fb/explain?workflowCreatedAt=5' },
    ],
    [
      'dlq.retryCallback',
      (client) => client.dlq.retryCallback('dlq_1'),
      { method: 'POST', path: '/v2/workflows/dlq/callback/dlq_1' },
    ],
    [
      'dlq.cancelCallback',
      (client) => client.dlq.cancelCallback('dlq_1'),
      { method: 'DELETE', path: '/v2/workflows/dlq/callback/dlq_1' },
    ],
    [
      'trigger with redacted fields',
      (client) => client.trigger('http://app/', { redact: ['name', 'header[x-session]'] }),
      { method: 'POST', path: '/v2/trigger/http%3A%2F%2Fapp%2F', headers: { 'svc-redact-fields': 'name,header[x-session]' } },
    ],
  ];

describe('the client sends', () => {
  for (const [name, call, expected] of calls) {
    it(name, async () => {
      const { sent } = await exchange(call);
      assert.deepEqual({ ...sent, ...expected }, sent);
    });
  }

  it('nothing for a redacted field with a comma', async () => {
    const client = new Client({ baseUrl: 'http://service', token: 't', fetch: () => assert.fail('nothing must be sent') });
    await assert.rejects(client.trigger('http://app/', { redact: ['a,b'] }), /a redacted field cannot contain a comma/);
    await assert.rejects(client.schedules.create('http://app/', { cron: '* * * * *', redact: ['a,b'] }), RangeError);
  });
});

describe('the client returns', () => {
  it('the destinations of the list', async () => {
    const destinations = [{ origin: 'http://app', isHeld: false, failures: 1, waitListSize: 0 }];
    const { result } = await exchange((client) => client.destinations.list(), { destinations });
    assert.deepEqual(result, destinations);
  });

  it('other responses unchanged', async () => {
    const notified = [{ waiter: { url: 'http://app/', headers: {}, deadline: 0 }, messageId: 'm', kept: true }];
    assert.deepEqual((await exchange((client) => client.notify({ eventId: 'e' }), notified)).result, notified);
    const changed = { failureFunctionState: 'CALLBACK_CANCELED' };
    assert.deepEqual((await exchange((client) => client.dlq.cancelCallback('d'), changed)).result, changed);
  });
});

it('a region replaces only a region label, not a name that looks like one', async () => {
  const hostOf = async (baseUrl: string) => {
    let host = '';
    const api: typeof fetch = async (input) => {
      host = new URL(String(input)).host;
      return new Response('{}');
    };
    await new Client({ baseUrl, token: 't', region: 'us-east-1', fetch: api }).keys.get();
    return host;
  };
  assert.equal(await hostOf('https://eu-central-1.example.com'), 'us-east-1.example.com');
  assert.equal(await hostOf('https://my-app-1.example.com'), 'us-east-1.my-app-1.example.com');
});
