/** Tests runs that are canceled by one of their own steps. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { createEndpoint, type ServeOptions } from '../endpoint.js';
import { FakeServer } from './fake-server.fixture.js';

type Code = (context: WorkflowContext<unknown>) => unknown;

/** Drives a run of the workflow to its end. */
async function drive(workflow: Code, options: ServeOptions<unknown>): Promise<FakeServer> {
  const server = new FakeServer('k');
  await server.drive(createEndpoint(workflow, options));
  return server;
}

for (const options of [{ holdRuns: true }, { holdRuns: false }]) {
  describe(`a run, ${options.holdRuns ? 'held between requests' : 'replayed each time'},`, () => {
    it('is canceled by a step, without recording the step', async () => {
      const actions: readonly ((context: WorkflowContext<unknown>) => unknown)[] = [
        (context) => context.cancel(),
        async (context) => {
          await null;
          await context.cancel();
        },
        (context) => {
          void context.cancel();
          return 1;
        },
        (context) => {
          void context.cancel();
          throw new Error('after the cancellation');
        },
      ];
      for (const action of actions) {
        const server = await drive(async (context) => {
          await context.run('before', () => 1);
          await context.run('cancels', () => action(context));
          await context.run('after', () => assert.fail('the run is canceled'));
        }, options);
        assert.deepEqual(server.end, { kind: 'canceled' });
        assert.deepEqual(
          server.journal.map(({ name }) => name),
          ['before'],
        );
      }
    });

    it('is canceled by one of several parallel steps', async () => {
      const server = await drive(
        (context) =>
          Promise.all([
            context.run('a', () => 1),
            context.run('b', async () => {
              await null;
              await context.cancel();
            }),
          ]),
        options,
      );
      assert.deepEqual(server.end, { kind: 'canceled' });
    });
  });
}
