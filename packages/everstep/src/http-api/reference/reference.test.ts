/** The API reference: every operation is on its page, and text of the document is never markup. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ApiHarness } from '../testing/api-harness.js';
import type { OpenApiDocument } from './document.js';
import { html, prose } from './html.js';
import { referencePage } from './page.js';

describe('the API reference', () => {
  let harness: ApiHarness;
  before(async () => {
    harness = await ApiHarness.open();
  });
  after(() => harness.close());

  const get = (url: string) => harness.api.inject({ method: 'GET', url });

  for (const [path, documentPath] of [
    ['/docs', '/openapi.json'],
    ['/docs/management', '/openapi-management.json'],
    ['/docs/upstash', '/openapi-upstash.json'],
  ] as const) {
    test(`${path} shows every operation and schema of ${documentPath}, and its links lead somewhere`, async () => {
      const { paths, components }: OpenApiDocument = (await get(documentPath)).json();
      const page = await get(path);
      assert.equal(page.statusCode, 200);
      const anchors = new Set([...page.body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
      const operations = Object.values(paths).flatMap((item) => Object.values(item));
      for (const { operationId } of operations) assert.ok(anchors.has(operationId), operationId);
      for (const name of Object.keys(components.schemas)) assert.ok(anchors.has(`schema-${name}`), name);
      for (const [, anchor] of page.body.matchAll(/ href="#([^"]+)"/g)) assert.ok(anchors.has(anchor), anchor);
      for (const [, link = ''] of page.body.matchAll(/ href="(\/[^"]*)"/g))
        if (link !== '/') assert.equal((await get(link)).statusCode, 200, link);
    });
  }

  test('the page has no script and no inline style, which its policy forbids', async () => {
    const { headers, body } = await get('/docs');
    assert.match(String(headers['content-security-policy']), /default-src 'none'.*style-src 'self'/);
    assert.doesNotMatch(body, /<script|<style| style=| on[a-z]+=/);
  });

  test('the page is not sent again if the client has it', async () => {
    const { headers } = await get('/docs');
    const again = await harness.api.inject({ method: 'GET', url: '/docs', headers: { 'if-none-match': String(headers.etag) } });
    assert.equal(again.statusCode, 304);
  });
});

test('text in a document is escaped', () => {
  const hostile = '<script>"x"</script> & `<b>`';
  const document: OpenApiDocument = {
    info: { title: hostile, version: '1', description: hostile },
    tags: [{ name: hostile }],
    paths: {
      [hostile]: {
        get: {
          operationId: 'read',
          tags: [hostile],
          summary: hostile,
          parameters: [{ name: hostile, in: 'query', description: hostile, schema: { enum: [hostile] } }],
          responses: { 200: { description: hostile } },
        },
      },
    },
    components: {
      schemas: { [hostile]: { type: 'object', properties: { [hostile]: { type: 'string' } } } },
      securitySchemes: {},
    },
  };
  const page = referencePage({ document, documentPath: '/d', stylesPath: '/s', links: [], path: '/docs' });
  assert.doesNotMatch(page, /<script|<b>/);
});

test('values of a template are escaped unless they are markup', () => {
  assert.equal(
    html`<p title="${'"'}">${'<'}${html`<b>${1}</b>`}${null}${['&', html`<i>`]}</p>`.text,
    '<p title="&quot;">&lt;<b>1</b>&amp;<i></p>',
  );
  assert.equal(prose('a `<b>`\n<c>').text, 'a <code>&lt;b&gt;</code><br>&lt;c&gt;');
});
