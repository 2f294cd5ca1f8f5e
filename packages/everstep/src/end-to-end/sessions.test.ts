/** Tests sessions and live hints across restarts and nodes. */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { Client } from '@everstep/sdk';
import { readCredentials } from '../bootstrap/credentials.js';
import { openTestSchemas } from '../stores/postgres/testing/schemas.js';
import { Nodes } from './nodes.fixture.js';
import { ServerProcess } from './service-process.fixture.js';

const schemas = await openTestSchemas();
/** Timeout for hints from other nodes, which take about a second; generous for a busy machine. */
const HINT_TIMEOUT_MS = 30_000;

interface Login {
  readonly cookie: string;
  readonly csrf: string;
}

async function logIn(url: string, email: string, apiKey: string): Promise<Login> {
  const response = await fetch(`${url}/v2/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, api_key: apiKey }),
  });
  assert.equal(response.status, 200);
  const { csrf_token: csrf } = (await response.json()) as { readonly csrf_token: string };
  return { cookie: response.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '', csrf };
}

async function session(url: string, { cookie }: Login): Promise<{ readonly status: number; readonly csrf: unknown }> {
  const response = await fetch(`${url}/v2/session`, { headers: { cookie } });
  const body = (await response.json()) as { readonly csrf_token?: string };
  return { status: response.status, csrf: body.csrf_token };
}

test('a session survives a restart and a crash of the server', { timeout: 120_000 }, async () => {
  const service = await ServerProcess.create();
  const of = (name: string) => service.env.get(name) ?? assert.fail(name);
  try {
    await service.start();
    const login = await logIn(of('EVERSTEP_URL'), of('EVERSTEP_ADMIN_EMAIL'), of('EVERSTEP_ADMIN_API_KEY'));
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await service.end(signal);
      await service.start();
      assert.deepEqual(await session(of('EVERSTEP_URL'), login), { status: 200, csrf: login.csrf }, signal);
    }
    const headers = { cookie: login.cookie, 'x-everstep-csrf': login.csrf };
    assert.equal((await fetch(`${of('EVERSTEP_URL')}/v2/session`, { method: 'DELETE', headers })).status, 200);
    await service.end('SIGKILL');
    await service.start();
    assert.equal((await session(of('EVERSTEP_URL'), login)).status, 401, 'an ended session stays ended');
  } finally {
    await service.dispose();
  }
});

suite('two nodes', { skip: typeof schemas === 'string' && schemas, timeout: 120_000 }, () => {
  let nodes: Nodes | undefined;
  after(() => nodes?.dispose());

  test('nodes share sessions, send each other live hints, and list each other', async () => {
    if (typeof schemas === 'string') return;
    nodes = await Nodes.start(2, { url: (await schemas.make()).url });
    const [one, two] = [nodes.node(0), nodes.node(1)];
    const kept = (await readCredentials(one.dataDir)) ?? assert.fail('credentials are missing');

    const login = await logIn(one.url, kept.adminEmail, kept.adminApiKey);
    assert.deepEqual(await session(two.url, login), { status: 200, csrf: login.csrf });
    const cookie = { cookie: login.cookie, 'x-everstep-csrf': login.csrf };
    const queue = { ...cookie, 'x-everstep-queue': kept.instanceId };
    assert.equal((await fetch(`${two.url}/v2/settings`, { headers: queue })).status, 200);

    const there = new Client({ baseUrl: two.url, token: kept.token });
    const stop = new AbortController();
    const delaysMs: number[] = [];
    let startedMs = 0;
    let isListening = false;
    const listening = (async () => {
      for await (const { runIds } of nodes.client(0).live.changes({ signal: stop.signal })) {
        isListening = true;
        if (runIds.includes('of-the-other-node')) {
          delaysMs.push(performance.now() - startedMs);
          return;
        }
      }
    })();
    // Wait until the other node knows that there is a listener.
    for (let n = 0; !isListening; n++) {
      await there.trigger('http://127.0.0.1:9/nowhere', { runId: `before-${n}`, retries: 0 });
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.ok(n < 100, 'no hints arrive');
    }
    startedMs = performance.now();
    await there.trigger('http://127.0.0.1:9/nowhere', { runId: 'of-the-other-node', retries: 0 });
    await listening;
    stop.abort();
    const [delayMs = Number.POSITIVE_INFINITY] = delaysMs;
    assert.ok(delayMs < HINT_TIMEOUT_MS, `${delayMs} ms`);

    const listed = await there.live.nodes();
    assert.deepEqual(
      listed.map(({ self, leaving }) => [self, leaving]),
      [
        [false, false],
        [true, false],
      ],
    );
    for (const { leaseUntil, startedAt } of listed) assert.ok((leaseUntil ?? 0) > startedAt);

    assert.equal((await fetch(`${two.url}/v2/session`, { method: 'DELETE', headers: cookie })).status, 200);
    assert.equal((await session(one.url, login)).status, 401, 'the session has ended at both nodes');
  });
});
