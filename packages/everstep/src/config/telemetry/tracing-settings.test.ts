/** The variables of OpenTelemetry, as its specification describes them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTracing, type TracingSettings } from './tracing-settings.js';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

function read(env: Readonly<Record<string, string>>): TracingSettings | null {
  const problems: string[] = [];
  const settings = readTracing(env, (sentence) => problems.push(sentence));
  assert.deepEqual(problems, []);
  return settings;
}

function problemsOf(env: Readonly<Record<string, string>>): string {
  const problems: string[] = [];
  readTracing({ ...ENDPOINT, ...env }, (sentence) => problems.push(sentence));
  return problems.join('\n');
}

test('traces are not exported without an endpoint, or if the export is disabled', () => {
  assert.equal(read({}), null);
  assert.equal(read({ OTEL_SERVICE_NAME: 'shop', OTEL_TRACES_SAMPLER: 'unknown' }), null);
  assert.equal(read({ ...ENDPOINT, OTEL_SDK_DISABLED: 'True', OTEL_TRACES_SAMPLER: 'unknown' }), null);
  assert.equal(read({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }), null);
  assert.equal(read({ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }), null);
});

test('the defaults are those of the specification', () => {
  assert.deepEqual(read(ENDPOINT), {
    url: 'http://collector:4318/v1/traces',
    headers: {},
    timeoutMs: 10_000,
    isCompressed: false,
    resource: { 'service.name': 'everstep' },
    sampler: 'parentbased_always_on',
    ratio: 1,
    maxQueuedSpans: 2_048,
    maxBatchSpans: 512,
    delayMs: 5_000,
  });
  assert.equal(read({ OTEL_TRACES_EXPORTER: 'otlp' })?.url, 'http://localhost:4318/v1/traces');
});

test('a variable of traces has precedence over the general one, and its URL is used unchanged', () => {
  const settings = read({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/base/',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20a%3Db, x-team = shop ',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-team=traces',
    OTEL_EXPORTER_OTLP_TIMEOUT: '5000',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2000',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
  });
  assert.equal(settings?.url, 'http://collector:4318/base/v1/traces');
  assert.deepEqual(settings?.headers, { authorization: 'Bearer a=b', 'x-team': 'traces' });
  assert.equal(settings?.timeoutMs, 2_000);
  assert.equal(settings?.isCompressed, true);
  assert.equal(read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.test/in' })?.url, 'https://traces.test/in');
});

test('the name of the service, its attributes, the sampler and the queue are read', () => {
  const resource = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=a%2Cb' };
  assert.deepEqual(read({ ...ENDPOINT, ...resource })?.resource, {
    'service.name': 'other',
    'deployment.environment.name': 'a,b',
  });
  const settings = read({
    ...ENDPOINT,
    ...resource,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_BSP_MAX_QUEUE_SIZE: '100',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '200',
    OTEL_BSP_SCHEDULE_DELAY: '250',
  });
  assert.equal(settings?.resource['service.name'], 'shop');
  assert.deepEqual([settings?.sampler, settings?.ratio], ['parentbased_traceidratio', 0.25]);
  assert.deepEqual([settings?.maxQueuedSpans, settings?.maxBatchSpans, settings?.delayMs], [100, 100, 250]);
});

for (const [what, env, problem] of [
  ['another protocol', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL must be one of http\/json$/],
  ['another exporter', { OTEL_TRACES_EXPORTER: 'zipkin' }, /^OTEL_TRACES_EXPORTER must be one of otlp, none$/],
  ['a URL without a scheme', { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, /must be an http or https URL/],
  ['a password in the URL', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://u:p@collector' }, /OTEL_EXPORTER_OTLP_HEADERS instead/],
  ['a header without a value', { OTEL_EXPORTER_OTLP_HEADERS: 'authorization' }, /^OTEL_EXPORTER_OTLP_HEADERS must be a list/],
  ['a header with a line break', { OTEL_EXPORTER_OTLP_HEADERS: 'a=x%0d%0ay: z' }, /a header that cannot be sent/],
  ['a wrong escape', { OTEL_RESOURCE_ATTRIBUTES: 'a=%zz' }, /not percent-encoded correctly/],
  ['an unknown sampler', { OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /^OTEL_TRACES_SAMPLER must be one of always_on/],
  ['a ratio over 1', { OTEL_TRACES_SAMPLER_ARG: '1.5' }, /must be a number from 0 to 1/],
  ['a queue without places', { OTEL_BSP_MAX_QUEUE_SIZE: '0' }, /must be a whole number from 1 to 1000000/],
  ['a negative timeout', { OTEL_EXPORTER_OTLP_TIMEOUT: '-1' }, /must be a whole number from 1 to 600000/],
] as const) {
  test(`${what} is reported as a problem of the configuration, without the value`, () => {
    const found = problemsOf(env);
    assert.match(found, problem);
    assert.doesNotMatch(found, /p@|x%0d/);
  });
}
