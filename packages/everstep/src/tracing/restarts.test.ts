/** The spans of a run whose process is replaced while the run sleeps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observeCaller } from '../metrics/observed-calls.js';
import { combineObservers, NO_OBSERVER } from '../ports/observer.js';
import type { Store } from '../ports/stores/store.js';
import { ManualClock, noMessages, publicUrl, quiet, random, SETTINGS, settle } from '../runtime/runtime.fixture.js';
import { createRuntime } from '../runtime/runtime.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { RunTraces } from './run-traces.js';
import { createSampler } from './sampler.js';
import type { Span } from './span.js';
import { observeSpans } from './span-observer.js';
import { TracedApp, treeOf } from './span-tree.fixture.js';

/** Starts a process and collects its spans. What the previous process had in memory is lost. */
async function startProcess(store: Store, clock: ManualClock, spans: Span[]) {
  const now = () => clock.now();
  const traces = new RunTraces(createSampler('parentbased_traceidratio', 1));
  const observer = combineObservers(NO_OBSERVER, observeSpans(traces, { add: (span) => spans.push(span) }, now));
  const app = new TracedApp({
    '/flow': async (context) => {
      await context.run('first', () => 1);
      await context.sleep('nap', 3_600);
      await context.run('last', () => 2);
    },
  });
  const stepCaller = observeCaller(app, observer, now);
  const runtime = createRuntime({
    ...{ store, clock, random, stepCaller, publicUrl, observer, traces },
    messageSender: noMessages,
    log: quiet,
  });
  await runtime.start();
  return runtime;
}

test('a run has one span with its real times, and every span has its parent', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const clock = new ManualClock();
  const spans: Span[] = [];
  const first = await startProcess(store, clock, spans);
  await first.runs.trigger({
    ...{ instanceId: 'qi_1', dialect: 'native', workflowUrl: 'http://app/flow', settings: SETTINGS, callerIp: '' },
    ...{ payload: { body: new Uint8Array(), contentType: null, forwardHeaders: {} } },
    ...{ workflowRunId: null, notBefore: null, deduplicationId: null },
  });
  await settle();
  await first.stop({ graceMs: 0 });
  assert.deepEqual(
    spans.map(({ name }) => name),
    ['trigger', 'attempt', 'step first'],
  );

  const second = await startProcess(store, clock, spans);
  clock.move(3_600_000);
  await settle();
  await second.stop({ graceMs: 0 });
  await store.close();
  assert.deepEqual(treeOf(spans), [
    'trigger 0',
    '  run /flow 3600000',
    '    step first 0',
    '      attempt 0',
    '    sleep nap 3600000',
    '    step last 0',
    '      attempt 0',
  ]);
});
