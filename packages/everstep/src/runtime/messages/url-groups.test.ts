import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import type { Store } from '../../ports/stores/store.js';
import { type Bench, ScriptedCaller, ScriptedSender, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';
import type { ScheduleCommand } from '../services/workflow-service.js';
import { commandFor, respondWith, textOf } from './plain-messages.fixture.js';

const noSteps = new ScriptedCaller(() => {
  throw new Error('unexpected step');
});
const GROUP = { instanceId: 'qi_1', name: 'all' };
const A = { name: 'a', url: 'http://a.test/' };
const B = { name: null, url: 'http://b.test/' };
const toGroup = { kind: 'url-group', name: 'all' } as const;

async function withSender(work: (bench: Bench, sender: ScriptedSender) => Promise<void>): Promise<void> {
  const sender = new ScriptedSender(() => respondWith(200));
  await withRuntime(noSteps, (bench) => work(bench, sender), { sender });
}

describe('a group of URLs', () => {
  test('contains each name and each URL once, in a stable order', () =>
    withSender(async ({ runtime, clock }) => {
      const made = await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints: [A, B] });
      assert.ok(made !== 'too-many-endpoints');
      clock.move(5);
      const moved = { name: 'a', url: 'http://moved.test/' };
      const named = { name: 'b', url: B.url };
      const changed = await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints: [moved, named] });
      assert.ok(changed !== 'too-many-endpoints');
      assert.deepEqual(changed.endpoints, [moved, named]);
      assert.deepEqual([changed.createdAt, changed.updatedAt], [made.createdAt, made.createdAt + 5]);
      const left = await runtime.urlGroups.removeEndpoints({
        ...GROUP,
        endpoints: [{ name: 'a' }, { url: 'http://nobody.test/' }],
      });
      assert.deepEqual(left?.endpoints, [named]);
      assert.deepEqual(await runtime.urlGroups.list({ instanceId: 'qi_1' }), [left]);
      assert.equal(await runtime.urlGroups.removeEndpoints({ ...GROUP, name: 'none', endpoints: [] }), null);
      assert.equal(await runtime.urlGroups.delete(GROUP), true);
      assert.equal(await runtime.urlGroups.delete(GROUP), false);
      assert.equal(await runtime.urlGroups.find(GROUP), null);
    }));

  test('is deleted with its last endpoint, and created again by the next one', () =>
    withSender(async ({ runtime, clock }) => {
      await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints: [A] });
      assert.deepEqual((await runtime.urlGroups.removeEndpoints({ ...GROUP, endpoints: [{ name: 'a' }] }))?.endpoints, []);
      assert.equal(await runtime.urlGroups.find(GROUP), null);
      await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints: [A] });
      clock.move(5);
      await Promise.all([
        runtime.urlGroups.removeEndpoints({ ...GROUP, endpoints: [{ name: 'a' }] }),
        runtime.urlGroups.addEndpoints({ ...GROUP, endpoints: [B] }),
      ]);
      const group = await runtime.urlGroups.find(GROUP);
      assert.deepEqual([group?.endpoints, group?.createdAt], [[B], clock.now()]);
    }));

  test('can have the maximum number of endpoints, and they can be added again', () =>
    withSender(async ({ runtime }) => {
      const endpoints = Array.from({ length: LIMITS.maxGroupEndpoints }, (_, n) => ({ name: null, url: `http://${n}.test/` }));
      await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints });
      assert.notEqual(await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints }), 'too-many-endpoints');
      assert.equal(await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints: [A] }), 'too-many-endpoints');
      assert.deepEqual((await runtime.urlGroups.find(GROUP))?.endpoints, endpoints);
    }));

  test('receives a message for each endpoint, and each is deduplicated separately', () =>
    withSender(async ({ runtime }, sender) => {
      await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints: [A] });
      const command = commandFor('x', { destination: toGroup, deduplicationId: 'once' });
      const [first] = await runtime.messages.publish([command]);
      await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints: [B] });
      const [second] = await runtime.messages.publish([command]);
      await settle();
      assert.ok(first?.kind === 'published' && second?.kind === 'published');
      assert.deepEqual(
        second.messages.map(({ url, endpointName, deduplicated }) => [url, endpointName, deduplicated]),
        [
          [A.url, 'a', true],
          [B.url, null, false],
        ],
      );
      assert.equal(second.messages[0]?.messageId, first.messages[0]?.messageId);
      const headers = sender.sent.map(({ url, serviceHeaders }) => [
        url,
        serviceHeaders?.['Topic-Name'],
        serviceHeaders?.['Endpoint-Name'],
      ]);
      assert.deepEqual(headers, [
        [A.url, 'all', 'a'],
        [B.url, 'all', undefined],
      ]);
      const filter = { urlGroups: ['all'] };
      const listed = await runtime.messages.list({ instanceId: 'qi_1', filter, after: null, limit: 10 });
      assert.equal(listed.items.length, 2);
    }));

  test('receives large messages in several batches of writes', async () => {
    const MiB = 1024 * 1024;
    const bytesOfBatches: number[] = [];
    const wrap = (store: Store): Store => ({
      ...store,
      commit(units) {
        const inputs = units.flatMap(({ writes }) =>
          writes.flatMap((write) => (write.kind === 'create-run' ? [write.input] : [])),
        );
        bytesOfBatches.push(inputs.reduce((sum, input) => sum + ('body' in input ? input.body.length : 0), 0));
        return store.commit(units);
      },
    });
    const sender = new ScriptedSender(() => respondWith(200));
    await withRuntime(
      noSteps,
      async ({ runtime }) => {
        const endpoints = Array.from({ length: 10 }, (_, n) => ({ name: null, url: `http://${n}.test/` }));
        await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints });
        const [outcome] = await runtime.messages.publish([commandFor('x'.repeat(MiB), { destination: toGroup })]);
        assert.ok(outcome?.kind === 'published');
        assert.deepEqual(
          outcome.messages.map(({ url }) => url),
          endpoints.map(({ url }) => url),
        );
        assert.ok(Math.max(...bytesOfBatches) <= 2 * MiB, String(bytesOfBatches));
        await settle();
        assert.equal(sender.sent.length, 10);
      },
      { sender, wrap },
    );
  });

  test('that does not exist or has no endpoint is reported, and the rest of the batch is published', () =>
    withSender(async ({ runtime }, sender) => {
      const outcomes = await runtime.messages.publish([commandFor('x', { destination: toGroup }), commandFor('y')]);
      assert.deepEqual(outcomes[0], { kind: 'url-group-not-found', name: 'all' });
      await settle();
      assert.deepEqual(sender.sent.map(textOf), ['y']);
    }));
});

describe('a schedule with a message', () => {
  const command = (more: Partial<ScheduleCommand> = {}): ScheduleCommand => ({
    instanceId: 'qi_1',
    dialect: 'upstash',
    scheduleId: 'sch_1',
    cron: '* * * * *',
    timeZone: 'UTC',
    workflowUrl: 'http://a.test/',
    payload: { body: Buffer.from('tick'), contentType: 'text/plain', forwardHeaders: {} },
    settings: { ...SETTINGS, message: { method: 'PUT', queue: 'q' } },
    delayMs: 0,
    callerIp: '10.0.0.1',
    ...more,
  });

  test('publishes a message with each tick, which names the schedule', () =>
    withSender(async ({ runtime, clock, store }, sender) => {
      await runtime.schedules.put(command());
      clock.move(60_000);
      await settle();
      const [sent] = sender.sent;
      assert.deepEqual([sent?.method, sent?.url, sent && textOf(sent)], ['PUT', 'http://a.test/', 'tick']);
      assert.equal(sent?.serviceHeaders?.['Schedule-Id'], 'sch_1');
      assert.equal(sent?.serviceHeaders?.['Queue-Name'], 'q');
      const filter = { scheduleIds: ['sch_1'] };
      const { items } = await runtime.messages.list({ instanceId: 'qi_1', filter, after: null, limit: 10 });
      const schedule = await store.findSchedule({ instanceId: 'qi_1', scheduleId: 'sch_1' });
      assert.deepEqual(
        items.map(({ workflowRunId }) => workflowRunId),
        [schedule?.lastRunId],
      );
    }));

  test('skips and counts a tick while the messages to its group are too large together', () =>
    withSender(async ({ runtime, clock, store }, sender) => {
      const settings = { ...SETTINGS, message: { method: 'POST', urlGroup: 'all' } };
      const payload = { body: new Uint8Array(LIMITS.maxBodyBytes), contentType: null, forwardHeaders: {} };
      await runtime.schedules.put(command({ workflowUrl: 'all', settings, payload }));
      const endpoints = Array.from({ length: 7 }, (_, n) => ({ name: null, url: `http://${n}.test/` }));
      await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints });
      clock.move(60_000);
      await settle();
      assert.equal(sender.sent.length, 0);
      assert.equal(
        (await runtime.schedules.run({ instanceId: 'qi_1', scheduleId: 'sch_1', admittedAt: null })).kind,
        'too-large',
      );
      const counts = await store.accounts.countsByDay({ instanceId: 'qi_1', fromDay: 0 });
      assert.deepEqual(
        counts.map(({ what, count }) => [what, count]),
        [['tick-body-too-large', 1]],
      );
      await runtime.urlGroups.removeEndpoints({ ...GROUP, endpoints: endpoints.slice(1).map(({ url }) => ({ url })) });
      clock.move(60_000);
      await settle();
      assert.deepEqual(
        sender.sent.map(({ url }) => url),
        ['http://0.test/'],
      );
    }));

  test('publishes to the endpoints of its group at each tick, and skips the tick if there are none', () =>
    withSender(async ({ runtime, clock }, sender) => {
      const settings = { ...SETTINGS, message: { method: 'POST', urlGroup: 'all' } };
      await runtime.schedules.put(command({ workflowUrl: 'all', settings }));
      clock.move(60_000);
      await settle();
      assert.equal(sender.sent.length, 0);
      await runtime.urlGroups.addEndpoints({ ...GROUP, endpoints: [A, B] });
      clock.move(60_000);
      await settle();
      assert.deepEqual(
        sender.sent.map(({ url, serviceHeaders }) => [url, serviceHeaders?.['Topic-Name'], serviceHeaders?.['Endpoint-Name']]),
        [
          [A.url, 'all', 'a'],
          [B.url, 'all', undefined],
        ],
      );
    }));
});
