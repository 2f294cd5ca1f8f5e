import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { ApiHarness } from '../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

interface Page {
  readonly cursor?: string;
  readonly events: readonly {
    readonly messageId: string;
    readonly state: string;
    readonly createdAt: number;
    readonly time: number;
  }[];
}

async function publish(count: number): Promise<void> {
  const headers = { 'Upstash-Delay': '1d' };
  for (let left = count; left > 0; left -= LIMITS.maxBatchItems) {
    const items = Array.from({ length: Math.min(left, LIMITS.maxBatchItems) }, () => ({
      destination: 'http://w.test/ok',
      headers,
    }));
    const json = { 'content-type': 'application/json' };
    const { status } = await harness.call('POST', '/v2/batch', { headers: json, body: JSON.stringify(items) });
    assert.equal(status, 200);
  }
}

test('messages are listed in either order, with the time of their publication', async () => {
  await publish(3);
  const states = '&state=CREATED&count=1';
  const ids: Record<string, string[]> = { 'newest-first': [], 'oldest-first': [] };
  for (const [order, found] of Object.entries(ids)) {
    let cursor = '';
    do {
      const { body } = await harness.call<Page>('GET', `/v2/events?order=${order}${states}&cursor=${cursor}`);
      for (const { messageId, createdAt, time } of body.events) {
        found.push(messageId);
        assert.equal(createdAt, time);
      }
      cursor = body.cursor ?? '';
    } while (cursor !== '');
  }
  assert.equal(ids['oldest-first']?.length, 3);
  assert.deepEqual(ids['oldest-first'], ids['newest-first']?.reverse());
});

test('a listing by a rare state returns all matches over several pages', async () => {
  const { body } = await harness.call<{ messageId: string }>('POST', '/v2/publish/http://w.test/refuse', {
    headers: { 'upstash-retries': '1', 'upstash-retry-delay': '86400000' },
  });
  await publish(LIMITS.maxMessagesScanned + 50);
  const found: string[] = [];
  let pages = 0;
  let cursor = '';
  do {
    const page = await harness.call<Page>('GET', `/v2/events?state=ERROR&cursor=${cursor}`);
    found.push(...page.body.events.map(({ messageId }) => messageId));
    cursor = page.body.cursor ?? '';
    pages++;
  } while (cursor !== '');
  assert.deepEqual([found, pages], [[body.messageId], 2]);
});

test('a listing by host or path returns the matches of all pages', async () => {
  const { body } = await harness.call<{ messageId: string }>('POST', '/v2/publish/http://rare.test:81/hook?a=1', {
    headers: { 'Upstash-Delay': '1d' },
  });
  await publish(LIMITS.runsSearchedAtOnce + 10);
  for (const filter of [
    'host=rare.test:81',
    'path=/hook',
    'host=rare.test:81&path=/hook&path=/other',
    'host=rare.test:81&host=w',
  ]) {
    const found: string[] = [];
    let cursor = '';
    do {
      const page = await harness.call<Page>('GET', `/v2/events?${filter}&count=1&cursor=${cursor}`);
      found.push(...page.body.events.map(({ messageId }) => messageId));
      cursor = page.body.cursor ?? '';
    } while (cursor !== '');
    assert.deepEqual([...new Set(found)], [body.messageId], filter);
  }
  const { body: summary } = await harness.call<{ counts: number[] }>('GET', '/v2/insights/messages?host=rare.test:81&path=/hook');
  assert.equal(
    summary.counts.reduce((sum, count) => sum + count, 0),
    1,
  );
});
