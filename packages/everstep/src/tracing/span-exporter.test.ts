/** The export of spans to a receiver that can be slow, broken or absent. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { TracingSettings } from '../config/telemetry/tracing-settings.js';
import { ManualClock, quiet } from '../runtime/runtime.fixture.js';
import type { Span } from './span.js';
import { SpanExporter } from './span-exporter.js';

const SPAN: Span = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentSpanId: null,
  name: 'run /flow',
  kind: 'internal',
  startMs: 1_800_000_000_000,
  endMs: 1_800_000_000_000.25,
  attributes: { 'everstep.run.id': 'wfr_1', 'everstep.step.id': 3, absent: undefined },
  isError: true,
  links: [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), attributes: { 'everstep.link': 'resume-of' } }],
  tracestate: 'a=1',
};

interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

let respond: (response: ServerResponse) => void = (response) => response.end('{}');
let received: Received[] = [];
let arrived: () => void = () => {};
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    received.push({ headers: request.headers, body: Buffer.concat(chunks) });
    respond(response);
    arrived();
  });
});
before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
after(() => server.close());
beforeEach(() => {
  received = [];
  respond = (response) => response.end('{}');
});

const settings = (changes: Partial<TracingSettings>): TracingSettings => ({
  url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
  headers: { authorization: 'Bearer receiver-secret' },
  timeoutMs: 10_000,
  isCompressed: false,
  resource: { 'service.name': 'shop' },
  sampler: 'always_on',
  ratio: 1,
  maxQueuedSpans: 4,
  maxBatchSpans: 2,
  delayMs: 5_000,
  ...changes,
});

interface Harness {
  readonly exporter: SpanExporter;
  readonly clock: ManualClock;
  readonly counts: Readonly<Record<string, number>>;
  readonly warnings: readonly unknown[];
  /** Resolves when this many requests have arrived. */
  requests(count: number): Promise<void>;
  /** Resolves when this many spans have this result. */
  result(name: string, count: number): Promise<void>;
}

async function withExporter(changes: Partial<TracingSettings>, work: (harness: Harness) => Promise<void>): Promise<void> {
  const clock = new ManualClock();
  const counts: Record<string, number> = {};
  const warnings: unknown[] = [];
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const exporter = new SpanExporter({
    ...{ settings: settings(changes), clock },
    log: { ...quiet, warn: (details) => warnings.push(details) },
    onResult: (result, count) => {
      counts[result] = (counts[result] ?? 0) + count;
    },
  });
  const requests = async (count: number) => {
    while (received.length < count)
      await new Promise<void>((resolve) => {
        arrived = resolve;
      });
  };
  const result = async (name: string, count: number) => {
    while ((counts[name] ?? 0) < count) await turn();
  };
  try {
    await work({ exporter, clock, counts, warnings, requests, result });
  } finally {
    await exporter.close();
  }
}

test('a full batch is exported immediately, as OTLP in JSON', async () => {
  await withExporter({}, async ({ exporter, result }) => {
    exporter.add(SPAN);
    assert.equal(received.length, 0);
    exporter.add({ ...SPAN, parentSpanId: 'c'.repeat(16), links: [], isError: false, tracestate: undefined });
    await result('exported', 2);
  });
  const [request] = received;
  assert.equal(request?.headers['content-type'], 'application/json');
  assert.equal(request?.headers.authorization, 'Bearer receiver-secret');
  const common = {
    traceId: SPAN.traceId,
    spanId: SPAN.spanId,
    name: 'run /flow',
    kind: 1,
    startTimeUnixNano: '1800000000000000000',
    endTimeUnixNano: '1800000000000250000',
    attributes: [
      { key: 'everstep.run.id', value: { stringValue: 'wfr_1' } },
      { key: 'everstep.step.id', value: { intValue: '3' } },
    ],
  };
  assert.deepEqual(JSON.parse(request?.body.toString() ?? ''), {
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
        scopeSpans: [
          {
            scope: { name: 'everstep' },
            spans: [
              {
                ...common,
                traceState: 'a=1',
                links: [
                  {
                    ...{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
                    attributes: [{ key: 'everstep.link', value: { stringValue: 'resume-of' } }],
                  },
                ],
                status: { code: 2 },
              },
              { ...common, parentSpanId: 'c'.repeat(16) },
            ],
          },
        ],
      },
    ],
  });
});

test('a small batch is exported after the delay, compressed if that is set', async () => {
  await withExporter({ isCompressed: true }, async ({ exporter, clock, result }) => {
    exporter.add(SPAN);
    clock.move(4_999);
    assert.equal(received.length, 0);
    clock.move(1);
    await result('exported', 1);
  });
  assert.equal(received[0]?.headers['content-encoding'], 'gzip');
  assert.match(gunzipSync(received[0]?.body ?? '').toString(), /"resourceSpans"/);
});

test('while the receiver does not respond, spans beyond the queue are dropped and counted', async () => {
  let release = () => {};
  respond = (response) => {
    release = () => response.end();
  };
  await withExporter({}, async ({ exporter, counts, requests, result }) => {
    for (let n = 0; n < 9; n++) exporter.add(SPAN);
    await requests(1);
    assert.deepEqual(counts, { dropped: 3 });
    respond = (response) => response.end();
    release();
    await result('exported', 6);
  });
  assert.equal(received.length, 3);
});

test('an export is repeated after a status that allows it, at the time that the receiver requests', async () => {
  respond = (response) => response.writeHead(503, { 'retry-after': '3' }).end();
  await withExporter({}, async ({ exporter, clock, counts, requests, result }) => {
    exporter.add(SPAN);
    exporter.add(SPAN);
    await requests(1);
    respond = (response) => response.end();
    while (received.length < 2) {
      clock.move(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await result('exported', 2);
    assert.deepEqual(counts, { exported: 2 });
  });
});

test('a rejected export is not repeated, and logs neither headers nor spans', async () => {
  respond = (response) => response.writeHead(400).end('receiver-secret');
  await withExporter({}, async ({ exporter, warnings, result }) => {
    exporter.add(SPAN);
    exporter.add(SPAN);
    await result('failed', 2);
    assert.equal(received.length, 1);
    assert.equal(warnings.length, 1);
    assert.doesNotMatch(JSON.stringify(warnings), /secret|wfr_1/);
  });
});

test('spans that the receiver rejects count as failed', async () => {
  respond = (response) => {
    const body = JSON.stringify({ partialSuccess: { rejectedSpans: '1' } });
    response.writeHead(200, { 'content-length': String(body.length) }).end(body);
  };
  await withExporter({}, async ({ exporter, counts, result }) => {
    exporter.add(SPAN);
    exporter.add(SPAN);
    await result('failed', 1);
    assert.deepEqual(counts, { exported: 1, failed: 1 });
  });
});

test('closing exports what is queued, and gives up a receiver that does not respond', async () => {
  await withExporter({}, async ({ exporter, counts }) => {
    exporter.add(SPAN);
    await exporter.close();
    assert.deepEqual(counts, { exported: 1 });
    exporter.add(SPAN);
    assert.deepEqual(counts, { exported: 1, dropped: 1 });
  });
  respond = () => {};
  await withExporter({}, async ({ exporter, clock, counts, requests }) => {
    for (let n = 0; n < 3; n++) exporter.add(SPAN);
    const closed = exporter.close();
    await requests(2);
    clock.move(3_000);
    await closed;
    assert.deepEqual(counts, { failed: 2, dropped: 1 });
  });
});

test('an export fails after its timeout if the receiver cannot be reached', async () => {
  await withExporter({ url: 'http://127.0.0.1:1/', timeoutMs: 900 }, async ({ exporter, warnings, result }) => {
    exporter.add(SPAN);
    exporter.add(SPAN);
    await result('failed', 2);
    assert.match(JSON.stringify(warnings), /"reason":"\w+"/);
  });
});
