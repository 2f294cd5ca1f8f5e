/** An endpoint of workflows and messages that returns malformed responses, which depend only on the seed and their number. */
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { mix, Random } from './random.mjs';
import { damagedJson } from './values.mjs';

const MAX_DELAY_MS = 300;

const step = (random) => ({
  stepId: 1 + random.below(4),
  name: random.pick(['a', 'pay', 'x'.repeat(200)]),
  type: random.pick(['Run', 'SleepFor', 'SleepUntil', 'Wait', 'Call', 'Invoke', 'CreateWebhook', 'Nothing']),
  ...(random.chance(0.3) ? { out: random.pick(['1', '"a"', 'no JSON', '{"a":[1]}']) } : {}),
  ...(random.chance(0.3) ? { sleepMs: random.pick([0, 1, -1, 3_600_000, 1e300]) } : {}),
  ...(random.chance(0.3) ? { eventIds: random.pick([['e'], [], ['e', 'e'], [1]]), timeoutMs: 60_000 } : {}),
  ...(random.chance(0.3)
    ? { call: { url: random.pick(['http://127.0.0.1:1/', 'http://[', '']), method: 'POST', headers: {} } }
    : {}),
  ...(random.chance(0.2) ? { invoke: { workflowUrl: 'http://127.0.0.1:1/', headers: {} } } : {}),
});

/** Returns a possible reply of the step protocol. */
const reply = (random) => ({
  protocol: 1,
  kind: random.pick(['progress', 'progress', 'progress', 'journal-needed', 'failure', 'other']),
  base: random.below(3),
  done: Array.from({ length: random.below(3) }, () => step(random)),
  advanced: random.chance(0.7),
  planned: Array.from({ length: random.below(4) }, () => step(random)),
  ...(random.chance(0.4)
    ? { end: { kind: random.pick(['finished', 'failed', 'x']), result: random.pick(['1', 'no', '{}']) } }
    : {}),
});

const HEADERS = [
  'Retry-After: -1',
  'Retry-After: 99999999999',
  'Retry-After: Thu, 99 Foo',
  'Content-Type: a/b;;;',
  'Content-Encoding: gzip',
  'Content-Encoding: br, gzip, deflate, gzip',
  'Content-Length: 10',
  'Transfer-Encoding: chunked',
  'Location: http://127.0.0.1/',
  'Set-Cookie: a=b',
  'Connection: close',
  'X: \u0000',
  'no-colon',
  `X: ${'a'.repeat(20_000)}`,
  'Svc-Workflow-Protocol: 1',
  'Svc-Workflow-Protocol: 99',
  'Svc-NonRetryable-Error: true',
  'Upgrade: websocket',
  'Trailer: x',
];

function bodyFor(random) {
  switch (random.below(7)) {
    case 0:
    case 1:
      return Buffer.from(JSON.stringify(reply(random)));
    case 2:
    case 3:
      return Buffer.from(damagedJson(reply(random), random));
    case 4:
      return gzipSync(Buffer.alloc(random.pick([10, 100_000, 3_000_000])));
    case 5:
      return Buffer.alloc(random.pick([0, 1, 10_000, 2_000_000]), random.pick(['[', 'a', '\u0000']));
    default:
      return Buffer.from(JSON.stringify(reply(random))).subarray(0, random.below(60));
  }
}

/** Returns the bytes of response n, how the connection ends, the position of a cut, and a delay. */
export function responseOf(seed, n) {
  const random = new Random(mix(seed ^ 0x1b873593, n));
  const status = random.pick([
    '200',
    '200',
    '200',
    '200',
    '201',
    '204',
    '304',
    '400',
    '404',
    '429',
    '489',
    '500',
    '503',
    '600',
    '999',
    '099',
    '20',
    'abc',
    '101',
    '100',
  ]);
  const body = bodyFor(random);
  const headers = random.chance(0.6)
    ? ['Content-Type: application/json', 'Svc-Workflow-Protocol: 1', `Content-Length: ${body.length}`]
    : [];
  for (let count = random.below(3); count > 0; count--) headers.push(random.pick(HEADERS));
  const httpVersion = random.pick(['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/9.9', 'ICY']);
  const bytes = Buffer.concat([Buffer.from(`${httpVersion} ${status} x\r\n${headers.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
  const ending = random.pick(['whole', 'whole', 'whole', 'whole', 'cut', 'reset', 'slow', 'nothing', 'twice']);
  return { bytes, ending, cutAt: random.below(bytes.length + 1), delayMs: random.below(MAX_DELAY_MS) };
}

/** Listens on a free port; `count` is the number of responses. */
export async function openEndpoint(seed) {
  const sockets = new Set();
  let responseCount = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    let receivedText = '';
    socket.on('data', (chunk) => {
      receivedText = (receivedText + chunk.toString('latin1')).slice(-100_000);
      if (!receivedText.includes('\r\n\r\n')) return;
      receivedText = '';
      const { bytes, ending, cutAt, delayMs } = responseOf(seed, responseCount++);
      if (ending === 'nothing') setTimeout(() => socket.destroy(), delayMs);
      else if (ending === 'reset') socket.write(bytes.subarray(0, cutAt), () => socket.resetAndDestroy());
      else if (ending === 'cut') socket.end(bytes.subarray(0, cutAt));
      else if (ending === 'slow') {
        socket.write(bytes.subarray(0, cutAt));
        setTimeout(() => socket.destroyed || socket.end(bytes.subarray(cutAt)), delayMs);
      } else socket.end(ending === 'twice' ? Buffer.concat([bytes, bytes]) : bytes);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    get count() {
      return responseCount;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
