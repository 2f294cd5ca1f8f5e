import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { after, before, it } from 'node:test';
import { EverstepError } from '../errors.js';
import { Client } from './client.js';
import type { LiveChange } from './generated/index.js';

let received: (response: ServerResponse) => void = () => {};
let baseUrl = '';
const asked: string[] = [];
const closed: Promise<void>[] = [];
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
  closed.push(new Promise((resolve) => void response.once('close', resolve)));
  received(response);
});
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const client = () => new Client({ baseUrl, token: 'secret' });
const change = (runId: string): string => `event: change\ndata: ${JSON.stringify({ topics: ['runs'], runIds: [runId] })}\n\n`;
const streaming = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });

it('yields each change, however the stream is split into chunks, and ends with the stream', async () => {
  const text = `retry: 1000\n\n${change('é 1')}: ping\n\n${change('two')}event: other\ndata: {}\n\n`;
  received = (response) => {
    streaming(response);
    for (const byte of Buffer.from(text)) response.write(Buffer.from([byte]));
    response.end();
  };
  const changes: LiveChange[] = [];
  for await (const change of client().live.changes()) changes.push(change);
  assert.deepEqual(
    changes.map(({ runIds }) => runIds),
    [['é 1'], ['two']],
  );
  assert.equal(asked.at(-1), 'GET /v2/live Bearer secret');
});

it('closes the connection when the loop exits', async () => {
  received = (response) => streaming(response).write(change('one'));
  for await (const { topics } of client().live.changes()) {
    assert.deepEqual(topics, ['runs']);
    break;
  }
  await closed.at(-1);
});

it('ends without an error when the signal aborts, before or during the wait', async () => {
  received = (response) => streaming(response).write(change('one'));
  const stop = new AbortController();
  for await (const change of client().live.changes({ signal: stop.signal })) {
    assert.ok(change);
    stop.abort();
  }
  for await (const change of client().live.changes({ signal: AbortSignal.abort() })) assert.fail(String(change));
});

it('throws the error of the server, and an error if the stream breaks', async () => {
  const take = async () => {
    for await (const change of client().live.changes()) assert.ok(change);
  };
  received = (response) => response.writeHead(401, { 'Svc-Error-Code': 'bad-token' }).end('{"error":"no"}');
  await assert.rejects(take(), (error) => error instanceof EverstepError && error.code === 'bad-token' && error.message === 'no');
  received = (response) => {
    streaming(response).write(change('one'));
    setImmediate(() => response.destroy());
  };
  await assert.rejects(take(), (error) => error instanceof EverstepError && error.code === 'unreachable');
});

it('lists the nodes', async () => {
  received = (response) => response.end('{"nodes":[{"nodeId":"n_1"}]}');
  assert.deepEqual(await client().live.nodes(), [{ nodeId: 'n_1' }]);
  assert.equal(asked.at(-1), 'GET /v2/nodes Bearer secret');
});
