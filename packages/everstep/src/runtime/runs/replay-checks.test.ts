import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import type { ReplayCheck, ReplayVerdict } from '../../ports/step-caller.js';
import { fullHistory } from '../../stores/conformance/samples.js';
import { endOf, inARow, ScriptedCaller, ScriptedSender, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';

const NEVER_ABORTED = new AbortController().signal;

/** Runs of two steps. The test decides whether they would replay. */
class CheckedCaller extends ScriptedCaller {
  readonly checks: ReplayCheck[] = [];
  mostChecks = 0;
  private out_ = 0;
  private readonly verdict: (check: ReplayCheck, signal: AbortSignal) => Promise<ReplayVerdict> | ReplayVerdict;
  constructor(verdict: (check: ReplayCheck, signal: AbortSignal) => Promise<ReplayVerdict> | ReplayVerdict) {
    super(inARow(2));
    this.verdict = verdict;
  }
  async check(check: ReplayCheck, signal: AbortSignal): Promise<ReplayVerdict> {
    this.checks.push(check);
    this.mostChecks = Math.max(this.mostChecks, ++this.out_);
    const verdict = await this.verdict(check, signal);
    this.out_--;
    return verdict;
  }
}

const fits: ReplayVerdict = { outcome: 'fits', message: 'fits' };

test('a check sends the whole journal and the planned steps, returns the difference, and writes nothing', async () => {
  const caller = new CheckedCaller(() => ({ outcome: 'differs', stepId: 2, message: 'other' }));
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger();
    await endOf(bench, run);
    const before = await fullHistory(bench.store, { runKey: run.runKey });
    const calls = caller.calls.length;
    const checked = await bench.runtime.runs.checkReplays({ runKeys: [run.runKey], signal: NEVER_ABORTED });
    assert.deepEqual(checked, [{ outcome: 'differs', stepId: 2, stepName: 's2', message: 'other' }]);
    const { request, forwardHeaders } = caller.checks[0] ?? assert.fail();
    assert.deepEqual(
      request.journal.map(({ stepId, out }) => [stepId, out]),
      [
        [1, '1'],
        [2, '2'],
      ],
    );
    assert.deepEqual([request.open, forwardHeaders, request.input.contentType], [[], { 'x-a': 'b' }, 'application/json']);
    assert.deepEqual(await fullHistory(bench.store, { runKey: run.runKey }), before);
    assert.equal(caller.calls.length, calls);
  });
});

test('few endpoints are checked at a time, and results keep the order of the runs', async () => {
  const caller = new CheckedCaller(async ({ request }) => {
    await settle();
    return { ...fits, message: request.run.id };
  });
  await withRuntime(caller, async (bench) => {
    const runs = await Promise.all(Array.from({ length: 30 }, (_, i) => bench.trigger({ workflowRunId: `r${i}` })));
    const runKeys = runs.map(({ run }) => run.runKey);
    const checked = await bench.runtime.runs.checkReplays({ runKeys, signal: NEVER_ABORTED });
    assert.deepEqual(
      checked.map(({ message }) => message),
      runs.map(({ run }) => run.workflowRunId),
    );
    assert.equal(caller.mostChecks, LIMITS.maxConcurrentChecks);
  });
});

test('after the timeout of the request the remaining results are cannot-tell', async () => {
  const hanging = (_: ReplayCheck, signal: AbortSignal) =>
    new Promise<ReplayVerdict>((resolve) => signal.addEventListener('abort', () => resolve(fits)));
  const caller = new CheckedCaller(hanging);
  await withRuntime(caller, async (bench) => {
    const runs = await Promise.all(Array.from({ length: 20 }, () => bench.trigger()));
    const runKeys = runs.map(({ run }) => run.runKey);
    const checking = bench.runtime.runs.checkReplays({ runKeys, signal: NEVER_ABORTED });
    await settle();
    bench.clock.move(LIMITS.checksTimeoutMs);
    const checked = await checking;
    assert.deepEqual([...new Set(checked.map(({ outcome }) => outcome))], ['cannot-tell']);
    assert.match(checked[19]?.message ?? '', /check this run again/);
    assert.equal(caller.checks.length, LIMITS.maxConcurrentChecks);
  });
});

test('a removed run, a plain message and a transport without checks are cannot-tell', async () => {
  const sender = new ScriptedSender(() => ({ kind: 'response', status: 200, headers: {}, body: new Uint8Array() }));
  await withRuntime(
    new CheckedCaller(() => fits),
    async (bench) => {
      const message = await bench.trigger({ settings: { ...SETTINGS, message: { method: 'POST' } } });
      const runKeys = [message.run.runKey, 'removed'];
      const [plain, removed] = await bench.runtime.runs.checkReplays({ runKeys, signal: NEVER_ABORTED });
      assert.match(plain?.message ?? '', /plain message/);
      assert.match(removed?.message ?? '', /removed/);
    },
    { sender },
  );
  await withRuntime(new ScriptedCaller(inARow(1)), async (bench) => {
    const { run } = await bench.trigger();
    const [checked] = await bench.runtime.runs.checkReplays({ runKeys: [run.runKey], signal: NEVER_ABORTED });
    assert.equal(checked?.outcome, 'cannot-tell');
  });
});
