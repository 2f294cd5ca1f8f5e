import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoint, respondWith, useSharedEndpoint } from './endpoint.fixture.js';
import { openTunnelProxy } from './exchanges/tunnel-proxy.fixture.js';
import { createProxiedFetch } from './proxied-fetch.js';

useSharedEndpoint();

const log = { debug() {}, info() {}, warn() {}, error() {} };

test('requests of the server itself use the proxy, except for this machine and the allow list', async (t) => {
  const proxy = await openTunnelProxy();
  t.after(() => proxy.close());
  const url = `http://user:secret@127.0.0.1:${proxy.port}`;
  const { fetch, close } = createProxiedFetch({ egressProxy: { url }, allow: ['listed.invalid'], log });
  t.after(close);
  endpoint.received = [];
  endpoint.respond = respondWith(200, { 'content-type': 'text/plain' }, 'issuer');
  const { port } = endpoint;
  const proxied = await fetch(`http://id.example:${port}/openid`, { method: 'POST', body: new URLSearchParams({ code: '1' }) });
  assert.equal(await proxied.text(), 'issuer');
  assert.equal(String(endpoint.received[0]?.body), 'code=1');
  assert.deepEqual(
    proxy.receivedRequests.map((each) => [each.url, each.headers['proxy-authorization']]),
    [[`id.example:${port}`, `Basic ${btoa('user:secret')}`]],
  );
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`, {})).text(), 'issuer');
  await assert.rejects(fetch(`http://listed.invalid:${port}/`, {}), 'the name does not exist here');
  assert.equal(proxy.receivedRequests.length, 1);
});
