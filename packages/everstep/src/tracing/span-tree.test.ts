/** The spans of runs, in simulated time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NonRetryableError } from '@everstep/sdk';
import { letterOf, SETTINGS, settle } from '../runtime/runtime.fixture.js';
import { runSpanId, traceIdOf } from './span-ids.js';
import { orphansOf, treeOf, type Workflows, withSpans } from './span-tree.fixture.js';

const INSTANCE = 'qi_1';
const SECOND = 1_000;
const RETRYING = { ...SETTINGS, maxRetries: 1, retryDelay: '3000' };
const EVENT = { kind: 'data', body: { encoding: 'utf8', data: 'payload-secret' } } as const;

/** Returns a workflow with every kind of step. The second step fails once; the last one fails until `isFixed`. */
function everyStep(state: { isFixed: boolean }): Workflows {
  let tries = 0;
  return {
    '/flow': async (context) => {
      await context.run('first', () => 'payload-secret');
      await context.run('flaky', () => {
        if (tries++ === 0) throw new Error('payload-secret');
      });
      await context.call('ask', { url: 'https://user:url-secret@other.test/path-secret?token=url-secret' });
      await context.sleep('nap', 10);
      await context.waitForEvent('approval', 'approved', { timeout: 60 });
      await context.invoke('child', { workflow: 'http://app/child', payload: 'payload-secret' });
      await context.run('last', () => {
        if (!state.isFixed) throw new NonRetryableError('payload-secret');
      });
    },
    '/child': (context) => context.run('inner', () => 1),
  };
}

test('a run has the span of each step, attempt, wait and call, with the times at which they happened', async () => {
  const state = { isFixed: false };
  await withSpans(everyStep(state), async ({ trigger, advance, spans, runtime, app, sender }) => {
    const { run } = await trigger({ settings: RETRYING });
    await settle();
    await advance(3 * SECOND);
    await advance(10 * SECOND);
    await advance(2 * SECOND);
    await runtime.events.notify({ instanceId: INSTANCE, eventId: 'approved', workflowRunId: null, content: EVENT });
    await advance(0);
    const started = [...spans];
    assert.deepEqual(treeOf(started), [
      'trigger 0',
      '  run /flow 15000 failed',
      '    step first 0',
      '      attempt 0',
      '    step flaky 3000',
      '      attempt 0 failed',
      '      attempt 0',
      '    call ask 0',
      '      attempt 0',
      '    attempt 0',
      '    sleep nap 10000',
      '    attempt 0',
      '    wait approval 2000',
      '    attempt 0',
      '    invoke child 0',
      '      invoke 0',
      '        run /child 0',
      '          step inner 0',
      '            attempt 0',
      '    step last 0 failed',
      '      attempt 0 failed',
    ]);
    assert.deepEqual(new Set(started.map(({ traceId }) => traceId)), new Set([traceIdOf(run.runKey)]));
    assert.equal(new Set(started.map(({ spanId }) => spanId)).size, started.length);
    assert.doesNotMatch(JSON.stringify(started), /secret/);

    // The trace contexts of requests are those of the spans of their attempts.
    const attempts = started.filter(({ name }) => name === 'attempt').map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
    const sent = [...app.calls.map(({ request }) => request.trace), ...sender.sent.map(({ trace }) => trace?.context)];
    assert.deepEqual(new Set(sent.map((context) => context?.traceparent)), new Set(attempts));
  });
});

test('a long name with characters outside the basic plane is cut between characters', async () => {
  const workflows: Workflows = {
    '/flow': async (context) => {
      await context.run('😀'.repeat(120), () => 1);
      await context.run(`x${'😀'.repeat(120)}`, () => 2);
    },
  };
  await withSpans(workflows, async ({ trigger, spans }) => {
    await trigger({ settings: SETTINGS });
    await settle();
    const names = spans.map(({ attributes }) => attributes['everstep.step.name']).filter((name) => name !== undefined);
    assert.deepEqual(names, ['😀'.repeat(100), `x${'😀'.repeat(99)}`]);
    // JSON.stringify escapes unpaired surrogates, which receivers of JSON reject.
    assert.doesNotMatch(JSON.stringify(spans), /\\ud/);
  });
});

test('a resumed run has a separate trace, which links to the failed run', async () => {
  const state = { isFixed: false };
  await withSpans({ '/flow': everyStep(state)['/flow'] ?? (() => 0), '/child': () => 1 }, async (bench) => {
    const { advance, spans, runtime } = bench;
    const { run } = await bench.trigger({ settings: RETRYING });
    await settle();
    for (const ms of [3 * SECOND, 10 * SECOND]) await advance(ms);
    await runtime.events.notify({ instanceId: INSTANCE, eventId: 'approved', workflowRunId: null, content: EVENT });
    await advance(0);
    const before = spans.length;
    state.isFixed = true;
    await advance(60 * SECOND);
    const { dlqId } = await letterOf(bench);
    const recovered = await runtime.deadLetters.recover({
      ...{ kind: 'resume', instanceId: INSTANCE, dlqIds: [dlqId], onMissing: 'fail', overrides: {} },
    });
    assert.equal(recovered.kind, 'recovered');
    await advance(0);
    const resumed = spans.slice(before);
    assert.deepEqual(treeOf(resumed), ['resume 0', '  run /flow 0', '    step last 0', '      attempt 0']);
    const [link] = resumed.find(({ name }) => name.startsWith('run'))?.links ?? [];
    assert.deepEqual([link?.traceId, link?.spanId], [traceIdOf(run.runKey), runSpanId(run.runKey)]);
    assert.equal(link?.attributes['everstep.link'], 'resume-of');
  });
});

test('a run and its resumed run belong to the trace of the trigger', async () => {
  const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
  const trace = { traceparent: `00-${parent.traceId}-${parent.spanId}-01`, tracestate: 'a=1' };
  let isFixed = false;
  const flow = (): number => {
    if (!isFixed) throw new NonRetryableError('no');
    return 1;
  };
  await withSpans({ '/flow': flow }, async (bench) => {
    const { run } = await bench.trigger({ settings: { ...SETTINGS, trace } });
    await settle();
    isFixed = true;
    const { dlqId } = await letterOf(bench);
    await bench.runtime.deadLetters.recover({
      ...{ kind: 'resume', instanceId: INSTANCE, dlqIds: [dlqId], onMissing: 'fail', overrides: {} },
    });
    await settle();
    assert.deepEqual(treeOf(bench.spans, parent.spanId), [
      'trigger 0',
      '  run /flow 0 failed',
      '    attempt 0 failed',
      'resume 0',
      '  run /flow 0',
      '    attempt 0',
    ]);
    for (const { name, tracestate } of bench.spans) assert.equal(tracestate, name === 'attempt' ? undefined : 'a=1');
    assert.deepEqual(new Set(bench.spans.map(({ traceId }) => traceId)), new Set([parent.traceId]));
    const [link] = bench.spans.at(-1)?.links ?? [];
    assert.deepEqual([link?.traceId, link?.spanId], [parent.traceId, runSpanId(run.runKey)]);
    for (const { request } of bench.app.calls) assert.equal(request.trace?.tracestate, 'a=1');
  });
});

test('a canceled run has spans of the steps that were open', async () => {
  const flow: Workflows[string] = async (context) => {
    await Promise.all([context.sleep('nap', 100), context.waitForEvent('approval', 'never', { timeout: 1_000 })]);
  };
  await withSpans({ '/flow': flow }, async (bench) => {
    const { run } = await bench.trigger();
    await settle();
    await bench.advance(5 * SECOND);
    await bench.runtime.runs.cancel({ instanceId: INSTANCE, workflowRunId: run.workflowRunId });
    await settle();
    assert.deepEqual(treeOf(bench.spans), [
      'trigger 0',
      '  run /flow 5000',
      '    attempt 0',
      '    sleep nap 5000',
      '    wait approval 5000',
    ]);
  });
});

test('the span of a wait links to the request or the step that notified it', async () => {
  const flows: Workflows = {
    '/flow': (context) => context.waitForEvent('approval', 'approved'),
    '/notifier': (context) => context.notify('approve', 'approved', 'yes'),
  };
  await withSpans(flows, async (bench) => {
    const request = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
    const content = { ...EVENT, trace: { traceparent: `00-${request.traceId}-${request.spanId}-01` } };
    await bench.trigger();
    await settle();
    await bench.runtime.events.notify({ instanceId: INSTANCE, eventId: 'approved', workflowRunId: null, content });
    await settle();
    const { run } = await bench.trigger();
    await settle();
    await bench.trigger({ workflowUrl: 'http://app/notifier' });
    await settle();
    const notifier = bench.spans.find(({ name }) => name === 'notify approve');
    const links = bench.spans.filter(({ name }) => name === 'wait approval').map((span) => span.links?.[0]);
    const attributes = { 'everstep.link': 'notified-by' };
    assert.deepEqual(links, [
      { ...request, attributes },
      { traceId: notifier?.traceId, spanId: notifier?.spanId, attributes },
    ]);
    const [step] = await bench.store.loadJournal({ runKey: run.runKey, from: 0 });
    assert.doesNotMatch(step?.out ?? '', /trace/);
  });
});

test('a message, its callback and its failure callback are in one trace', async () => {
  const callback = { url: 'http://app/callback', headers: {} };
  await withSpans({}, async (bench) => {
    await bench.trigger({ settings: { ...SETTINGS, message: { method: 'PUT', callback } } });
    await settle();
    assert.deepEqual(treeOf(bench.spans), [
      'publish 0',
      '  message 0',
      '    attempt 0',
      '    publish 0',
      '      message 0',
      '        attempt 0',
    ]);
    assert.equal(new Set(bench.spans.map(({ traceId }) => traceId)).size, 1);
  });
});

test('the failure callback of a run is an attempt of the run', async () => {
  const fails = () => {
    throw new NonRetryableError('no');
  };
  await withSpans({ '/flow': fails }, async (bench) => {
    await bench.trigger({ settings: { ...SETTINGS, failureCallback: { url: 'http://app/failed', headers: {} } } });
    await settle();
    assert.deepEqual(treeOf(bench.spans), ['trigger 0', '  run /flow 0 failed', '    attempt 0 failed', '    attempt 0']);
    assert.equal(bench.spans.at(-1)?.attributes['everstep.delivery.kind'], 'failure-callback');
  });
});

test('a trace that is not sampled has no spans, and its requests say that it is not sampled', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
  await withSpans({ '/flow': () => 1 }, async (bench) => {
    await bench.trigger({ settings: { ...SETTINGS, trace: { traceparent } } });
    await settle();
    assert.deepEqual(bench.spans, []);
    assert.match(bench.app.calls[0]?.request.trace?.traceparent ?? '', /^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-00$/);
  });
});

test('no span of parallel steps has a parent that is missing', async () => {
  const flow: Workflows[string] = async (context) => {
    await Promise.all(['a', 'b', 'c'].map((name) => context.run(name, () => name)));
    await context.run('d', () => 1);
  };
  await withSpans({ '/flow': flow }, async (bench) => {
    await bench.trigger();
    await settle();
    await bench.advance(SECOND);
    await bench.advance(SECOND);
    assert.deepEqual(orphansOf(bench.spans), []);
    assert.equal(bench.spans.filter(({ name }) => name.startsWith('step ')).length, 4);
  });
});
