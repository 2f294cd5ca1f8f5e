/** A held run whose own result was not recorded, while the server assumes that the worker holds the recorded one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { createEndpoint } from '../endpoint.js';
import { FakeService, progress, task } from './fake-service.fixture.js';

type Context = WorkflowContext<unknown>;

/** Returns a worker that continued with 1 as the result of `b` although 2 was recorded, and the hold that it reported. */
async function atOdds(service: FakeService, seen: number[] = []) {
  let calls = 0;
  const endpoint = createEndpoint(async (context: Context) => {
    await context.run('a', () => 0);
    const b = await context.run('b', () => ++calls);
    return context.run('c', () => {
      seen.push(b);
      return b;
    });
  });
  await service.deliver(endpoint, task(service, 0));
  const open = task(service, 2);
  const request = service.request(open);
  const reply = progress(await service.send(endpoint, request));
  assert.equal(reply.done[0]?.out, '1');
  service.hold = null;
  service.apply(open, request, { ...reply, done: [{ stepId: 2, name: 'b', type: 'Run', out: '2' }] });
  assert.ok(reply.hold);
  return { endpoint, hold: reply.hold };
}

describe('a held run', () => {
  it('does not continue from its own result if the server assumes that it holds the recorded one', async () => {
    const seen: number[] = [];
    const service = new FakeService('k');
    const { endpoint, hold } = await atOdds(service, seen);
    service.hold = { worker: hold.worker, through: 2 };
    const request = service.request(task(service, 3));
    assert.deepEqual([request.journal.from, request.journal.worker, request.journal.entries], [2, hold.worker, []]);
    assert.equal((await service.send(endpoint, request)).kind, 'journal-needed');
    await service.drive(endpoint);
    assert.deepEqual([service.result, seen], [2, [2]]);
  });

  it('does not continue from its own result if the whole journal contains another one, wherever the two differ', async () => {
    const seen: number[] = [];
    const service = new FakeService('k');
    const { endpoint, hold } = await atOdds(service, seen);
    // The server takes the worker's result for the recorded one: the first journal that it sends differs from the
    // next one.
    const recorded = service.journal.splice(1, 1, { stepId: 2, name: 'b', type: 'Run', out: '1' });
    service.hold = { worker: hold.worker, through: 2 };
    await service.send(endpoint, { ...service.request(task(service, 3)), target: null });
    service.journal.splice(1, 1, ...recorded);
    assert.equal((await service.send(endpoint, service.request(task(service, 3)))).kind, 'journal-needed');
    service.hold = null;
    await service.drive(endpoint);
    assert.deepEqual([service.result, seen], [2, [2]]);
  });

  it('reports to a server without digests only what the server has recorded, and is still not replayed', async () => {
    let starts = 0;
    const service = new FakeService('k');
    service.sendsDigests = false;
    const endpoint = createEndpoint(async (context: Context) => {
      starts++;
      for (let i = 0; i < 5; i++) await context.run(`s${i}`, () => i);
      return 'done';
    });
    const reply = progress(await service.deliver(endpoint, task(service, 0)));
    assert.deepEqual([reply.done.length, reply.hold?.through], [1, 0]);
    const next = progress(await service.deliver(endpoint, task(service, 2)));
    assert.deepEqual([next.done.length, next.hold?.through], [1, 1]);
    await service.drive(endpoint);
    assert.deepEqual([service.result, starts, service.misses], ['done', 1, 0]);
  });

  it('requests the journal if a server without digests lists its own result as held', async () => {
    const seen: number[] = [];
    const service = new FakeService('k');
    const { endpoint, hold } = await atOdds(service, seen);
    service.sendsDigests = false;
    service.hold = { worker: hold.worker, through: 2 };
    assert.equal((await service.send(endpoint, service.request(task(service, 3)))).kind, 'journal-needed');
    await service.drive(endpoint);
    assert.deepEqual([service.result, seen], [2, [2]]);
  });
});
