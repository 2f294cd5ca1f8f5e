import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttentionItem } from '../../../../everstep/src/contract/insights/insights.js';
import { ATTENTION_KINDS, unlistedErrorCount, updateShownItems } from './attention-items.js';

const item = (subject: string, kind: AttentionItem['kind'] = 'paused-key'): AttentionItem => ({
  kind,
  subject,
  text: '',
  count: 1,
  since: null,
});
const texts = (shown: ReturnType<typeof updateShownItems>): readonly string[] =>
  shown.map(({ item: { subject }, isResolved }) => (isResolved ? `(${subject})` : subject));

test('items keep their positions, even resolved ones, and new ones follow', () => {
  const first = updateShownItems([], [item('a'), item('b'), item('c')]);
  const second = updateShownItems(first, [item('new'), item('c'), item('a')]);
  assert.deepEqual(texts(second), ['a', '(b)', 'c', 'new']);
  assert.deepEqual(texts(updateShownItems(second, [item('b')])), ['(a)', 'b', '(c)', '(new)']);
  assert.deepEqual(texts(updateShownItems(second, [])), []);
});

test('errors beyond those that are listed are counted', () => {
  const items = [item('a', 'dead-letter-group'), item('b', 'paused-key'), item('c', 'dead-letter-group')];
  assert.equal(unlistedErrorCount(items, 40), 38);
  assert.equal(unlistedErrorCount(items, 2), 0);
});

test('each item leads to the page that shows more', () => {
  const pages = (
    ['dead-letter-group', 'held-destination', 'no-worker', 'paused-key', 'oldest-pending', 'store-unavailable'] as const
  ).map((kind) => ATTENTION_KINDS[kind].pageOf(item('a/b', kind)));
  assert.deepEqual(pages, [
    '/dead-letters?view=entries&fingerprint=a%2Fb',
    '/flow-control',
    '/workers',
    '/flow-control/a%2Fb',
    '/runs?state=RUN_STARTED',
    '/nodes',
  ]);
});
