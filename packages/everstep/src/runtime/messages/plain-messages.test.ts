import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Store } from '../../ports/stores/store.js';
import { type Bench, letterOf, ScriptedCaller, ScriptedSender, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';
import type { MessageCommand, PublishedMessage } from '../services/workflow-service.js';
import { commandFor, HOOK_URL, respondWith, textOf } from './plain-messages.fixture.js';

const noSteps = new ScriptedCaller(() => {
  throw new Error('unexpected step');
});

async function publish(bench: Bench, ...commands: MessageCommand[]): Promise<readonly PublishedMessage[]> {
  const outcomes = await bench.runtime.messages.publish(commands);
  return outcomes.flatMap((outcome) => {
    assert.equal(outcome.kind, 'published');
    return outcome.kind === 'published' ? outcome.messages : [];
  });
}

const statusOf = async (bench: Bench, messageId: string) =>
  (await bench.runtime.messages.find({ instanceId: 'qi_1', messageId }))?.run.status;

const countOf = async ({ store }: Bench): Promise<number> => {
  const usage = await store.accounts.usage({ instanceId: 'qi_1', fromMonth: '2000-01' });
  return usage.reduce((sum, { messages }) => sum + messages, 0);
};

describe('a plain message', () => {
  test('is sent as published, signed, with its id, and succeeds with any 2xx status', async () => {
    const sender = new ScriptedSender(() => respondWith(204));
    await withRuntime(
      noSteps,
      async (bench) => {
        const [message] = await publish(bench, commandFor('hello', { method: 'PUT' }));
        await settle();
        assert.ok(message);
        assert.equal(sender.sent.length, 1);
        const [sent] = sender.sent;
        assert.deepEqual(
          [sent?.method, sent?.url, sent?.signed, sent && textOf(sent), sent?.headers],
          ['PUT', HOOK_URL, { kind: 'message', isOwn: false }, 'hello', { 'x-a': 'b', 'content-type': 'text/plain' }],
        );
        assert.deepEqual(sent?.serviceHeaders, { 'Message-Id': message.messageId, Retried: '0', 'Caller-IP': '10.0.0.1' });
        assert.equal(await statusOf(bench, message.messageId), 'succeeded');
        assert.equal(await countOf(bench), 1, 'it counts once');
      },
      { sender },
    );
  });

  test('is retried according to its settings, counts as one, and ends as a dead letter whose failure is reported', async () => {
    const sender = new ScriptedSender(({ url }) => (url === HOOK_URL ? respondWith(500, 'broken') : respondWith(200)));
    await withRuntime(
      noSteps,
      async (bench) => {
        const failureCallback = { url: 'http://app.test/failed', headers: { 'x-f': '1' }, method: 'PUT' };
        const settings = { ...SETTINGS, maxRetries: 1, retryDelay: '1000', failureCallback };
        const [message] = await publish(bench, commandFor('hello', { settings }));
        await settle();
        assert.equal(await statusOf(bench, message?.messageId ?? ''), 'active');
        bench.clock.move(1000);
        await settle();
        const letter = await letterOf(bench);
        assert.equal(letter.responseStatus, 500);
        assert.match(letter.error, /^the message failed after 2 attempts: the endpoint returned 500/);
        assert.equal(letter.failureFunctionState, 'CALLBACK_SUCCESS');
        const sent = sender.sent.at(-1);
        assert.deepEqual([sent?.method, sent?.url], ['PUT', 'http://app.test/failed']);
        const notice = JSON.parse(sent ? textOf(sent) : '');
        assert.equal(Buffer.from(notice.body, 'base64').toString(), 'broken');
        assert.deepEqual(
          [notice.status, notice.retried, notice.maxRetries, notice.sourceMessageId, notice.dlqId, notice.callerIP],
          [500, 1, 1, message?.messageId, letter.dlqId, '10.0.0.1'],
        );
        assert.equal(await countOf(bench), 2, 'the message and its failure callback');
      },
      { sender },
    );
  });

  test('is published again as another message when its dead letter is retried', async () => {
    let status = 500;
    const sender = new ScriptedSender(() => respondWith(status));
    await withRuntime(
      noSteps,
      async (bench) => {
        const [message] = await publish(bench, commandFor('again', { method: 'PATCH' }));
        await settle();
        const { dlqId } = await letterOf(bench);
        status = 200;
        const command = { instanceId: 'qi_1', dlqIds: [dlqId], onMissing: 'fail', overrides: {} } as const;
        const outcome = await bench.runtime.deadLetters.recover({ ...command, kind: 'resume' });
        await settle();
        assert.ok(outcome.kind === 'recovered');
        const messageId = outcome.runs[0]?.workflowRunId ?? '';
        assert.match(messageId, /^msg_/);
        assert.notEqual(messageId, message?.messageId);
        assert.equal(await statusOf(bench, messageId), 'succeeded');
        const sent = sender.sent.map((one) => [one.method, textOf(one), one.serviceHeaders?.['Message-Id']]);
        assert.deepEqual(sent.at(-1), ['PATCH', 'again', messageId]);
      },
      { sender },
    );
  });

  test('is not sent before its time, and can be canceled until then', async () => {
    const sender = new ScriptedSender(() => respondWith(200));
    await withRuntime(
      noSteps,
      async (bench) => {
        const notBefore = bench.clock.now() + 5000;
        const [first, second] = await publish(bench, commandFor('1', { notBefore }), commandFor('2', { notBefore }));
        const shown = await bench.runtime.messages.find({ instanceId: 'qi_1', messageId: first?.messageId ?? '' });
        assert.deepEqual([shown?.nextAttemptAt, shown?.run.settings.message.notBefore], [notBefore, notBefore]);
        const of = { instanceId: 'qi_1', messageId: second?.messageId ?? '' };
        assert.equal((await bench.runtime.messages.cancel(of)).kind, 'canceled');
        assert.equal((await bench.runtime.messages.cancel(of)).kind, 'not-active');
        assert.equal((await bench.runtime.messages.cancel({ ...of, instanceId: 'qi_2' })).kind, 'not-found');
        bench.clock.move(5000);
        await settle();
        assert.deepEqual(sender.sent.map(textOf), ['1']);
      },
      { sender },
    );
  });

  test('with a known deduplication id is not published again, but others of its batch are', async () => {
    const sender = new ScriptedSender(() => respondWith(200));
    await withRuntime(
      noSteps,
      async (bench) => {
        const once = { deduplicationId: 'order-1' };
        const made = await publish(bench, commandFor('a', once), commandFor('b', once), commandFor('c'));
        assert.deepEqual(
          made.map(({ deduplicated }) => deduplicated),
          [false, true, false],
        );
        assert.equal(made[1]?.messageId, made[0]?.messageId);
        await settle();
        assert.deepEqual(sender.sent.map(textOf).sort(), ['a', 'c']);
      },
      { sender },
    );
  });

  test('is not listed as a run, and runs are not listed as messages', async () => {
    const sender = new ScriptedSender(() => respondWith(200));
    const flow = new ScriptedCaller(() => ({ protocol: 1, kind: 'journal-needed' }));
    await withRuntime(
      flow,
      async (bench) => {
        const notBefore = bench.clock.now() + 1000;
        await bench.trigger({ workflowUrl: HOOK_URL, notBefore });
        const [message] = await publish(bench, commandFor('x', { notBefore }));
        const page = { instanceId: 'qi_1', order: 'newest-first', after: null, horizon: null, limit: 10 } as const;
        const runs = await bench.store.listRuns({ ...page, filter: { workflowUrls: [HOOK_URL] } });
        assert.deepEqual(
          runs.items.map(({ settings }) => settings.message),
          [undefined],
        );
        const query = { instanceId: 'qi_1', filter: { hosts: ['app.test'], paths: ['/hook'] }, after: null, limit: 10 };
        const messages = await bench.runtime.messages.list(query);
        assert.deepEqual(
          messages.items.map(({ workflowRunId }) => workflowRunId),
          [message?.messageId],
        );
        assert.deepEqual(await bench.runtime.messages.cancelAll(query), { canceled: 1, next: null });
      },
      { sender },
    );
  });
});

describe('the callback of a message', () => {
  const callback = { url: 'http://app.test/called', headers: { 'x-c': '1' }, maxRetries: 0 };

  test('is notified of every response by a separate message that is counted', async () => {
    const outcomes = [respondWith(503, 'busy'), respondWith(200, 'done')];
    const sender = new ScriptedSender(({ url }) =>
      url === HOOK_URL ? (outcomes.shift() ?? respondWith(500)) : respondWith(200),
    );
    await withRuntime(
      noSteps,
      async (bench) => {
        const settings = { ...SETTINGS, maxRetries: 2, retryDelay: '1000' };
        const [message] = await publish(bench, commandFor('hello', { settings, callback }));
        await settle();
        bench.clock.move(1000);
        await settle();
        const sent = sender.sent.filter(({ url }) => url === callback.url);
        assert.deepEqual(
          sent.map((one) => {
            const { status, retried, body, sourceMessageId, sourceBody, method } = JSON.parse(textOf(one));
            const source = Buffer.from(sourceBody, 'base64').toString();
            return [
              status,
              retried,
              Buffer.from(body, 'base64').toString(),
              sourceMessageId === message?.messageId,
              source,
              method,
            ];
          }),
          [
            [503, 0, 'busy', true, 'hello', 'POST'],
            [200, 1, 'done', true, 'hello', 'POST'],
          ],
        );
        assert.deepEqual(sent[0]?.headers, { 'x-c': '1', 'content-type': 'application/json' });
        assert.notEqual(sent[0]?.serviceHeaders?.['Message-Id'], sent[1]?.serviceHeaders?.['Message-Id']);
        assert.equal(await countOf(bench), 3);
      },
      { sender },
    );
  });

  test('is not notified of an attempt without a response', async () => {
    const failure = {
      cause: 'network',
      message: 'connection refused',
      status: null,
      responseHeaders: {},
      responseBody: new Uint8Array(),
      retry: { kind: 'backoff' },
    } as const;
    const sender = new ScriptedSender(() => ({ kind: 'failure', failure }));
    await withRuntime(
      noSteps,
      async (bench) => {
        await publish(bench, commandFor('hello', { callback }));
        await settle();
        assert.equal(sender.sent.length, 1);
        assert.equal((await letterOf(bench)).responseStatus, null);
      },
      { sender },
    );
  });

  test('is created together with the response: if the batch is lost, both are repeated', async () => {
    let broken = false;
    const wrap = (store: Store): Store => ({
      ...store,
      commit: async (units) => {
        if (broken) throw new Error('the disk is full');
        return store.commit(units);
      },
    });
    const sender = new ScriptedSender(({ url }) => {
      if (url === HOOK_URL && sender.sent.length === 1) broken = true;
      return respondWith(200);
    });
    await withRuntime(
      noSteps,
      async (bench) => {
        const [message] = await publish(bench, commandFor('hello', { callback }));
        await settle();
        assert.deepEqual(
          sender.sent.map(({ url }) => url),
          [HOOK_URL],
        );
        broken = false;
        bench.clock.move(1000);
        await settle();
        assert.deepEqual(
          sender.sent.map(({ url }) => url),
          [HOOK_URL, HOOK_URL, callback.url],
        );
        assert.equal(await statusOf(bench, message?.messageId ?? ''), 'succeeded');
      },
      { sender, wrap },
    );
  });

  test('redacts the data that the message redacts', async () => {
    const sender = new ScriptedSender(() => respondWith(200));
    await withRuntime(
      noSteps,
      async (bench) => {
        const redact = { body: false, headers: ['x-a'], fields: ['card'] } as const;
        const [message] = await publish(bench, commandFor('secret', { settings: { ...SETTINGS, redact }, callback }));
        await settle();
        const { items } = await bench.runtime.messages.list({ instanceId: 'qi_1', filter: {}, after: null, limit: 10 });
        const sent = items.find(({ settings }) => settings.message.callbackOf === message?.messageId);
        // The body of the callback contains the headers, and the body of the message in Base64.
        assert.deepEqual(sent?.settings.redact, { ...redact, body: true });
      },
      { sender },
    );
  });
});

describe('what happened to messages', () => {
  test('lists events newest first, with every attempt, and never splits a message between pages', async () => {
    const outcomes = [respondWith(500), respondWith(200)];
    const sender = new ScriptedSender(() => outcomes.shift() ?? respondWith(200));
    await withRuntime(
      noSteps,
      async (bench) => {
        const start = bench.clock.now();
        const settings = { ...SETTINGS, maxRetries: 1, retryDelay: '1000' };
        const [first] = await publish(bench, commandFor('1', { settings }));
        await settle();
        bench.clock.move(1000);
        await settle();
        const [second] = await publish(bench, commandFor('2', { notBefore: start + 9000 }));
        const all = { instanceId: 'qi_1', filter: {}, order: 'newest-first', after: null, limit: 100 } as const;
        const { items, next } = await bench.runtime.messages.events(all);
        assert.equal(next, null);
        assert.deepEqual(
          items.map(({ run, state, at }) => [run.workflowRunId === first?.messageId ? 1 : 2, state, at - start]),
          [
            [2, 'CREATED', 1000],
            [1, 'DELIVERED', 1000],
            [1, 'ACTIVE', 1000],
            [1, 'RETRY', 0],
            [1, 'ERROR', 0],
            [1, 'ACTIVE', 0],
            [1, 'CREATED', 0],
          ],
        );
        assert.equal(items[0]?.nextDeliveryAt, start + 9000);
        assert.equal(items[4]?.responseStatus, 500);
        const page = await bench.runtime.messages.events({ ...all, limit: 1 });
        assert.deepEqual(
          page.items.map(({ run }) => run.workflowRunId),
          [second?.messageId],
        );
        assert.notEqual(page.next, null);
        const rest = await bench.runtime.messages.events({ ...all, after: page.next, limit: 1 });
        assert.equal(rest.items.length, 6);
        const ended = await bench.runtime.messages.events({ ...all, states: ['DELIVERED'] });
        assert.equal(ended.items.length, 1);
        const oldestFirst = { ...all, order: 'oldest-first' } as const;
        const reversed = await bench.runtime.messages.events(oldestFirst);
        assert.deepEqual(reversed.items, items.toReversed());
        const oldest = await bench.runtime.messages.events({ ...oldestFirst, limit: 1 });
        assert.deepEqual(
          oldest.items.map(({ run, state }) => [run.workflowRunId === first?.messageId ? 1 : 2, state]),
          ['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'ACTIVE', 'DELIVERED'].map((state) => [1, state]),
        );
        const newest = await bench.runtime.messages.events({ ...oldestFirst, after: oldest.next, limit: 1 });
        assert.deepEqual([newest.items, newest.next], [page.items, null]);
      },
      { sender },
    );
  });
});
