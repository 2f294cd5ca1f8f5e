import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { ApiHarness } from '../testing/api-harness.js';
import { readDashboard } from './index.js';

const SCRIPT = `console.log(${JSON.stringify('x'.repeat(4_000))});\n`;
const INDEX = '<!doctype html><title>Everstep</title>';

interface ReceivedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

/** Sends the path unchanged; `fetch` would resolve dot segments. */
function ask(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<ReceivedResponse> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('dashboard files', () => {
  let directory: string;
  let harness: ApiHarness;
  let port: number;
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) => ask(port, path, headers);

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'everstep-dashboard-'));
    const built = join(directory, 'static');
    await mkdir(join(built, 'assets'), { recursive: true });
    await mkdir(join(built, '.vite'));
    await writeFile(join(directory, 'secret.js'), 'outside');
    await writeFile(join(built, 'index.html'), INDEX);
    await writeFile(join(built, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
    await writeFile(join(built, '.built-from'), 'hidden');
    await writeFile(join(built, '.vite', 'manifest.json'), '{}');
    await writeFile(join(built, 'assets', 'index-abc.js'), SCRIPT);
    await writeFile(join(built, 'assets', 'packed-abc.css'), 'a{}'.repeat(1_000));
    await writeFile(join(built, 'assets', 'packed-abc.css.br'), 'packed by the build');
    await writeFile(join(built, 'assets', 'font-abc.woff2'), Buffer.alloc(5_000, 1));
    await symlink(join(directory, 'secret.js'), join(built, 'assets', 'link.js'));
    harness = await ApiHarness.open({ dashboard: await readDashboard(built) });
    ({ port } = await harness.api.listen({ host: '127.0.0.1', port: 0 }));
  });
  after(async () => {
    await harness.close();
    await rm(directory, { recursive: true });
  });

  test('serves a page at its path with any segments and query, and requires revalidation', async () => {
    for (const path of ['/', '/login', '/login?to=%2Fq%2Fa', '/q/qi_1', '/q/qi_1/runs/a%2Fb/c?x=%', '/q/..%2f..', '/?a=1']) {
      const { status, headers, body } = await get(path);
      assert.deepEqual([status, body.toString()], [200, INDEX], path);
      assert.equal(headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(headers['cache-control'], 'no-cache');
      assert.equal(headers['set-cookie'], undefined);
    }
  });

  test('a page loads nothing from other origins, runs no inline code and cannot be framed', async () => {
    for (const path of ['/', '/q/qi_1/runs', '/assets/index-abc.js', '/favicon.svg']) {
      const { headers } = await get(path);
      assert.equal(
        headers['content-security-policy'],
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
      );
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['referrer-policy'], 'no-referrer');
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
    }
  });

  test('a file with a content hash in its name is cached forever and identified by its tag', async () => {
    const { headers, body } = await get('/assets/index-abc.js');
    assert.equal(body.toString(), SCRIPT);
    assert.equal(headers['content-type'], 'text/javascript; charset=utf-8');
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
    const tag = String(headers.etag);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await get('/assets/index-abc.js', { 'if-none-match': known });
      assert.deepEqual([again.status, again.body.length, again.headers.etag], [304, 0, tag], known);
    }
    assert.equal((await get('/assets/index-abc.js', { 'if-none-match': '"other"' })).status, 200);
  });

  test('compresses files as the client accepts, with a tag for each encoding', async () => {
    const plain = await get('/assets/index-abc.js');
    const packed = async (accept: string) => {
      const received = await get('/assets/index-abc.js', { 'accept-encoding': accept });
      assert.equal(received.headers.vary, 'accept-encoding');
      return received;
    };
    const brotli = await packed('gzip, deflate, br');
    assert.equal(brotli.headers['content-encoding'], 'br');
    assert.equal(brotliDecompressSync(brotli.body).toString(), SCRIPT);
    const gzip = await packed('br;q=0, gzip;q=0.5');
    assert.equal(gzip.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(gzip.body).toString(), SCRIPT);
    assert.equal((await packed('*')).headers['content-encoding'], 'br');
    for (const accept of ['identity', 'deflate', 'br;q=0', '']) {
      const result = await packed(accept);
      assert.deepEqual([result.headers['content-encoding'], result.body.toString()], [undefined, SCRIPT], accept);
    }
    assert.equal(new Set([plain, brotli, gzip].map(({ headers }) => headers.etag)).size, 3);
    const known = { 'accept-encoding': 'br', 'if-none-match': String(brotli.headers.etag) };
    assert.equal((await get('/assets/index-abc.js', known)).status, 304);
    assert.equal((await get('/assets/font-abc.woff2', { 'accept-encoding': 'br' })).headers['content-encoding'], undefined);
    const built = await get('/assets/packed-abc.css', { 'accept-encoding': 'br' });
    assert.equal(built.body.toString(), 'packed by the build');
  });

  test('serves only files of the build, however a path is written', async () => {
    const paths = [
      '/assets/../secret.js',
      '/assets/..%2fsecret.js',
      '/assets/%2e%2e/secret.js',
      '/assets/%2e%2e%2fsecret.js',
      '/assets/..%5csecret.js',
      '/assets/../../secret.js',
      '/assets/..%2f..%2f..%2f..%2fetc%2fpasswd',
      '/assets//etc/passwd',
      '/assets/%2fetc%2fpasswd',
      '/assets/index-abc.js%00.css',
      '/assets/link.js',
      '/assets/packed-abc.css.br',
      '/assets/../index.html',
      '/assets/..%2findex.html',
      '/assets/',
      '/assets',
      '/.built-from',
      '/.vite/manifest.json',
      '/secret.js',
      '/static/index.html',
      '/../secret.js',
      '/assets/toString',
      '/assets/__proto__',
    ];
    for (const path of paths) {
      const { status, headers, body } = await get(path);
      assert.ok(status === 404 || status === 400, `${path}: ${status}`);
      assert.equal(headers['content-type'], 'application/json; charset=utf-8', path);
      assert.ok(!/outside|hidden|root:|console/.test(body.toString()), path);
    }
  });

  test('responds to HEAD like to GET without the body, and rejects other methods', async () => {
    for (const path of ['/', '/q/a/b', '/assets/index-abc.js', '/favicon.svg']) {
      const [head, whole] = [await ask(port, path, {}, 'HEAD'), await get(path)];
      assert.deepEqual([head.status, head.body.length], [200, 0], path);
      assert.equal(head.headers['content-length'], String(whole.body.length), path);
      assert.equal(head.headers.etag, whole.headers.etag, path);
      const post = await ask(port, path, {}, 'POST');
      assert.deepEqual([post.status, post.headers.allow], [405, 'GET, HEAD'], path);
    }
  });
});

test('without built files every page explains how to build them, and the API works', async () => {
  const missing = await readDashboard(join(tmpdir(), 'everstep-no-such-directory'));
  assert.equal(missing, null);
  const harness = await ApiHarness.open({ dashboard: missing });
  for (const url of ['/', '/login', '/q/qi_1/runs']) {
    const { statusCode, payload, headers } = await harness.api.inject({ method: 'GET', url });
    assert.equal(statusCode, 404);
    assert.match(payload, /is not built.*npm run build --workspace @everstep\/dashboard/s);
    assert.match(String(headers['content-security-policy']), /default-src 'none'/);
  }
  assert.equal((await harness.api.inject({ method: 'GET', url: '/health' })).statusCode, 200);
  await harness.close();
});
