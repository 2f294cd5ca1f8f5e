/** Bulk recoveries of dead letters, some of whose commits are slow or fail. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommitUnit } from '../../engine/writes.js';
import { deadLetterIdsOf, Endpoints, failRuns, INSTANCE } from '../repairs/repairs.fixture.js';
import { random, ScriptedCaller, withRuntime } from '../runtime.fixture.js';
import { DeadLetters } from './dead-letters.js';

test('each run of a bulk resume is driven as soon as it is committed, even if another commit is slow or fails', async () => {
  await withRuntime(new ScriptedCaller(new Endpoints().respond), async (bench) => {
    await failRuns(bench, { 'http://app/a': 3 });
    const dlqIds = await deadLetterIdsOf(bench);
    const driven: string[] = [];
    let finishSlow = (): void => {};
    const slow = new Promise<void>((resolve) => {
      finishSlow = resolve;
    });
    const takes = ({ writes }: CommitUnit, dlqId: string | undefined): boolean =>
      writes.some((write) => write.kind === 'take-dead-letter' && write.dlqId === dlqId);
    const deadLetters = new DeadLetters({
      store: bench.store,
      context: () => ({ now: bench.clock.now(), random, publicUrl: 'http://everstep' }),
      reportChange() {},
      async commit(unit) {
        if (takes(unit, dlqIds[0])) throw new Error('the connection was lost');
        if (takes(unit, dlqIds[2])) await slow;
        return { kind: 'applied' };
      },
      drive: ({ run }) => void driven.push(run.origin?.kind === 'resume' ? run.origin.dlqId : ''),
    });
    const recovering = deadLetters.recover({ ...INSTANCE, kind: 'resume', dlqIds, overrides: {}, onMissing: 'skip' });
    const rejected = assert.rejects(recovering, /the connection was lost/);
    while (driven.length < 1) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(driven, [dlqIds[1]]);
    finishSlow();
    await rejected;
    assert.deepEqual(driven, [dlqIds[1], dlqIds[2]]);
  });
});
