/** Runs the examples of the guides about operating a server. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as destinations from '@everstep/example-guides/destinations';
import * as explain from '@everstep/example-guides/explain';
import * as flowControl from '@everstep/example-guides/flow-control';
import * as fork from '@everstep/example-guides/fork';
import * as redaction from '@everstep/example-guides/redaction';
import * as repairs from '@everstep/example-guides/repairs';
import * as retention from '@everstep/example-guides/retention';
import * as schedules from '@everstep/example-guides/schedules';
import * as signingKeys from '@everstep/example-guides/signing-keys';
import { type StartedTestService, serveWorkflows, startTestService } from '@everstep/sdk/testing';
import { createLatch, serveOne } from './example-servers.fixture.js';

const DAY_MS = 86_400_000;

let service: StartedTestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.stop());

test('flow control: limits parallel deliveries, sends none while paused, and one a minute when pinned', async (t) => {
  const { client } = service;
  let inFlight = 0;
  let max = 0;
  const [twoArrived, answersAllowed] = [createLatch(), createLatch()];
  const server = await serveWorkflows({
    '/workflow': {
      async handle(request) {
        inFlight++;
        max = Math.max(max, inFlight);
        if (inFlight === 2) twoArrived.open();
        await answersAllowed.opened;
        inFlight--;
        return flowControl.newsletter.endpoint.handle(request);
      },
    },
  });
  t.after(() => server.stop());
  const url = server.urls['/workflow'];
  await flowControl.sendTo(client, url, ['a', 'b', 'c', 'd', 'e']);
  await twoArrived.opened;
  assert.equal(await flowControl.countWaiting(client), 3);
  answersAllowed.open();
  await service.settle();
  assert.deepEqual([...flowControl.sent].sort(), ['a', 'b', 'c', 'd', 'e']);
  assert.equal(max, 2);

  await flowControl.pauseMail(client);
  await flowControl.sendTo(client, url, ['f', 'g']);
  await service.settle();
  assert.equal(flowControl.sent.length, 5);
  assert.equal(await flowControl.countWaiting(client), 2);
  await flowControl.resumeSlowly(client);
  const counts: number[] = [];
  for (let minute = 1; minute <= 3; minute++) {
    counts.push(flowControl.sent.length);
    await service.advance('1m');
  }
  assert.deepEqual(counts, [5, 6, 7], 'the current window already counted five');
  assert.deepEqual(flowControl.sent.slice(5), ['f', 'g']);
});

test('destinations: deliveries to a held destination wait and do not use up attempts', async (t) => {
  const { client } = service;
  const url = await serveOne(t, destinations.report);
  await destinations.holdBeforeDeployment(client, url);
  const { workflowRunId } = await service.triggerAndSettle(url, { retries: 0 });
  const { tasks } = await client.runs.explain(workflowRunId);
  assert.deepEqual(
    tasks.flatMap(({ reasons }) => reasons.map(({ kind, heldBy, reason }) => [kind, heldBy, reason])),
    [['destination-held', 'hand', 'version 12 is being rolled out']],
  );
  await destinations.releaseAfterDeployment(client, url);
  await service.settle();
  assert.equal(await service.resultOf(workflowRunId), 'written');
});

test('destinations: the breaker holds a failing destination until it recovers', async (t) => {
  const { client } = service;
  let isUp = false;
  const server = await serveWorkflows({
    '/workflow': {
      handle: async (request) =>
        isUp ? destinations.report.endpoint.handle(request) : { status: 502, headers: {}, body: 'bad gateway' },
    },
  });
  t.after(() => server.stop());
  const url = server.urls['/workflow'];
  const { breaker } = await client.settings.get();
  await destinations.enableBreaker(client);
  t.after(() => client.settings.update({ breaker }));
  const run = async () => (await service.triggerAndSettle(url, { retries: 0 })).workflowRunId;
  for (let i = 1; i <= 5; i++) assert.equal(await service.stateOf(await run()), 'RUN_FAILED');
  const [sixth, seventh] = [await run(), await run()];
  assert.equal(await service.stateOf(sixth), 'RUN_STARTED');
  isUp = true;
  await service.advance('1m');
  for (const runId of [sixth, seventh]) assert.equal(await service.resultOf(runId), 'written');
});

test('explain: lists what each part of a run waits for', async (t) => {
  const { workflowRunId } = await service.triggerAndSettle(await serveOne(t, explain.contract));
  const [summary, signature, withdrawal, ...rest] = await explain.explainRun(service.client, workflowRunId);
  assert.ok(summary);
  assert.match(signature ?? '', /^signature: .*contract signed/);
  assert.match(withdrawal ?? '', /^withdrawal period: .*\d{4}-\d\d-\d\dT/);
  assert.deepEqual(rest, []);
  await service.client.runs.cancel(workflowRunId);
  const ended = await service.client.runs.explain(workflowRunId);
  assert.deepEqual(ended.tasks, []);
});

test('redaction: redacted values are in the result, and in no log or listing', async (t) => {
  const patient = { name: 'Ada Lovelace', insurance: 'P-1815' };
  const { workflowRunId } = await redaction.admit(service.client, await serveOne(t, redaction.admission), patient);
  await service.settle();
  assert.deepEqual(await service.resultOf(workflowRunId), { ward: 'north', name: 'Ada Lovelace' });
  const { client } = service;
  const shown = JSON.stringify([
    await client.runs.get(workflowRunId),
    await client.runs.list({ workflowRunId }),
    await client.runs.explain(workflowRunId),
  ]);
  for (const secret of ['Ada', '1815', 'f3a9']) assert.ok(!shown.includes(secret), `${secret} is redacted`);
  assert.match(shown, /north/);
  assert.match(shown, /\[REDACTED\]/);
});

test('signing keys: an app with both keys accepts requests after one rotation and refuses them after two', async (t) => {
  const url = await serveOne(t, signingKeys.withKeys(service.signingKeys));
  const run = () => service.triggerAndSettle(url, { retries: 0 });
  const states: string[] = [];
  const note = async () => states.push(await service.stateOf((await run()).workflowRunId));
  await note();
  const rotated = await signingKeys.rotate(service.client);
  assert.equal(rotated.current, service.signingKeys.next);
  await note();
  await signingKeys.rotate(service.client);
  await note();
  assert.deepEqual(states, ['RUN_SUCCESS', 'RUN_SUCCESS', 'RUN_FAILED']);
});

test('signing keys: an app without a secret checks signatures with the public keys', async (t) => {
  const { client } = service;
  t.after(() => client.signatures.update({ ed25519: false }));
  const url = await serveOne(t, signingKeys.withPublicKeys(await signingKeys.turnOnEd25519(client)));
  const { workflowRunId } = await service.triggerAndSettle(url, { retries: 0 });
  assert.equal(await service.stateOf(workflowRunId), 'RUN_SUCCESS');
  assert.equal((await fetch(url, { method: 'POST', headers: { 'svc-workflow-protocol': '1' }, body: '{}' })).status, 401);
});

test('schedules: starts a run every weekday at 9 am in Berlin', async (t) => {
  const url = await serveOne(t, schedules.dailyReport);
  const { client } = service;
  // Start at noon, so that no tick is near the start or end of a week.
  await service.advanceTo((Math.floor((await service.now()) / DAY_MS) + 1.5) * DAY_MS);
  const { scheduleId } = await schedules.reportDaily(client, url, 'sales');
  assert.equal(scheduleId, 'report-sales');
  t.after(() => client.schedules.delete(scheduleId));
  const runs = async () => {
    const found = [];
    for await (const run of client.logs({ workflowUrl: url })) found.push(run);
    return found;
  };
  await service.advance('7d');
  const ticked = await runs();
  assert.equal(ticked.length, 5);
  for (const { workflowRunCreatedAt } of ticked) {
    const inBerlin = { timeZone: 'Europe/Berlin', hour: '2-digit', minute: '2-digit', hour12: false } as const;
    assert.equal(new Date(workflowRunCreatedAt).toLocaleTimeString('en-GB', inBerlin), '09:00');
  }
  await schedules.pauseReport(client, 'sales');
  await service.advance('7d');
  assert.equal((await runs()).length, 5);
});

test('retention: a run is removed a week after it succeeded', async (t) => {
  const url = await serveOne(t, retention.ping);
  const { workflowRunId } = await service.triggerAndSettle(url);
  await retention.setRetention(service.client);
  await service.advance('6d');
  assert.equal(await service.stateOf(workflowRunId), 'RUN_SUCCESS');
  await service.advance('2d');
  await assert.rejects(service.client.runs.get(workflowRunId), { code: 'not-found' });
});

test('repairs: a canary of ten runs first, then the rest at its rate, and no run is resumed twice', async (t) => {
  const { client } = service;
  const url = await serveOne(t, repairs.invoice);
  for (let order = 1; order <= 30; order++) await client.trigger(url, { body: { order }, retries: 0, labels: ['invoices'] });
  await service.settle();
  const planned = await repairs.planResume(client);
  assert.deepEqual([planned.counts.total, planned.plan.stepsKept], [30, 30]);

  await repairs.startCanary(client, planned);
  await service.advance('3s');
  const stopped = await client.repairs.get(planned.repairId);
  assert.deepEqual([stopped.state, stopped.stopReason], ['stopped', 'canary-failed']);
  assert.equal((await repairs.failedAgain(client, planned)).length, stopped.counts.failed);

  repairs.deployment.isBroken = false;
  const again = await repairs.planResume(client);
  assert.equal(again.counts.total, 30);
  await repairs.startCanary(client, again);
  await service.advance('5s');
  assert.equal((await client.repairs.get(again.repairId)).state, 'canary-passed');
  await repairs.continueRest(client, again);
  await service.advance('5s');
  const done = await client.repairs.get(again.repairId);
  assert.deepEqual([done.state, done.counts.succeeded], ['done', 30]);
  assert.deepEqual(await repairs.failedAgain(client, again), []);
});

test('repairing one run: compare, fork with an edited result, skip a step, and find incompatible runs', async (t) => {
  const { client } = service;
  const url = await serveOne(t, fork.order);
  const start = (article: string) => service.triggerAndSettle(url, { body: { article }, labels: ['order'], retries: 0 });
  await start('pen');
  const { workflowRunId: failed } = await start('book');
  assert.match(await fork.firstDifferenceOf(client, failed), / at \.body\.article$/);
  const corrected = await fork.correctPrice(client, failed, 1200);
  await service.settle();
  assert.equal(await service.resultOf(corrected), 'charged 1200, shipped');
  const phoned = await fork.skipCharge(client, failed);
  await service.settle();
  assert.equal(await service.resultOf(phoned), 'charged by phone, shipped');
  assert.equal(await service.stateOf(failed), 'RUN_FAILED');
  const { steps } = await client.runs.get(corrected);
  assert.deepEqual(
    steps.map(({ stepName, edited }) => [stepName, edited]),
    [
      ['quote', true],
      ['charge', undefined],
      ['ship', undefined],
    ],
  );
  assert.deepEqual(await fork.incompatibleRuns(client), []);
  fork.deployed.quoteStep = 'price';
  assert.deepEqual(await fork.incompatibleRuns(client), [failed]);
});
