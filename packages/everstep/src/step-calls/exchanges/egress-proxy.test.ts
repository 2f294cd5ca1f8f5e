import assert from 'node:assert/strict';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { LOCAL_CERTIFICATE, OTHER_CA, TEST_CA } from '../../config/certificates.fixture.js';
import { createAddressPolicy } from '../addresses/address-policy.js';
import { endpoint, failureOf, message, respondWith, senderWith, useSharedEndpoint } from '../endpoint.fixture.js';
import { openTunnelProxy, type TunnelProxy } from './tunnel-proxy.fixture.js';

useSharedEndpoint();

const PASSWORD = 'pro/xy secret';
let proxy: TunnelProxy;
const secure = https.createServer(LOCAL_CERTIFICATE, (_request, response) => response.end('secure'));

const listen = async (server: https.Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};
let proxyUrl = '';
let securePort = 0;
before(async () => {
  proxy = await openTunnelProxy();
  proxyUrl = `http://user:${encodeURIComponent(PASSWORD)}@127.0.0.1:${proxy.port}`;
  securePort = await listen(secure);
});
after(async () => {
  await proxy.close();
  secure.closeAllConnections();
  secure.close();
});
beforeEach(() => {
  proxy.receivedRequests = [];
  proxy.status = 200;
  endpoint.received = [];
  endpoint.respond = respondWith(200, {});
});

const lines: string[] = [];
const log = {
  debug() {},
  info() {},
  error() {},
  warn: (fields: object, text: string) => lines.push(`${text} ${JSON.stringify(fields)}`),
};

function through(url = proxyUrl, { allow = [] as readonly string[], deny = [] as readonly string[], ca = TEST_CA } = {}) {
  const policy = createAddressPolicy({ allowLoopback: false, allow, deny, resolvesNames: false });
  return senderWith({ addressPolicyOf: () => policy, egressProxy: { url, ca }, log });
}
const signal = () => new AbortController().signal;

test('http and https destinations are called through tunnels, and only the proxy receives its credentials', async (t) => {
  const sender = through();
  t.after(() => sender.close());
  const plain = await sender.send(message({ url: `http://app.example:${endpoint.port}/hook?x=1` }), signal());
  assert.equal(plain.kind, 'response');
  assert.equal(endpoint.received[0]?.headers.host, `app.example:${endpoint.port}`);
  assert.equal(endpoint.received[0]?.url, '/hook?x=1');
  assert.equal(endpoint.received[0]?.headers['proxy-authorization'], undefined);
  // The certificate is checked against the destination's name, not the proxy's.
  const tunneled = await sender.send(message({ url: `https://other.example:${securePort}/` }), signal());
  assert.match(failureOf(tunneled).message, /certificate is for another host name/);
  assert.deepEqual(
    proxy.receivedRequests.map(({ url, headers }) => [url, headers['proxy-authorization']]),
    [`app.example:${endpoint.port}`, `other.example:${securePort}`].map((to) => [to, `Basic ${btoa(`user:${PASSWORD}`)}`]),
  );
});

test('TLS to the destination is inside the tunnel, and its certificate is verified', async (t) => {
  const policy = createAddressPolicy({ allowLoopback: false, allow: [], resolvesNames: false });
  // The policy treats the name as public.
  const addressPolicyOf = () => ({ ...policy, check: () => ({ ok: true }) as const });
  const [good, bad] = [TEST_CA, OTHER_CA].map((ca) => senderWith({ addressPolicyOf, egressProxy: { url: proxyUrl, ca }, log }));
  assert.ok(good && bad);
  t.after(() => Promise.all([good.close(), bad.close()]));
  const url = `https://localhost:${securePort}/`;
  const outcome = await good.send(message({ url }), signal());
  assert.equal(outcome.kind === 'response' && Buffer.from(outcome.body).toString(), 'secure');
  assert.match(failureOf(await bad.send(message({ url }), signal())).message, /certificate cannot be verified/);
  assert.deepEqual(
    proxy.receivedRequests.map((each) => each.url),
    [`localhost:${securePort}`, `localhost:${securePort}`],
  );
});

test('the URL is checked before the proxy is called', async (t) => {
  const sender = through(proxyUrl, { allow: ['10.0.0.0/8:8080'], deny: ['denied.example'] });
  t.after(() => sender.close());
  const urls = [
    ...['http://127.0.0.1/', 'http://[::1]/', 'http://169.254.169.254/', 'http://localhost/', 'http://metadata.google.internal/'],
    // Ranges cannot allow these names, because their addresses are unknown here.
    ...['http://postgres/', 'http://api.default.svc.cluster.local/', 'http://denied.example/', 'http://app.example:25/'],
  ];
  for (const url of urls) assert.equal(failureOf(await sender.send(message({ url }), signal())).cause, 'blocked-address', url);
  assert.deepEqual(proxy.receivedRequests, []);
});

test('a destination in an allow list is called directly, without the proxy', async (t) => {
  const sender = through(proxyUrl, { allow: ['127.0.0.1'] });
  t.after(() => sender.close());
  assert.equal((await sender.send(message(), signal())).kind, 'response');
  assert.deepEqual(proxy.receivedRequests, []);
});

test('a proxy that refuses or is unreachable is a retryable failure that does not reveal the proxy', async (t) => {
  lines.length = 0;
  const gone = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => gone.once('listening', resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const [refusing, missing] = [through(), through(`http://user:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`)];
  t.after(() => Promise.all([refusing.close(), missing.close()]));
  proxy.status = 403;
  const refused = failureOf(await refusing.send(message({ url: 'http://app.example/' }), signal()));
  assert.equal(refused.message, "could not reach app.example: Everstep's egress proxy returned 403 (EVERSTEP_EGRESS_PROXY)");
  const unreached = failureOf(await missing.send(message({ url: 'http://app.example/' }), signal()));
  assert.match(unreached.message, /app\.example: Everstep's egress proxy is unreachable/);
  for (const { cause, retry } of [refused, unreached]) assert.deepEqual([cause, retry], ['network', { kind: 'backoff' }]);
  assert.equal(lines.length, 2);
  assert.match(lines[0] ?? '', /^egress proxy connection failed .*"proxy":"http:\/\/127\.0\.0\.1:\d+","status":403/);
  assert.match(lines[1] ?? '', /ECONNREFUSED/);
  assert.ok(!lines.join().includes('secret'), 'the log contains no credentials');
});
