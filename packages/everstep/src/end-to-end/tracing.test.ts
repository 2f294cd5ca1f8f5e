/** The real process exports the spans of a run to a receiver of OTLP over HTTP. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { serve } from '@everstep/sdk';
import { serveWorkflows, startTestService } from '@everstep/sdk/testing';

interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}
interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: {
      readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
    };
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}

const DAY_NANOS = 86_400n * 1_000_000_000n;

test('the spans of a run arrive at the receiver, in the trace of the trigger', async (t) => {
  const spans: ExportedSpan[] = [];
  const serviceNames = new Set<string | undefined>();
  let arrived = () => {};
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      assert.equal(`${request.method} ${request.url}`, 'POST /v1/traces');
      const { resourceSpans }: ExportRequest = JSON.parse(Buffer.concat(chunks).toString());
      for (const { resource, scopeSpans } of resourceSpans) {
        serviceNames.add(resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue);
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
      response.end('{}');
      arrived();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  t.after(() => receiver.close());
  const { port } = receiver.address() as AddressInfo;
  const service = await startTestService({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_SERVICE_NAME: 'shop-workflows',
      OTEL_BSP_SCHEDULE_DELAY: '1',
    },
  });
  t.after(() => service.stop());
  const order = serve(async (context) => {
    await context.run('charge', () => 1);
    await context.sleep('a day', '1d');
    return 'done';
  });
  const workflows = await serveWorkflows({ '/order': order });
  t.after(() => workflows.stop());

  const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
  const response = await fetch(`${service.url}/v2/trigger/${workflows.urls['/order']}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, traceparent: `00-${parent.traceId}-${parent.spanId}-01` },
  });
  assert.equal(response.status, 200);
  await service.settle();
  await service.advance('1d');

  const named = (name: string) => spans.find((span) => span.name === name);
  while (!named('run /order'))
    await new Promise<void>((resolve) => {
      arrived = resolve;
    });
  const run = named('run /order');
  const trigger = spans.find(({ spanId }) => spanId === run?.parentSpanId);
  assert.equal(trigger?.parentSpanId, parent.spanId);
  assert.equal(named('step charge')?.parentSpanId, run?.spanId);
  assert.equal(named('sleep a day')?.parentSpanId, run?.spanId);
  assert.ok(BigInt(run?.endTimeUnixNano ?? 0) - BigInt(run?.startTimeUnixNano ?? 0) >= DAY_NANOS);
  assert.deepEqual(new Set(spans.map(({ traceId }) => traceId)), new Set([parent.traceId]));
  assert.deepEqual([...serviceNames], ['shop-workflows']);
  assert.ok(spans.some(({ name, parentSpanId }) => name === 'attempt' && parentSpanId === named('step charge')?.spanId));
});
