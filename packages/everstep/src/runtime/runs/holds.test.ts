/** The entries that a request omits because its worker holds them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlannedStep, StepReply, StepRequest } from '@everstep/sdk/protocol';
import { endOf, inARow, progress, recordedDigest, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';

const run = (stepId: number): PlannedStep => ({ stepId, name: `s${stepId}`, type: 'Run' });
const journals = ({ calls }: ScriptedCaller): readonly StepRequest['journal'][] => calls.map(({ request }) => request.journal);

test('a result that was recorded from the reply of a worker is not sent back to it', async () => {
  const caller = new ScriptedCaller(inARow(4, 'w1'));
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger();
    assert.equal((await endOf(bench, run))?.status, 'succeeded');
    assert.deepEqual(
      journals(caller).map(({ from, worker, entries }) => [from, worker, entries.length]),
      [[0, undefined, 0], ...[1, 2, 3].map((from) => [from, 'w1', 0])],
    );
    for (const { from, digest } of journals(caller)) assert.equal(digest, await recordedDigest(bench.store, run.runKey, from));
  });
});

test('the digest covers the recorded steps, whether they were sent before or recorded since', async () => {
  // The worker never continues in the same request, so each result is sent back. At every second request no worker holds the
  // run.
  let requests = 0;
  const caller = new ScriptedCaller(({ request }): StepReply => {
    const { from, length } = request.journal;
    if (from > 0 && ++requests % 2 === 0) return { protocol: 1, kind: 'journal-needed' };
    const hold = { hold: { worker: `w${requests}`, through: length } };
    if (length === 6) return progress(request, { end: { kind: 'finished' } });
    if (request.target === null) return progress(request, { planned: [run(length + 1)], ...hold });
    const done = [{ stepId: length + 1, name: `s${length + 1}`, type: 'Run' as const, out: `{"n":${length}}` }];
    return progress(request, { done, advanced: false, ...hold });
  });
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger();
    assert.equal((await endOf(bench, run))?.status, 'succeeded');
    assert.ok(journals(caller).some(({ from }) => from > 0));
    for (const { from, digest } of journals(caller)) assert.equal(digest, await recordedDigest(bench.store, run.runKey, from));
  });
});

for (const [what, held, respond] of [
  [
    'has continued beyond the entries that it was sent without reporting that',
    0,
    (request: StepRequest) => progress(request, { planned: [run(1)], hold: { worker: 'w1', through: 1 } }),
  ],
  [
    'has continued with a result other than the one that it reports',
    0,
    (request: StepRequest) => {
      const done = [{ stepId: 1, name: 's1', type: 'Run' as const, out: '1' }];
      return progress(request, { done, advanced: false, hold: { worker: 'w1', through: 1 } });
    },
  ],
  [
    'claims to hold more entries than there are',
    1,
    (request: StepRequest) => {
      const done = [{ stepId: 1, name: 's1', type: 'Run' as const, out: '1' }];
      return progress(request, { done, planned: [run(2)], hold: { worker: 'w1', through: 9 } });
    },
  ],
] as const) {
  test(`only entries recorded from its reply count as held by a worker that ${what}`, async () => {
    const caller = new ScriptedCaller(({ request }): StepReply => {
      const { length } = request.journal;
      if (length >= 2) return progress(request, { end: { kind: 'finished' } });
      if (length === 0 && request.target === null) return respond(request);
      if (request.target === null) return progress(request, { planned: [run(length + 1)] });
      const done = [{ stepId: request.target, name: `s${request.target}`, type: 'Run' as const, out: '5' }];
      return progress(request, { done, advanced: false });
    });
    await withRuntime(caller, async (bench) => {
      await bench.trigger();
      await settle();
      const [, second] = journals(caller);
      assert.deepEqual([second?.from, second?.worker], [held, held === 0 ? undefined : 'w1']);
    });
  });
}
