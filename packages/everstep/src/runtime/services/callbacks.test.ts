/** Failure callbacks and failure functions: notified of failed runs, with retries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FailureNotice } from '@everstep/sdk/protocol';
import { PART_LIMITS } from '../../config/limits.js';
import { CALLBACK_SLOT } from '../../engine/runs/run.js';
import type { MessageOutcome } from '../../ports/message-sender.js';
import type { Store } from '../../ports/stores/store.js';
import { StoreUnavailableError } from '../../ports/stores/store-unavailable.js';
import { letterOf, ScriptedCaller, ScriptedSender, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';

const INSTANCE = 'qi_1';
const ok = (body: string): MessageOutcome => ({ kind: 'response', status: 200, headers: {}, body: Buffer.from(body) });

const failing = new ScriptedCaller(({ request }) => ({
  protocol: 1,
  kind: 'failed',
  base: 0,
  done: [],
  error: { name: 'Error', message: 'boom' },
  retry: { kind: 'never' },
  ...(request.run.labels.includes('function') ? { failureFunction: true as const } : {}),
}));
const retried = new ScriptedCaller(() => ({
  protocol: 1,
  kind: 'failed',
  base: 0,
  done: [],
  error: { name: 'Error', message: 'boom' },
  retry: { kind: 'backoff' },
}));
const failureCallback = { url: 'http://app/failed', headers: { 'x-c': '1' } };

test('notifies a failure callback with a signature, and records its success', async () => {
  const sender = new ScriptedSender(() => ok(''));
  await withRuntime(
    failing,
    async (bench) => {
      const { run } = await bench.trigger({ settings: { ...SETTINGS, failureCallback } });
      await settle();
      const letter = await letterOf(bench);
      assert.equal(letter.failureFunctionState, 'CALLBACK_SUCCESS');
      const [sent] = sender.sent;
      assert.deepEqual([sent?.url, sent?.signed?.kind, sent?.headers['x-c']], ['http://app/failed', 'failure-callback', '1']);
      const notice: FailureNotice = JSON.parse(Buffer.from(sent?.body ?? '').toString());
      assert.deepEqual(
        [notice.workflowRunId, notice.dlqId, notice.url, Buffer.from(notice.sourceBody, 'base64').toString(), notice.maxRetries],
        [run.workflowRunId, letter.dlqId, 'http://app/flow', '{"n":1}', 0],
      );
      assert.deepEqual(Object.keys(notice), [
        ...['status', 'header', 'body', 'retried', 'maxRetries', 'sourceMessageId', 'url', 'method', 'sourceHeader'],
        ...['sourceBody', 'workflowRunId', 'workflowCreatedAt', 'dlqId', 'createdAt'],
      ]);
    },
    { sender },
  );
});

test('the notification contains the retries of the failed delivery, whatever its own retries are', async () => {
  let status = 500;
  const sender = new ScriptedSender(() => ({ kind: 'response', status, headers: {}, body: new Uint8Array() }));
  const settings = { ...SETTINGS, failureCallback, maxRetries: 2, retryDelay: '1000' };
  await withRuntime(
    retried,
    async (bench) => {
      await bench.trigger({ settings });
      await settle();
      for (let turn = 0; turn < 4; turn++) {
        bench.clock.move(1000);
        await settle();
      }
      status = 200;
      const { dlqId } = await letterOf(bench);
      assert.equal((await bench.runtime.failureCallbacks.retry({ instanceId: INSTANCE, dlqId })).kind, 'done');
      await settle();
      const notices = sender.sent.map(({ body }): FailureNotice => JSON.parse(Buffer.from(body ?? '').toString()));
      assert.deepEqual(
        sender.sent.map(({ serviceHeaders }) => serviceHeaders?.Retried),
        ['0', '1', '2', '0'],
      );
      assert.deepEqual(
        notices.map((notice) => [notice.retried, notice.maxRetries]),
        [
          [2, 2],
          [2, 2],
          [2, 2],
          [2, 2],
        ],
      );
    },
    { sender },
  );
});

const refusing = new ScriptedCaller(() => assert.fail());
refusing.call = async () => ({
  kind: 'failure',
  failure: {
    cause: 'http',
    message: 'no',
    status: 500,
    responseHeaders: { 'content-length': ['2'], 'set-cookie': ['a', 'b'] },
    responseBody: Buffer.from('no'),
    retry: { kind: 'never' },
  },
});

test('sends the labels as a header of the failure callback, and canonical header names in the notification', async () => {
  const sender = new ScriptedSender(() => ok(''));
  const payload = { body: Buffer.from('{}'), contentType: 'application/json', forwardHeaders: { 'x-request-id': '7' } };
  await withRuntime(
    refusing,
    async (bench) => {
      await bench.trigger({ settings: { ...SETTINGS, failureCallback, labels: ['vip', 'eu'] }, payload });
      await bench.trigger({ settings: { ...SETTINGS, failureCallback } });
      await settle();
      const [labeled, plain] = sender.sent;
      assert.equal(labeled?.serviceHeaders?.Label, 'vip,eu');
      assert.equal(plain?.serviceHeaders?.Label, undefined);
      const notice: FailureNotice = JSON.parse(Buffer.from(labeled?.body ?? '').toString());
      assert.deepEqual(notice.header, { 'Content-Length': ['2'], 'Set-Cookie': ['a', 'b'] });
      assert.deepEqual(notice.sourceHeader, { 'Content-Type': ['application/json'], 'X-Request-Id': ['7'] });
    },
    { sender },
  );
});

test('does not forward values that may be secret to a failure callback at another origin', async () => {
  const sender = new ScriptedSender(() => ok(''));
  const payload = { body: Buffer.from('{}'), contentType: null, forwardHeaders: { authorization: 'Bearer hush', 'x-a': '1' } };
  await withRuntime(
    failing,
    async (bench) => {
      for (const url of ['http://app/failed', 'http://app:81/failed', 'https://app/failed', 'http://other/failed'])
        await bench.trigger({ settings: { ...SETTINGS, failureCallback: { url, headers: {} } }, payload });
      await settle();
      const shown = sender.sent.map(({ url, body }) => {
        const { sourceHeader }: FailureNotice = JSON.parse(Buffer.from(body ?? '').toString());
        return [url, sourceHeader.Authorization?.[0], sourceHeader['X-A']?.[0]];
      });
      assert.deepEqual(shown.sort(), [
        ['http://app/failed', 'Bearer hush', '1'],
        ['http://app:81/failed', '[NOT KEPT]', '1'],
        ['http://other/failed', '[NOT KEPT]', '1'],
        ['https://app/failed', '[NOT KEPT]', '1'],
      ]);
    },
    { sender },
  );
});

const unreachable = new ScriptedCaller(() => assert.fail());
unreachable.call = async () => ({
  kind: 'failure',
  failure: {
    cause: 'network',
    message: 'nothing listens at this address',
    status: null,
    responseHeaders: {},
    responseBody: new Uint8Array(),
    retry: { kind: 'never' },
  },
});

test('without a response to the last attempt, the body of the notification contains the reason', async () => {
  const sender = new ScriptedSender(() => ok(''));
  await withRuntime(
    unreachable,
    async (bench) => {
      await bench.trigger({ settings: { ...SETTINGS, failureCallback } });
      await settle();
      const notice: FailureNotice = JSON.parse(Buffer.from(sender.sent[0]?.body ?? '').toString());
      assert.equal(notice.status, 0);
      assert.match(Buffer.from(notice.body, 'base64').toString(), /failed and is not retried: nothing listens at this address/);
    },
    { sender },
  );
});

test('a failing callback is retried by the rules of the run, and can be retried manually and canceled', async () => {
  let status = 500;
  const sender = new ScriptedSender(() => ({ kind: 'response', status, headers: {}, body: new Uint8Array() }));
  const settings = { ...SETTINGS, failureCallback, maxRetries: 1, retryDelay: '1000' };
  await withRuntime(
    failing,
    async (bench) => {
      await bench.trigger({ settings });
      await settle();
      const { dlqId } = await letterOf(bench);
      const of = { instanceId: INSTANCE, dlqId };
      assert.equal((await letterOf(bench)).failureFunctionState, 'CALLBACK_INPROGRESS');
      assert.equal((await bench.runtime.failureCallbacks.retry(of)).kind, 'not-possible');
      bench.clock.move(1000);
      await settle();
      assert.equal((await letterOf(bench)).failureFunctionState, 'CALLBACK_FAIL');
      assert.equal((await bench.runtime.failureCallbacks.cancel(of)).kind, 'not-possible');
      assert.equal((await bench.runtime.failureCallbacks.retry(of)).kind, 'done');
      await settle();
      assert.equal(sender.sent.length, 3);
      assert.equal((await bench.runtime.failureCallbacks.cancel(of)).kind, 'done');
      assert.equal((await letterOf(bench)).failureFunctionState, 'CALLBACK_CANCELED');
      bench.clock.move(10_000);
      await settle();
      assert.equal(sender.sent.length, 3);
      status = 204;
      assert.equal((await bench.runtime.failureCallbacks.retry(of)).kind, 'done');
      await settle();
      assert.equal((await letterOf(bench)).failureFunctionState, 'CALLBACK_SUCCESS');
      assert.equal((await bench.runtime.failureCallbacks.retry({ ...of, dlqId: 'dlq_none' })).kind, 'not-found');
    },
    { sender },
  );
});

test('one of two simultaneous retries sends the message again, and the other one is rejected', async () => {
  let status = 500;
  const sender = new ScriptedSender(() => ({ kind: 'response', status, headers: {}, body: new Uint8Array() }));
  await withRuntime(
    failing,
    async (bench) => {
      await bench.trigger({ settings: { ...SETTINGS, failureCallback } });
      await settle();
      const { dlqId, failureFunctionState } = await letterOf(bench);
      assert.equal(failureFunctionState, 'CALLBACK_FAIL');
      status = 200;
      const retry = () => bench.runtime.failureCallbacks.retry({ instanceId: INSTANCE, dlqId });
      const outcomes = await Promise.all([retry(), retry()]);
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['done', 'not-possible']);
      await settle();
      assert.equal(sender.sent.length, 2);
      assert.equal((await letterOf(bench)).failureFunctionState, 'CALLBACK_SUCCESS');
    },
    { sender },
  );
});

test('a failed attempt is recorded once if the response to its commit is lost, and the next attempt is made', async () => {
  let isLost = false;
  const wrap = (store: Store): Store => ({
    ...store,
    async commit(units) {
      const results = await store.commit(units);
      const isAttempt = units.some(({ guards }) => guards.some(({ kind }) => kind === 'task-open'));
      if (!isAttempt || isLost) return results;
      isLost = true;
      throw new StoreUnavailableError('the connection was lost');
    },
  });
  let status = 500;
  const sender = new ScriptedSender(() => ({ kind: 'response', status, headers: {}, body: new Uint8Array() }));
  const settings = { ...SETTINGS, failureCallback, maxRetries: 1, retryDelay: '5000' };
  await withRuntime(
    failing,
    async (bench) => {
      const { run } = await bench.trigger({ settings });
      await settle();
      assert.ok(isLost);
      for (let passedMs = 0; passedMs < 4_000; passedMs += 100) {
        bench.clock.move(100);
        await settle();
      }
      const query = { runKey: run.runKey, bounds: PART_LIMITS, from: null, slot: CALLBACK_SLOT };
      assert.equal((await bench.store.listAttempts(query)).items.length, 1);
      status = 200;
      for (let passedMs = 0; passedMs < 4_000; passedMs += 100) {
        bench.clock.move(100);
        await settle();
      }
      assert.deepEqual([sender.sent.length, (await letterOf(bench)).failureFunctionState], [2, 'CALLBACK_SUCCESS']);
    },
    { sender, wrap },
  );
});

test('a failure callback belongs to the workflow if and only if both have the same origin', async () => {
  const cases: readonly (readonly [url: string | null, kind: string, isOwn: boolean])[] = [
    ['http://app/failed', 'failure-callback', true],
    ['http://other/failed', 'failure-callback', false],
    [null, 'failure-function', true],
  ];
  for (const [url, kind, isOwn] of cases) {
    const sender = new ScriptedSender(() => ok(''));
    await withRuntime(
      failing,
      async (bench) => {
        const failureCallback = url === null ? null : { url, headers: {} };
        await bench.trigger({ settings: { ...SETTINGS, labels: ['function'], failureCallback } });
        await settle();
        assert.deepEqual(sender.sent[0]?.signed, { kind, isOwn });
      },
      { sender },
    );
  }
});

test('calls the failure function at the URL of the workflow', async () => {
  const sender = new ScriptedSender(() => ok(''));
  await withRuntime(
    failing,
    async (bench) => {
      await bench.trigger({ settings: { ...SETTINGS, labels: ['function'] } });
      await settle();
      const [sent] = sender.sent;
      assert.deepEqual([sent?.url, sent?.serviceHeaders?.['Workflow-Failure-Function']], ['http://app/flow', 'true']);
      const notice: FailureNotice = JSON.parse(Buffer.from(sent?.body ?? '').toString());
      assert.match(notice.error ?? '', /boom/);
      assert.deepEqual([notice.labels, sent?.serviceHeaders?.Label], [['function'], 'function']);
      assert.equal((await letterOf(bench)).failureFunctionState, 'CALLBACK_SUCCESS');
    },
    { sender },
  );
});
