/** The server with a virtual clock, as users' tests start it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RetryAfterError, serve } from '@everstep/sdk';
import { type StartedTestService, serveWorkflows, startTestService } from '@everstep/sdk/testing';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Tolerance for real time, which also passes while the server works. */
const TOLERANCE_MS = 30_000;

let service: StartedTestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.stop());

/** Returns the number of whole days, allowing a small excess. */
function days(ms: number): number {
  const count = Math.floor(ms / DAY_MS);
  assert.ok(ms - count * DAY_MS < TOLERANCE_MS, `${ms} ms is not a whole number of days`);
  return count;
}

test('a month with parallel sleeps passes in order within seconds', async (t) => {
  const events: string[] = [];
  const happened = (what: string) => () => void events.push(what);
  const month = serve(async (context) => {
    const nap = async (name: string, length: string, count: number) => {
      for (let i = 1; i <= count; i++) {
        await context.sleep(`${name} nap ${i}`, length);
        await context.run(`${name} ${i}`, happened(`${name} ${i}`));
      }
    };
    await Promise.all([nap('three', '3d', 7), nap('five', '5d', 4)]);
    await context.sleep('the rest', '10d');
    await context.run('end', happened('end'));
  });
  const workflows = await serveWorkflows({ '/month': month });
  t.after(() => workflows.stop());
  const run = await service.triggerAndSettle(workflows.urls['/month']);
  const startedAt = performance.now();
  await service.advance('32d');
  const tookMs = performance.now() - startedAt;
  t.diagnostic(`32 days took ${Math.round(tookMs)} ms`);
  assert.ok(tookMs < 10_000);
  await service.resultOf(run.workflowRunId);
  // Both branches wake on day 15, milliseconds apart.
  const ordered = ['three 1', 'five 1', 'three 2', 'three 3', 'five 2', 'three 4', 'five 3', 'three 5', 'three 6', 'five 4'];
  const expected = [...ordered, 'three 7', 'end'];
  const together = ['five 3', 'three 5'];
  assert.deepEqual(
    events.filter((event) => !together.includes(event)),
    expected.filter((event) => !together.includes(event)),
  );
  assert.deepEqual(events.slice(6, 8).sort(), together);

  const { steps } = await service.client.runs.get(run.workflowRunId);
  const dayOf = (name: string) =>
    days((steps.find(({ stepName }) => stepName === name)?.completedAt ?? 0) - run.workflowCreatedAt);
  assert.deepEqual(['three 1', 'five 1', 'five 2', 'three 4', 'five 4', 'three 7', 'end'].map(dayOf), [3, 5, 10, 12, 20, 21, 31]);
});

test('retries wait for hours and run at their time', async (t) => {
  let attempts = 0;
  const stubborn = serve(
    async (context) => {
      await context.sleep('a day first', '1d');
      return context.run('charge', () => {
        attempts++;
        if (attempts === 2) throw new RetryAfterError('the bank requires a delay', '5h');
        if (attempts < 4) throw new Error('the bank is unavailable');
        return 'paid';
      });
    },
    { verbose: false },
  );
  const workflows = await serveWorkflows({ '/stubborn': stubborn });
  t.after(() => workflows.stop());
  const options = { retries: 5, retryDelay: `${2 * HOUR_MS}` };
  const { workflowRunId, workflowCreatedAt } = await service.triggerAndSettle(workflows.urls['/stubborn'], options);
  assert.equal(attempts, 0);
  const counts: number[] = [];
  for (const by of ['1d', '1h', '1h', '4h', '1h', '2h']) {
    await service.advance(by);
    counts.push(attempts);
  }
  assert.deepEqual(counts, [1, 1, 2, 2, 3, 4]);
  assert.equal(await service.resultOf(workflowRunId), 'paid');
  const journal = await service.client.runs.get(workflowRunId);
  const hours = journal.attempts.map(({ time }) => Math.floor((time - workflowCreatedAt) / HOUR_MS));
  assert.deepEqual(hours, [24, 26, 31]);
});

test('a delayed run starts at its time', async (t) => {
  let startedAt = 0;
  const late = serve(async (context) => {
    await context.run('note', () => {
      startedAt++;
    });
  });
  const workflows = await serveWorkflows({ '/late': late });
  t.after(() => workflows.stop());
  const notBefore = (await service.now()) + 90 * DAY_MS;
  const { workflowRunId } = await service.triggerAndSettle(workflows.urls['/late'], { notBefore });
  await service.advance('89d');
  assert.equal(startedAt, 0);
  await service.advanceTo(notBefore + 1_000);
  assert.equal(startedAt, 1);
  assert.equal(await service.stateOf(workflowRunId), 'RUN_SUCCESS');
});

test('signatures use the time of the machine regardless of the virtual clock', async (t) => {
  const signed = serve(async (context) => context.run('check', () => 'signed'), { signingKeys: service.signingKeys });
  const workflows = await serveWorkflows({ '/signed': signed });
  t.after(() => workflows.stop());
  await service.advance('366d');
  assert.ok((await service.now()) > Date.now() + 366 * DAY_MS - TOLERANCE_MS);
  const { workflowRunId } = await service.triggerAndSettle(workflows.urls['/signed']);
  assert.equal(await service.resultOf(workflowRunId), 'signed');
});

test('resultOf throws for a failed run and for a run without a result', async (t) => {
  const fails = serve(async (context) => {
    await context.sleep('an hour', '1h');
    throw new Error('there is no more');
  });
  const workflows = await serveWorkflows({ '/fails': fails });
  t.after(() => workflows.stop());
  const { workflowRunId } = await service.triggerAndSettle(workflows.urls['/fails'], { retries: 0 });
  await assert.rejects(service.resultOf(workflowRunId), /has not succeeded: its state is RUN_STARTED/);
  await service.advance('1h');
  await assert.rejects(service.resultOf(workflowRunId), /its state is RUN_FAILED: .*there is no more/);
});

test('rejects moving the clock backwards', async () => {
  await assert.rejects(service.advance('0s'), { status: 400, code: 'bad-body', message: /the clock cannot move backwards/ });
  await assert.rejects(service.advance('5000d'), { status: 400, message: /at most 3660d/ });
  await assert.rejects(service.advanceTo('2001-01-01'), { status: 400, message: /cannot move backwards/ });
  await assert.rejects(async () => service.advance('soon'), RangeError);
});

test('a server that does not start reports the reason', async () => {
  const settings = { EVERSTEP_PORT: 'no port' };
  await assert.rejects(startTestService({ env: settings }), /the server ended with \d+\n[\s\S]*EVERSTEP_PORT must be/);
  await assert.rejects(startTestService({ command: ['/there/is/no/such/program'] }), /could not be started: .*ENOENT/);
});

test('the test in the guide runs', async () => {
  const at = (path: string) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
  const guide = await at('../../docs/guides/testing.md');
  const shown = /```ts\n([\s\S]*?)```/.exec(guide)?.[1];
  assert.equal(shown, await at('src/end-to-end/trial.test.ts'));
});
