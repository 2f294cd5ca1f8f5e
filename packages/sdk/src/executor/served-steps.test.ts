/**
 * Steps that the server executes: the code requests them here, the endpoint never executes them, and the journal
 * resolves them.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { createEndpoint } from '../endpoint.js';
import type { PlannedStep } from '../protocol.js';
import { FakeServer, type Task } from './fake-server.fixture.js';

type Code = (context: WorkflowContext<unknown>) => Promise<unknown>;

const url = 'http://api/';
const ALL: readonly (readonly [PlannedStep['type'], Code])[] = [
  ['SleepFor', (context) => context.sleep('x', 1)],
  ['SleepUntil', (context) => context.sleepUntil('x', '2030-01-01')],
  ['Wait', (context) => context.waitForEvent('x', 'event')],
  ['Notify', (context) => context.notify('x', 'event')],
  ['Call', (context) => context.call('x', { url })],
  ['Invoke', (context) => context.invoke('x', { workflow: url })],
  ['CreateWebhook', (context) => context.createWebhook('x')],
  ['WaitForWebhook', (context) => context.waitForWebhook('x', { eventId: 'whk_1' })],
];

const advanceOf = (server: FakeServer): Task => {
  const task = server.tasks.get(0);
  assert.ok(task);
  return task;
};

for (const holdRuns of [true, false]) {
  describe(`steps of the server, ${holdRuns ? 'held between requests' : 'replayed each time'}`, () => {
    it('are planned alone and beside other steps, and not executed by the endpoint', async () => {
      for (const [type, code] of ALL) {
        const server = new FakeServer('k');
        const reply = await server.send(createEndpoint(code, { holdRuns }), server.request(advanceOf(server)));
        assert.ok(reply.kind === 'progress', JSON.stringify(reply));
        assert.deepEqual(reply.done, []);
        assert.deepEqual(
          reply.planned.map((step) => [step.stepId, step.name, step.type]),
          [[1, 'x', type]],
        );
      }
    });

    it('mix with steps to run, and resolve in recorded order', async () => {
      const order: string[] = [];
      const endpoint = createEndpoint(
        async (context) => {
          order.length = 0;
          const noted = <T>(name: string, step: Promise<T>) => step.then(() => void order.push(name));
          await Promise.all([
            noted('event', context.waitForEvent('event', 'e')),
            noted(
              'run',
              context.run('run', () => 1),
            ),
            noted('call', context.call('call', { url })),
            noted(
              'called',
              context.createWebhook('webhook').then((webhook) => context.waitForWebhook('called', webhook)),
            ),
            noted('invoke', context.invoke('invoke', { workflow: url })),
          ]);
          return order;
        },
        { holdRuns },
      );
      const server = new FakeServer('k');
      await server.drive(endpoint, (tasks) => tasks.at(-1));
      const recorded = ['invoke', 'call', 'run', 'called', 'event'];
      assert.deepEqual(
        server.journal.map(({ name }) => name),
        ['webhook', ...recorded],
      );
      assert.deepEqual(server.result, recorded);
    });

    it('lose a race against a step of the server that is recorded first', async () => {
      const server = new FakeServer('k');
      const endpoint = createEndpoint(
        (context) =>
          Promise.race([
            context.waitForEvent('approval', 'approved').then(() => 'approved'),
            context.sleep('reminder', '1d').then(() => 'reminded'),
          ]),
        { holdRuns },
      );
      await server.drive(endpoint, (tasks) => tasks.find(({ slot }) => slot !== 1));
      assert.equal(server.result, 'reminded');
    });
  });
}

describe('a journal is rejected', () => {
  for (const [recorded, code] of ALL) {
    it(`if the code requests another type than the recorded ${recorded}`, async () => {
      const other: Code = recorded === 'Call' ? (context) => context.createWebhook('x') : (context) => context.call('x', { url });
      const server = new FakeServer('k');
      await server.deliver(createEndpoint(code), advanceOf(server));
      for (const task of [...server.tasks.values()]) if (task.plan) server.wake(task);
      server.hold = null;
      const reply = await server.send(createEndpoint(other), server.request(advanceOf(server)));
      assert.ok(reply.kind === 'refused', JSON.stringify(reply));
      assert.equal(reply.code, 'journal-mismatch');
      const asked = recorded === 'Call' ? 'CreateWebhook' : 'Call';
      assert.match(
        reply.message,
        new RegExp(`^Step 1 is recorded as ${recorded} "x", but the workflow now requests ${asked} "x"`),
      );
    });
  }

  it('if the endpoint is asked to run a step of the server', async () => {
    const server = new FakeServer('k');
    const request = { ...server.request(advanceOf(server)), target: 1, known: 2 };
    const reply = await server.send(
      createEndpoint((context) => context.waitForEvent('x', 'event')),
      request,
    );
    assert.ok(reply.kind === 'refused');
    assert.match(reply.message, /Step 1 is planned as a step to run, but the workflow now requests Wait at this position/);
  });
});
