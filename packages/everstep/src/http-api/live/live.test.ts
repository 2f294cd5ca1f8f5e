/** The hint stream over real HTTP. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { apiKeyOf, createPeople, emailOf, type People } from '../../accounts/people.fixture.js';
import { LIMITS } from '../../config/limits.js';
import type { LiveChange } from '../../contract/live.js';
import { ApiHarness, EVENT_ID } from '../testing/api-harness.js';

/** Reads the events of a stream one after the other. */
class Events {
  readonly response: Response;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly gone: AbortController;
  private readonly decoder = new TextDecoder();
  private text = '';

  private constructor(response: Response, gone: AbortController) {
    this.response = response;
    this.reader = response.body?.getReader() ?? assert.fail('there is no body');
    this.gone = gone;
  }

  static async open(url: string, headers: Readonly<Record<string, string>>): Promise<Events> {
    const gone = new AbortController();
    return new Events(await fetch(url, { headers, signal: gone.signal }), gone);
  }

  /** Returns the next hint; null when the stream has ended. */
  async next(): Promise<LiveChange | null> {
    for (;;) {
      const end = this.text.indexOf('\n\n');
      if (end !== -1) {
        const event = this.text.slice(0, end);
        this.text = this.text.slice(end + 2);
        const data = /^event: change\ndata: (.*)$/.exec(event)?.[1];
        if (data !== undefined) return JSON.parse(data);
        continue;
      }
      const { done, value } = await this.reader.read();
      if (done) return null;
      this.text += this.decoder.decode(value, { stream: true });
    }
  }

  /** Collects hints until `isLast` returns true. */
  async until(isLast: (change: LiveChange) => boolean): Promise<readonly LiveChange[]> {
    const changes: LiveChange[] = [];
    for (;;) {
      const change = (await this.next()) ?? assert.fail('the stream has ended');
      changes.push(change);
      if (isLast(change)) return changes;
    }
  }

  close(): void {
    this.gone.abort();
  }
}

describe('the hint stream', () => {
  let harness: ApiHarness;
  let people: People;
  let url: string;
  const bearer = () => ({ authorization: `Bearer ${harness.token}` });

  before(async () => {
    harness = await ApiHarness.open();
    people = await createPeople(harness.store.accounts, harness.accounts);
    await harness.store.accounts.changeInstance({ instanceId: 'qi_1', change: { accountId: people.teamId } });
    url = `http://127.0.0.1:${(await harness.api.listen({ host: '127.0.0.1', port: 0 })).port}`;
  });
  after(() => harness.close());

  test('reports the start, progress and end of a run with its id', async () => {
    const events = await Events.open(`${url}/v2/live`, bearer());
    assert.equal(events.response.status, 200);
    assert.equal(events.response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(events.response.headers.get('cache-control'), 'no-store');
    await harness.trigger('wait', { 'svc-workflow-runid': 'watched' });
    const hints = await events.until(({ runIds }) => runIds.includes('watched'));
    assert.deepEqual(hints.at(-1)?.topics, ['runs']);
    const ofEvent = encodeURIComponent(EVENT_ID);
    await harness.journalWhen('watched', ({ tasks }) => tasks.some(({ kind }) => kind === 'wait'));
    // Earlier hints belong to the previous steps.
    await harness.trigger('ok', { 'svc-workflow-runid': 'between' });
    await events.until(({ runIds }) => runIds.includes('between'));
    assert.equal((await harness.call('POST', `/v2/notify/${ofEvent}`)).status, 200);
    await events.until(({ runIds }) => runIds.includes('watched'));
    const { status } = await harness.call('GET', '/v2/workflows/runs/watched/result?timeout=10s');
    assert.equal(status, 200, 'it has ended');
    await harness.trigger('ok', { 'svc-workflow-runid': 'next' });
    await events.until(({ runIds }) => runIds.includes('next'));
    events.close();
  });

  test('reports changes of dead letters, keys, schedules, queues and settings', async () => {
    const events = await Events.open(`${url}/v2/live`, bearer());
    const changed = (topic: string) => events.until(({ topics }) => topics.some((each) => each === topic));
    const [dlqId = ''] = await harness.fail(1);
    await changed('dlq');
    await harness.call('DELETE', `/v2/workflows/dlq/${dlqId}`);
    await changed('dlq');
    await harness.call('POST', '/v2/flowControl/key/pin?parallelism=1');
    await changed('flow-control');
    await harness.call('POST', '/v2/schedules/http://w.test/ok', { headers: { 'svc-cron': '0 0 1 1 *' } });
    await changed('schedules');
    const json = { 'content-type': 'application/json' };
    await harness.call('POST', '/v2/queues', { headers: json, body: '{"queueName":"mail"}' });
    await changed('queues');
    await harness.call('PUT', '/v2/settings', { headers: json, body: '{"breaker":{"enabled":false}}' });
    await changed('settings');
    events.close();
  });

  test('sends at most four hints per second with at most 50 run ids', async () => {
    const events = await Events.open(`${url}/v2/live`, bearer());
    const startedAt = performance.now();
    const ids = Array.from({ length: 120 }, (_, n) => `many-${n}`);
    await Promise.all(ids.map((id) => harness.trigger('ok', { 'svc-workflow-runid': id })));
    await harness.trigger('ok', {
      'svc-workflow-runid': 'last',
      'svc-flow-control-key': 'end',
      'svc-flow-control-value': 'parallelism=1',
    });
    const changes = await events.until(({ topics }) => topics.includes('flow-control'));
    const tookMs = performance.now() - startedAt;
    assert.ok(changes.length <= 2 + tookMs / LIMITS.liveHintEveryMs, `${changes.length} in ${tookMs} ms`);
    for (const { runIds } of changes) assert.ok(runIds.length <= 50);
    events.close();
  });

  test('reports nothing of other instances', async () => {
    const other = await harness.authority.issueToken({ instanceId: 'qi_2', access: 'read-only' });
    const events = await Events.open(`${url}/v2/live`, { authorization: `Bearer ${other}` });
    await harness.trigger('ok', { 'svc-workflow-runid': 'not-yours' });
    const write = await harness.authority.issueToken({ instanceId: 'qi_2', access: 'read-write' });
    const headers = { authorization: `Bearer ${write}`, 'svc-workflow-runid': 'yours' };
    await fetch(`${url}/v2/trigger/http://w.test/ok`, { method: 'POST', headers });
    const changes = await events.until(({ runIds }) => runIds.includes('yours'));
    assert.ok(!JSON.stringify(changes).includes('not-yours'));
    events.close();
  });

  test('accepts a token, or a session with the instance in the query', async () => {
    const login = await fetch(`${url}/v2/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: emailOf('finance'), api_key: apiKeyOf('finance') }),
    });
    const cookie = login.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
    const statusOf = async (path: string, headers: Readonly<Record<string, string>>) => {
      const events = await Events.open(`${url}${path}`, headers);
      events.close();
      return events.response.status;
    };
    assert.equal(await statusOf('/v2/live?everstep-queue=qi_1', { cookie }), 200);
    assert.equal(await statusOf('/v2/live', { cookie, 'x-everstep-queue': 'qi_1' }), 200);
    assert.equal(await statusOf('/v2/live', { cookie }), 400);
    assert.equal(await statusOf('/v2/live?everstep-queue=qi_2', { cookie }), 404);
    assert.equal(await statusOf('/v2/live?everstep-queue=qi_1', {}), 401);
    assert.equal(await statusOf('/v2/live?everstep-queue=qi_1', bearer()), 400, 'with a token the parameter is unknown');
    assert.equal(await statusOf('/v2/workflows/logs?everstep-queue=qi_1', { cookie }), 400, 'only for streams');
  });

  test('limits the number of clients, and a client that disconnects frees its slot', async () => {
    const open: Events[] = [];
    // Streams of earlier tests may not be closed yet.
    for (let tries = 0; open.length < LIMITS.maxLiveStreams; tries++) {
      const events = await Events.open(`${url}/v2/live`, bearer());
      if (events.response.status === 200) open.push(events);
      else await new Promise((resolve) => setTimeout(resolve, 10));
      assert.ok(tries < 2 * LIMITS.maxLiveStreams, `only ${open.length} are admitted`);
    }
    const refused = await fetch(`${url}/v2/live`, { headers: bearer() });
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5']);
    for (const events of open) events.close();
    for (let tries = 0; ; tries++) {
      const again = await Events.open(`${url}/v2/live`, bearer());
      again.close();
      if (again.response.status === 200) break;
      assert.ok(tries < 100, 'the slot of a disconnected client was not freed');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });

  test('does not support HEAD', async () => {
    assert.equal((await fetch(`${url}/v2/live`, { method: 'HEAD', headers: bearer() })).status, 405);
  });
});

test('a stream ends normally when the server stops', async () => {
  const harness = await ApiHarness.open();
  const url = `http://127.0.0.1:${(await harness.api.listen({ host: '127.0.0.1', port: 0 })).port}`;
  const events = await Events.open(`${url}/v2/live`, { authorization: `Bearer ${harness.token}` });
  const ended = events.next();
  await harness.close();
  assert.equal(await ended, null);
});

test('a single process lists itself as the only node', async () => {
  const harness = await ApiHarness.open();
  const { status, body } = await harness.call<{ nodes: readonly Record<string, unknown>[] }>('GET', '/v2/nodes');
  assert.equal(status, 200);
  const [node, ...others] = body.nodes;
  assert.deepEqual(others, []);
  const { host, startedAt, ...rest } = node ?? {};
  assert.ok(typeof host === 'string' && host !== '');
  assert.ok(Math.abs(Number(startedAt) - Date.now()) < 60_000);
  assert.deepEqual(rest, {
    nodeId: 'n_alone',
    version: '1.2.3',
    leaseUntil: null,
    expired: false,
    leaving: false,
    self: true,
    runsClaimed: 0,
    gates: 0,
  });
  await harness.close();
});
