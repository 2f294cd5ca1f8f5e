/** A held run whose own result was not recorded, while the server assumes that the worker holds the recorded one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { createEndpoint } from '../endpoint.js';
import { FakeServer, progress, task } from './fake-server.fixture.js';

type Context = WorkflowContext<unknown>;

/** Returns a worker that continued with 1 as the result of `b` although 2 was recorded, and the hold that it reported. */
async function atOdds(server: FakeServer, seen: number[] = []) {
  let calls = 0;
  const endpoint = createEndpoint(async (context: Context) => {
    await context.run('a', () => 0);
    const b = await context.run('b', () => ++calls);
    return context.run('c', () => {
      seen.push(b);
      return b;
    });
  });
  await server.deliver(endpoint, task(server, 0));
  const open = task(server, 2);
  const request = server.request(open);
  const reply = progress(await server.send(endpoint, request));
  assert.equal(reply.done[0]?.out, '1');
  server.hold = null;
  server.apply(open, request, { ...reply, done: [{ stepId: 2, name: 'b', type: 'Run', out: '2' }] });
  assert.ok(reply.hold);
  return { endpoint, hold: reply.hold };
}

describe('a held run', () => {
  it('does not continue from its own result if the server assumes that it holds the recorded one', async () => {
    const seen: number[] = [];
    const server = new FakeServer('k');
    const { endpoint, hold } = await atOdds(server, seen);
    server.hold = { worker: hold.worker, through: 2 };
    const request = server.request(task(server, 3));
    assert.deepEqual([request.journal.from, request.journal.worker, request.journal.entries], [2, hold.worker, []]);
    assert.equal((await server.send(endpoint, request)).kind, 'journal-needed');
    await server.drive(endpoint);
    assert.deepEqual([server.result, seen], [2, [2]]);
  });

  it('does not continue from its own result if the whole journal contains another one, wherever the two differ', async () => {
    const seen: number[] = [];
    const server = new FakeServer('k');
    const { endpoint, hold } = await atOdds(server, seen);
    // The server takes the worker's result for the recorded one: the first journal that it sends differs from the
    // next one.
    const recorded = server.journal.splice(1, 1, { stepId: 2, name: 'b', type: 'Run', out: '1' });
    server.hold = { worker: hold.worker, through: 2 };
    await server.send(endpoint, { ...server.request(task(server, 3)), target: null });
    server.journal.splice(1, 1, ...recorded);
    assert.equal((await server.send(endpoint, server.request(task(server, 3)))).kind, 'journal-needed');
    server.hold = null;
    await server.drive(endpoint);
    assert.deepEqual([server.result, seen], [2, [2]]);
  });

  it('reports to a server without digests only what the server has recorded, and is still not replayed', async () => {
    let starts = 0;
    const server = new FakeServer('k');
    server.sendsDigests = false;
    const endpoint = createEndpoint(async (context: Context) => {
      starts++;
      for (let i = 0; i < 5; i++) await context.run(`s${i}`, () => i);
      return 'done';
    });
    const reply = progress(await server.deliver(endpoint, task(server, 0)));
    assert.deepEqual([reply.done.length, reply.hold?.through], [1, 0]);
    const next = progress(await server.deliver(endpoint, task(server, 2)));
    assert.deepEqual([next.done.length, next.hold?.through], [1, 1]);
    await server.drive(endpoint);
    assert.deepEqual([server.result, starts, server.misses], ['done', 1, 0]);
  });

  it('requests the journal if a server without digests lists its own result as held', async () => {
    const seen: number[] = [];
    const server = new FakeServer('k');
    const { endpoint, hold } = await atOdds(server, seen);
    server.sendsDigests = false;
    server.hold = { worker: hold.worker, through: 2 };
    assert.equal((await server.send(endpoint, server.request(task(server, 3)))).kind, 'journal-needed');
    await server.drive(endpoint);
    assert.deepEqual([server.result, seen], [2, [2]]);
  });
});
