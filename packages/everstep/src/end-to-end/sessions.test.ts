/** Sessions and hints of changes over restarts of the service, and over its nodes. */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { Client } from '@everstep/sdk';
import { readCredentials } from '../bootstrap/credentials.js';
import { openTestSchemas } from '../stores/postgres/testing/schemas.js';
import { Nodes } from './nodes.fixture.js';
import { ServiceProcess } from './service-process.fixture.js';

const schemas = await openTestSchemas();
/** Other nodes tell within about a second; this machine has other things to do. */
const TOLD_WITHIN_MS = 30_000;

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

test('a session stays over a restart of the service, also one that nobody announced', { timeout: 120_000 }, async () => {
  const service = await ServiceProcess.create();
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
    assert.equal((await session(of('EVERSTEP_URL'), login)).status, 401, 'what has ended stays so');
  } finally {
    await service.dispose();
  }
});

suite('two nodes', { skip: typeof schemas === 'string' && schemas, timeout: 120_000 }, () => {
  let nodes: Nodes | undefined;
  after(() => nodes?.dispose());

  test('share sessions, tell each other what changes, and list each other', async () => {
    if (typeof schemas === 'string') return;
    nodes = await Nodes.start(2, { url: (await schemas.make()).url });
    const [one, two] = [nodes.node(0), nodes.node(1)];
    const kept = (await readCredentials(one.dataDir)) ?? assert.fail('there are no credentials');

    const login = await logIn(one.url, kept.adminEmail, kept.adminApiKey);
    assert.deepEqual(await session(two.url, login), { status: 200, csrf: login.csrf });
    const cookie = { cookie: login.cookie, 'x-everstep-csrf': login.csrf };
    const queue = { ...cookie, 'x-everstep-queue': kept.instanceId };
    assert.equal((await fetch(`${two.url}/v2/settings`, { headers: queue })).status, 200);

    const there = new Client({ baseUrl: two.url, token: kept.token });
    const stop = new AbortController();
    const toldMs: number[] = [];
    let begun = 0;
    let isLookingOn = false;
    const looking = (async () => {
      for await (const { runIds } of nodes.client(0).live.changes({ signal: stop.signal })) {
        isLookingOn = true;
        if (runIds.includes('of-the-other-node')) {
          toldMs.push(performance.now() - begun);
          return;
        }
      }
    })();
    // Until the other node has heard that somebody looks on.
    for (let n = 0; !isLookingOn; n++) {
      await there.trigger('http://127.0.0.1:9/nowhere', { runId: `before-${n}`, retries: 0 });
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.ok(n < 100, 'nothing is told');
    }
    begun = performance.now();
    await there.trigger('http://127.0.0.1:9/nowhere', { runId: 'of-the-other-node', retries: 0 });
    await looking;
    stop.abort();
    const [tookMs = Number.POSITIVE_INFINITY] = toldMs;
    assert.ok(tookMs < TOLD_WITHIN_MS, `${tookMs} ms`);

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
    assert.equal((await session(one.url, login)).status, 401, 'it has ended at both');
  });
});
