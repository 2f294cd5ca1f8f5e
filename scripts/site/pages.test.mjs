import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { addressOf, navigationOf, pagesOf, withSiteLinks } from '../../site/pages.mjs';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

test('a link to a page becomes its address on the site, with the anchor', () => {
  const { text } = withSiteLinks(
    '[a](../errors.md#dlq-full) [b](events.md) [c](../../packages/sdk/README.md) [d](#here)',
    'docs/guides/calls.md',
  );
  assert.equal(text, '[a](/errors/#dlq-full) [b](/guides/events/) [c](/sdk/) [d](#here)');
});

test('a link to another file leads to a copy, a link to a folder becomes text, and code is unchanged', () => {
  const markdown = '![p](images/a.png) [`x`](../examples/a.ts) [f](../examples/guides)\n```\n[a](b.md)\n```\n';
  const { text, files } = withSiteLinks(markdown, 'docs/README.md');
  assert.equal(text, '![p](/files/docs/images/a.png) [`x`](/files/examples/a.ts) f\n```\n[a](b.md)\n```\n');
  assert.deepEqual(files, ['docs/images/a.png', 'examples/a.ts']);
});

test('only pages have an address', () => {
  assert.deepEqual(['docs/README.md', 'docs/guides/api.md', 'README.md', 'packages/x.md'].map(addressOf), [
    '',
    'guides/api',
    'introduction',
    null,
  ]);
});

test('every page has a title and a place in the navigation', () => {
  const pages = pagesOf(ROOT);
  const groups = navigationOf(ROOT, pages);
  const listed = new Set(groups.flatMap(({ items }) => items));
  assert.deepEqual(
    pages.map(({ address }) => address).filter((address) => address !== '' && !listed.has(address)),
    [],
  );
  assert.equal(new Set(pages.map(({ address }) => address)).size, pages.length);
});
