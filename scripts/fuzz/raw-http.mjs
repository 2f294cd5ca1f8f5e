/** Writes valid or damaged requests as bytes, sends them, and parses their responses. */
import { connect } from 'node:net';
import { Random } from './random.mjs';

const CRLF = '\r\n';

/** Returns the bytes of a request. */
export function bytesOf({ method, target, headers, body }, host) {
  const allHeaders = [['host', host], ...headers];
  if (body) allHeaders.push(['content-length', String(body.length)]);
  const head = [
    `${method} ${target} HTTP/1.1`,
    ...allHeaders.map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    '',
    '',
  ];
  return Buffer.concat([Buffer.from(head.join(CRLF), 'latin1'), body ?? Buffer.alloc(0)]);
}

const ODD_HEADER_LINES = [
  'content-length: 5',
  'content-length: -1',
  'content-length: 9999999999',
  'content-length: 0x10',
  'transfer-encoding: chunked',
  'transfer-encoding: gzip, chunked',
  'transfer-encoding: identity',
  ' folded: a',
  'no-colon',
  ': empty',
  'a\u0000b: c',
  'host: other.test',
  'expect: 100-continue',
  'expect: what',
  'upgrade: h2c',
  'connection: upgrade',
  `x: ${'a'.repeat(70_000)}`,
  'content-type:',
  'cookie: everstep_session=x',
  'authorization: Basic AAAA',
  'x-everstep-queue: qi_x',
  'x-forwarded-for: 1.2.3.4, a',
  'te: trailers',
  'trailer: x',
  'range: bytes=0-1',
];

/** Damages the bytes of a request reproducibly. */
export function damagedRequest(bytes, damage) {
  const random = new Random(damage);
  const lineEnd = bytes.indexOf(CRLF);
  const [requestLine, remainder] = [bytes.subarray(0, lineEnd).toString('latin1'), bytes.subarray(lineEnd)];
  switch (random.below(10)) {
    case 0:
      return bytes.subarray(0, random.below(bytes.length));
    case 1: {
      const altered = Buffer.from(bytes);
      for (let count = 1 + random.below(8); count > 0; count--) altered[random.below(altered.length)] = random.below(256);
      return altered;
    }
    case 2:
    case 3:
      return Buffer.concat([Buffer.from(`${requestLine}${CRLF}${random.pick(ODD_HEADER_LINES)}`, 'latin1'), remainder]);
    case 4:
      return Buffer.concat([
        Buffer.from(requestLine + `${CRLF}x-a: b`.repeat(random.pick([100, 1_000, 5_000])), 'latin1'),
        remainder,
      ]);
    case 5:
      return Buffer.from(bytes.toString('latin1').replaceAll(CRLF, random.pick(['\n', '\r', '\r\r\n', '\n\r'])), 'latin1');
    case 6:
      return Buffer.concat([bytes, bytes, bytes]);
    case 7: {
      const line = random.pick([
        'GET / HTTP/0.9',
        'GET / HTTP/2.0',
        'PRI * HTTP/2.0',
        'CONNECT a:1 HTTP/1.1',
        'GET http://a.test/health HTTP/1.1',
        'GET * HTTP/1.1',
        `GET /${'a'.repeat(40_000)} HTTP/1.1`,
        'get /health HTTP/1.1',
        'GET /health',
        '\u0016\u0003\u0001',
      ]);
      return Buffer.concat([Buffer.from(line, 'latin1'), remainder]);
    }
    case 8: {
      const chunks = random.pick([
        '5\r\nhello\r\n0\r\n\r\n',
        'fffffffff\r\na',
        'g\r\n',
        '1;a=b\r\na\r\n0\r\nx: y\r\n\r\n',
        '-1\r\n',
        '0\r\n\r\nGET /health HTTP/1.1\r\n\r\n',
      ]);
      const head = bytes
        .toString('latin1')
        .split(CRLF + CRLF, 1)[0]
        .replace(/content-length: \d+/i, 'x: y');
      return Buffer.from(`${head}${CRLF}transfer-encoding: chunked${CRLF}${CRLF}${chunks}`, 'latin1');
    }
    default:
      return Buffer.concat([Buffer.from(random.pick([CRLF, '\u0000', CRLF.repeat(50), ' '])), bytes]);
  }
}

/** Returns the status and the text of a response, which may be incomplete. Without a response, the status is 0. */
export function parseResponse(bytes) {
  const text = bytes.toString('latin1');
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
  return { status, text: bytes.toString('utf8') };
}

/**
 * Sends bytes on a separate connection.
 * @returns {Promise<{ status: number, text: string, outcome: 'complete' | 'closed' | 'late' | 'refused', durationMs: number }>}
 */
export function sendBytes(bytes, { port, timeoutMs, maxBytes = 4 * 1024 * 1024, endAfterMs = null }) {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    const chunks = [];
    let receivedBytes = 0;
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const finish = (outcome) => {
      clearTimeout(timer);
      clearTimeout(endTimer);
      socket.destroy();
      const response = parseResponse(Buffer.concat(chunks));
      resolve({
        ...response,
        outcome: response.status > 0 && outcome === 'closed' ? 'complete' : outcome,
        durationMs: performance.now() - startedAt,
      });
    };
    const timer = setTimeout(() => finish('late'), timeoutMs);
    // The server waits for the rest of a truncated request, so the client disconnects.
    const endTimer = endAfterMs === null ? undefined : setTimeout(() => socket.end(), endAfterMs);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      receivedBytes += chunk.length;
      if (receivedBytes > maxBytes) finish('closed');
    });
    socket.on('error', (error) => finish(error.code === 'ECONNREFUSED' ? 'refused' : 'closed'));
    socket.on('close', () => finish('closed'));
    socket.on('connect', () => socket.write(bytes));
  });
}
