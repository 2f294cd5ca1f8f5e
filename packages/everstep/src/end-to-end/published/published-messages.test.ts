/** Messages with the published client: publishing, groups, batches, callbacks, canceling and dead letters. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client, QstashError, resend } from '@upstash/qstash';
import { gate, type Harness, only, openHarness } from './published-messages.fixture.js';

let harness: Harness;
before(async () => {
  harness = await openHarness();
});
after(() => harness?.stop());

test('a published message arrives unchanged and is verified by the published receiver', async () => {
  const { client, endpoints, service, receiver } = harness;
  const url = endpoints.url('/arrives?a=1&b=%2F');
  const published = await client.publish({
    url,
    method: 'PUT',
    body: 'größe ✓',
    headers: { 'x-mine': 'yes', 'Content-Type': 'text/plain', authorization: 'Bearer of-the-endpoint' },
  });
  assert.match(published.messageId, /^msg_/);
  assert.equal(published.url, url);
  await service.settle();
  const { method, path, body, headers } = only(endpoints.at('/arrives'));
  assert.deepEqual([method, path, body], ['PUT', '/arrives?a=1&b=%2F', 'größe ✓']);
  assert.deepEqual(
    [headers['x-mine'], headers['content-type'], headers.authorization],
    ['yes', 'text/plain', 'Bearer of-the-endpoint'],
  );
  assert.deepEqual([headers['upstash-message-id'], headers['upstash-retried']], [published.messageId, '0']);
  assert.equal(headers['upstash-caller-ip'], '127.0.0.1');
  const signature = String(headers['upstash-signature']);
  assert.equal(await receiver.verify({ signature, body, url }), true);
  await assert.rejects(receiver.verify({ signature, body: 'other', url }), /body hash/);
});

test('JSON messages, messages without a body and all methods are delivered as published', async () => {
  const { client, endpoints, service } = harness;
  await client.publishJSON({ url: endpoints.url('/json'), body: { n: 1, text: 'é' } });
  await client.publish({ url: endpoints.url('/methods'), method: 'GET' });
  await client.publish({ url: endpoints.url('/methods'), method: 'DELETE' });
  await client.publish({ url: endpoints.url('/methods'), method: 'PATCH', body: 'x' });
  await service.settle();
  const { body, headers, method } = only(endpoints.at('/json'));
  assert.deepEqual([body, headers['content-type'], method], ['{"n":1,"text":"é"}', 'application/json', 'POST']);
  assert.deepEqual(
    endpoints
      .at('/methods')
      .map((delivery) => delivery.method)
      .sort(),
    ['DELETE', 'GET', 'PATCH'],
  );
});

test('a message to an API provider is a plain request with its key', async () => {
  const { client, endpoints, service } = harness;
  const provider = resend({ token: 're_key' });
  Object.assign(provider, { baseUrl: endpoints.url('') });
  await client.publishJSON({ api: { name: 'email', provider }, body: { to: 'a@b.test' } });
  await service.settle();
  const { headers, body } = only(endpoints.at('/emails'));
  assert.deepEqual([headers.authorization, body], ['Bearer re_key', '{"to":"a@b.test"}']);
});

test('a failed delivery is retried after its delay until it succeeds', async () => {
  const { client, endpoints, service } = harness;
  const url = endpoints.when('/retried', (_delivery, nth) => ({ status: nth < 3 ? 503 : 200 }));
  const { messageId } = await client.publish({ url, retries: 4, retryDelay: '(retried + 1) * 3600000' });
  await service.settle();
  const counts = [endpoints.at('/retried').length];
  const pending = await client.messages.get(messageId);
  assert.equal(pending.maxRetries, 4);
  for (const by of ['59m', '1m', '2h'] as const) {
    await service.advance(by);
    counts.push(endpoints.at('/retried').length);
  }
  assert.deepEqual(counts, [1, 1, 2, 3]);
  assert.deepEqual(
    endpoints.at('/retried').map(({ headers }) => headers['upstash-retried']),
    ['0', '1', '2'],
  );
  await assert.rejects(client.messages.get(messageId), { name: 'QstashError', status: 404 });
});

test('delay and not-before are respected', async () => {
  const { client, endpoints, service } = harness;
  const now = await service.now();
  await client.publish({ url: endpoints.url('/later'), delay: '2h', body: 'delay' });
  await client.publish({ url: endpoints.url('/later'), notBefore: Math.floor(now / 1000) + 3 * 3600, body: 'not before' });
  const counts = [];
  for (const by of ['1h', '1h', '1h'] as const) {
    await service.advance(by);
    counts.push(endpoints.bodiesAt('/later').join(', '));
  }
  assert.deepEqual(counts, ['', 'delay', 'delay, not before']);
});

test('a message with a duplicate deduplication id or content is not sent', async () => {
  const { client, endpoints, service } = harness;
  const url = endpoints.url('/once');
  const first = await client.publish({ url, deduplicationId: 'd1', body: 'a' });
  const second = await client.publish({ url, deduplicationId: 'd1', body: 'b' });
  assert.deepEqual([second.messageId, second.deduplicated, first.deduplicated], [first.messageId, true, undefined]);
  const third = await client.publish({ url, contentBasedDeduplication: true, body: 'c' });
  const fourth = await client.publish({ url, contentBasedDeduplication: true, body: 'c' });
  const fifth = await client.publish({ url, contentBasedDeduplication: true, body: 'd' });
  assert.equal(fourth.messageId, third.messageId);
  assert.notEqual(fifth.messageId, third.messageId);
  await service.settle();
  assert.deepEqual(endpoints.bodiesAt('/once').sort(), ['a', 'c', 'd']);
  await service.advance('11m');
  const later = await client.publish({ url, deduplicationId: 'd1', body: 'e' });
  assert.equal(later.deduplicated, undefined);
});

test('a callback receives every response with the documented fields', async () => {
  const { client, endpoints, service, receiver } = harness;
  const url = endpoints.when('/answers', (_delivery, nth) => ({
    status: nth === 1 ? 500 : 200,
    body: `answer ${nth}`,
    headers: { 'x-nth': String(nth) },
  }));
  const callback = endpoints.url('/callback');
  const { messageId } = await client.publish({
    url,
    body: 'question',
    retries: 1,
    retryDelay: '1000',
    callback,
    headers: { 'Upstash-Callback-Forward-X-Order': '7', 'Upstash-Callback-Method': 'PUT' },
  });
  await service.advance('10s');
  const calls = endpoints.at('/callback');
  assert.deepEqual(
    calls.map(({ method, headers }) => [method, headers['x-order'], headers['content-type']]),
    [
      ['PUT', '7', 'application/json'],
      ['PUT', '7', 'application/json'],
    ],
  );
  const bodies = calls.map(({ body }) => JSON.parse(body));
  assert.deepEqual(
    bodies.map(({ status, retried, maxRetries, sourceMessageId, url: of, method }) => ({
      status,
      retried,
      maxRetries,
      sourceMessageId,
      of,
      method,
    })),
    [
      { status: 500, retried: 0, maxRetries: 1, sourceMessageId: messageId, of: url, method: 'POST' },
      { status: 200, retried: 1, maxRetries: 1, sourceMessageId: messageId, of: url, method: 'POST' },
    ],
  );
  const [first] = bodies;
  assert.equal(Buffer.from(first.body, 'base64').toString(), 'answer 1');
  assert.equal(Buffer.from(first.sourceBody, 'base64').toString(), 'question');
  assert.deepEqual(first.header['X-Nth'], ['1']);
  assert.equal(typeof first.createdAt, 'number');
  assert.equal(first.notBefore, first.createdAt);
  assert.equal(first.callerIP, '127.0.0.1');
  const [delivery] = calls;
  const signature = String(delivery?.headers['upstash-signature']);
  assert.equal(await receiver.verify({ signature, body: delivery?.body ?? '', url: callback }), true);
});

test('a message that fails permanently calls its failure callback, becomes a dead letter, and can be retried', async () => {
  const { client, endpoints, service } = harness;
  const url = endpoints.when('/broken', (_delivery, nth) => (nth <= 2 ? { status: 418, body: 'a teapot' } : {}));
  const failureCallback = endpoints.url('/failed');
  const { messageId } = await client.publish({
    url,
    body: 'tea',
    retries: 1,
    retryDelay: '1000',
    label: ['kitchen', 'tea'],
    failureCallback,
    headers: { 'Upstash-Failure-Callback-Forward-X-Order': '8', 'x-cup': 'large' },
  });
  await service.advance('10s');
  assert.equal(endpoints.at('/broken').length, 2);
  const { messages } = await client.dlq.listMessages({ filter: { label: 'tea' } });
  const entry = only(messages);
  assert.deepEqual(
    [entry.messageId, entry.url, entry.method, entry.responseStatus, entry.responseBody, entry.body, entry.maxRetries],
    [messageId, url, 'POST', 418, 'a teapot', 'tea', 1],
  );
  assert.deepEqual(
    [entry.labels, entry.header?.['X-Cup'], entry.failureCallback],
    [['kitchen', 'tea'], ['large'], failureCallback],
  );
  const call = only(endpoints.at('/failed'));
  const notice = JSON.parse(call.body);
  assert.deepEqual(
    [notice.status, notice.dlqId, notice.sourceMessageId, notice.retried, call.headers['x-order']],
    [418, entry.dlqId, messageId, 1, '8'],
  );
  assert.equal(Buffer.from(notice.body, 'base64').toString(), 'a teapot');

  const { responses } = await client.dlq.retry(entry.dlqId);
  const retried = only(responses);
  assert.notEqual(retried.messageId, messageId);
  assert.match(retried.messageId, /^msg_/);
  await service.settle();
  assert.deepEqual(endpoints.bodiesAt('/broken'), ['tea', 'tea', 'tea']);
  assert.equal(endpoints.at('/broken').at(-1)?.headers['upstash-message-id'], retried.messageId);
  assert.deepEqual((await client.dlq.listMessages({ filter: { label: 'tea' } })).messages, []);
  await assert.rejects(client.dlq.retry(entry.dlqId), { name: 'QstashError', status: 404 });
});

test('dead letters are filtered, paginated, and deleted and retried in bulk with cursors', async () => {
  const { client, endpoints, service } = harness;
  const url = endpoints.when('/hopeless', () => ({ status: 400 }));
  for (let n = 0; n < 5; n++)
    await client.publish({
      url,
      body: String(n),
      retries: 0,
      label: 'hopeless',
      flowControl: { key: `hopeless-${n % 2}`, rate: 100 },
    });
  await service.settle();
  const filter = { label: 'hopeless' };
  const first = await client.dlq.listMessages({ filter, count: 3 });
  const second = await client.dlq.listMessages({ filter, count: 3, ...(first.cursor ? { cursor: first.cursor } : {}) });
  assert.deepEqual([first.messages.length, second.messages.length, second.cursor], [3, 2, undefined]);
  const found = async (by: object) => (await client.dlq.listMessages({ filter: { ...filter, ...by } })).messages.length;
  assert.deepEqual(
    [
      await found({ flowControlKey: 'hopeless-0' }),
      await found({ url }),
      await found({ url: 'http://other.test' }),
      await found({ responseStatus: 400 }),
      await found({ responseStatus: [401, 500] }),
      await found({ fromDate: (await service.now()) + 60_000 }),
      await found({ messageId: first.messages[0]?.messageId }),
    ],
    [3, 5, 0, 5, 0, 0, 1],
  );
  const [named] = first.messages;
  assert.deepEqual(await client.dlq.delete(named?.dlqId ?? ''), { deleted: 1 });
  await assert.rejects(client.dlq.delete(named?.dlqId ?? ''), { name: 'QstashError', status: 404 });

  const bulk = await client.dlq.delete({ filter, count: 2 });
  assert.equal(bulk.deleted, 2);
  assert.ok(bulk.cursor, 'there are more');
  const rest = await client.dlq.retry({ filter, count: 10 });
  assert.deepEqual([rest.responses.length, rest.cursor], [2, undefined]);
  await service.settle();
  assert.equal(await found({}), 2, 'they failed again');
  assert.deepEqual(
    await client.dlq.delete({ dlqIds: (await client.dlq.listMessages({ filter })).messages.map((m) => m.dlqId) }),
    {
      deleted: 2,
    },
  );
});

test('a message to a URL group is sent to each of its endpoints', async () => {
  const { client, endpoints, service } = harness;
  const [a, b, c] = [endpoints.url('/group/a'), endpoints.url('/group/b'), endpoints.url('/group/c')];
  await client.urlGroups.addEndpoints({ name: 'news', endpoints: [{ name: 'first', url: a }, { url: b }] });
  await client.urlGroups.addEndpoints({ name: 'news', endpoints: [{ name: 'third', url: c }] });
  const group = await client.urlGroups.get('news');
  assert.deepEqual(group.endpoints, [{ name: 'first', url: a }, { url: b }, { name: 'third', url: c }]);
  assert.ok((await client.urlGroups.list()).some(({ name }) => name === 'news'));
  await client.urlGroups.removeEndpoints({ name: 'news', endpoints: [{ name: 'third' }] });
  const published = await client.publishJSON({ urlGroup: 'news', body: { hot: true } });
  assert.deepEqual(published.map(({ url }) => url).sort(), [a, b]);
  assert.equal(new Set(published.map(({ messageId }) => messageId)).size, 2);
  await service.settle();
  assert.deepEqual(
    ['/group/a', '/group/b', '/group/c'].map((path) => endpoints.bodiesAt(path)),
    [['{"hot":true}'], ['{"hot":true}'], []],
  );
  await client.urlGroups.removeEndpoints({ name: 'news', endpoints: [{ url: a }, { url: b }] });
  await assert.rejects(client.urlGroups.get('news'), { name: 'QstashError', status: 404 });
  await assert.rejects(client.publish({ urlGroup: 'news', body: 'x' }), {
    status: 404,
    message: /URL group \\"news\\" does not exist/,
  });
});

test('a batch publishes its items to URLs, groups and queues', async () => {
  const { client, endpoints, service } = harness;
  const url = endpoints.url('/batch');
  await client.urlGroups.addEndpoints({
    name: 'batched',
    endpoints: [{ url: endpoints.url('/batch/1') }, { url: endpoints.url('/batch/2') }],
  });
  const published: unknown[] = await client.batchJSON([
    { url, body: { n: 1 }, headers: { 'x-n': '1' } },
    { urlGroup: 'batched', body: { n: 2 } },
    { url, body: { n: 3 }, queueName: 'batch-queue', method: 'PUT' },
    { urlGroup: 'no-such-group', body: { n: 4 } },
  ]);
  assert.deepEqual(
    published.map((each) => (Array.isArray(each) ? each.length : Object.keys(each ?? {}))),
    [['messageId', 'url'], 2, ['messageId', 'url'], ['error']],
  );
  await service.settle();
  assert.deepEqual(
    endpoints
      .at('/batch')
      .map(({ body, method, headers }) => [body, method, headers['x-n']])
      .sort(),
    [
      ['{"n":1}', 'POST', '1'],
      ['{"n":3}', 'PUT', undefined],
    ],
  );
  assert.deepEqual([endpoints.bodiesAt('/batch/1'), endpoints.bodiesAt('/batch/2')], [['{"n":2}'], ['{"n":2}']]);
});

test('pending messages are shown, and are canceled one by one, by filter, and all at once', async () => {
  const { client, endpoints, service, request } = harness;
  const url = endpoints.url('/never');
  const publish = (label: string, host = url) => client.publish({ url: host, delay: '1d', body: label, label, timeout: '30s' });
  const [one, two, three] = [await publish('one'), await publish('two'), await publish('three')];
  const shown = await client.messages.get(one.messageId);
  assert.deepEqual(
    [shown.messageId, shown.url, shown.body, shown.label, shown.labels, shown.method],
    [one.messageId, url, 'one', 'one', ['one'], 'POST'],
  );
  assert.ok((shown.notBefore ?? 0) > shown.createdAt + 86_000_000);
  assert.deepEqual(await client.messages.cancel(one.messageId), { cancelled: 1 });
  await assert.rejects(client.messages.cancel(one.messageId), { status: 404 });
  assert.deepEqual(await client.messages.cancel([one.messageId, two.messageId]), { cancelled: 1 });
  assert.deepEqual(await client.messages.cancel({ filter: { label: ['nothing', 'three'] } }), { cancelled: 1 });
  await assert.rejects(client.messages.get(three.messageId), { status: 404 });
  const host = new URL(url).host;
  await publish('four');
  assert.deepEqual(await client.messages.cancel({ filter: { host: 'other.test' } }), { cancelled: 0 });
  assert.deepEqual(await client.messages.cancel({ filter: { host, path: '/never' } }), { cancelled: 1 });
  for (let n = 0; n < 3; n++) await publish('five');
  assert.deepEqual(await client.messages.cancel({ filter: { url, fromDate: 0 } }), { cancelled: 3 });
  await publish('six');
  const misspelt = await request('DELETE', '/v2/messages?lable=six');
  assert.equal(misspelt.status, 400);
  assert.deepEqual(await client.messages.cancel({ all: true }), { cancelled: 1 });
  await service.advance('2d');
  assert.deepEqual(endpoints.at('/never'), []);
});

test('a message canceled in flight is not retried', async () => {
  const { client, endpoints, service } = harness;
  const held = gate();
  const url = endpoints.when('/held', async () => {
    await held.opened;
    return { status: 500 };
  });
  const { messageId } = await client.publish({ url, retries: 3, retryDelay: '1000' });
  await endpoints.waitForDeliveries('/held', 1);
  assert.deepEqual(await client.messages.cancel(messageId), { cancelled: 1 });
  held.open();
  await service.advance('1m');
  assert.equal(endpoints.at('/held').length, 1);
  const { logs } = await client.logs({ messageIds: [messageId] });
  assert.equal(logs[0]?.state, 'CANCELED');
});

test('logs list message events newest first, with pages and filters', async () => {
  const { client, endpoints, service } = harness;
  const url = endpoints.when('/logged', (_delivery, nth) => ({ status: nth === 1 ? 500 : 200 }));
  const { messageId } = await client.publish({ url, retries: 1, retryDelay: '1000', label: 'logged' });
  await service.advance('10s');
  const { logs } = await client.logs({ messageIds: [messageId] });
  const states = logs.map(({ state }) => state);
  assert.deepEqual([states[0], states.at(-1)], ['DELIVERED', 'CREATED']);
  assert.ok(states.includes('ERROR'), states.join());
  const failed = logs.find(({ state }) => state === 'ERROR');
  assert.match(failed?.error ?? '', /500/);
  assert.ok(logs.every((log, index) => index === 0 || log.time <= (logs[index - 1]?.time ?? 0)));
  const delivered = await client.logs({ filter: { label: 'logged', state: 'DELIVERED' } });
  assert.deepEqual(
    delivered.logs.map((log) => [log.messageId, log.state, log.url, log.label]),
    [[messageId, 'DELIVERED', url, 'logged']],
  );
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.logs({ count: 10, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...page.logs.map((log) => `${log.messageId} ${log.state} ${log.time}`));
    cursor = page.cursor;
  } while (cursor !== undefined);
  assert.ok(seen.length > 20);
  assert.equal(new Set(seen).size, seen.length);
});

test('redacted fields are hidden in listings but delivered', async () => {
  const { client, endpoints, service } = harness;
  const url = endpoints.url('/secret');
  const { messageId } = await client.publish({
    url,
    body: 'pin 1234',
    headers: { 'x-secret': 'abc', 'x-open': 'yes' },
    delay: '1h',
    redact: { body: true, header: ['x-secret'] },
  });
  const shown = await client.messages.get(messageId);
  assert.ok(!JSON.stringify(shown).includes('1234') && !JSON.stringify(shown).includes('abc'));
  assert.deepEqual(shown.header?.['X-Open'], ['yes']);
  await service.advance('1h');
  const { body, headers } = only(endpoints.at('/secret'));
  assert.deepEqual([body, headers['x-secret']], ['pin 1234', 'abc']);
});

test('invalid requests are refused with an explanation', async () => {
  const { client, endpoints, service, request } = harness;
  const url = endpoints.url('/refused');
  const refused = (promise: Promise<unknown>, status: number, message: RegExp) =>
    assert.rejects(promise, (error: unknown) => {
      assert.ok(error instanceof QstashError, String(error));
      assert.equal(error.status, status);
      const response: { readonly error: string } = JSON.parse(error.message);
      assert.match(response.error, message);
      return true;
    });
  await refused(client.publish({ url: 'ftp://x.test' }), 400, /absolute http or https URL, or the name of a URL group/);
  await refused(client.publish({ url, retryDelay: 'process.exit()' }), 400, /Upstash-Retry-Delay/);
  await refused(client.publish({ url, retries: 101 }), 400, /Upstash-Retries/);
  await refused(client.publish({ url, headers: { 'Upstash-Reties': '1' } }), 400, /unknown header "upstash-reties"/);
  await refused(client.publish({ url, callback: 'nowhere' }), 400, /Upstash-Callback/);
  await refused(client.queue({ queueName: 'no spaces' }).upsert({ parallelism: 1 }), 400, /name of a queue/);
  await refused(client.queue({ queueName: 'q' }).upsert({ parallelism: 0 }), 400, /parallelism/);
  await refused(client.urlGroups.addEndpoints({ name: 'g', endpoints: [{ url: 'nowhere' }] }), 400, /endpoint 0/);
  await refused(client.schedules.create({ destination: url, cron: 'soon' }), 400, /Upstash-Cron/);
  await refused(client.messages.get('msg_none'), 404, /no pending message/);
  const wrong = new Client({ baseUrl: service.url, token: 'wrong', retry: false });
  await refused(wrong.publish({ url }), 401, /token/);
  const noBatch = await request('POST', '/v2/batch', { body: '{}', headers: { 'content-type': 'application/json' } });
  assert.equal(noBatch.status, 400);
  await service.settle();
  assert.deepEqual(endpoints.at('/refused'), []);
});
