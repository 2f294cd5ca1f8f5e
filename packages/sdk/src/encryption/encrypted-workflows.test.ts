import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { createEndpoint, type ServeOptions } from '../endpoint.js';
import { FakeServer, progress, successOf, task } from '../executor/fake-server.fixture.js';
import type { HookFailure } from '../hooks/workflow-hooks.js';
import type { FailedReply, PlannedStep, StepReply } from '../protocol.js';
import { decryptAll, sealBody, sealValue } from './envelope.js';
import { payloadEncryption } from './payload-encryption.js';

type Code = (context: WorkflowContext<unknown>) => unknown;

const [OLD, NEW] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
const encryption = payloadEncryption({ keys: [OLD ?? ''] });
const other = payloadEncryption({ keys: [NEW ?? ''] });
const opened = (value: unknown): unknown => decryptAll(encryption, value, assert.fail);

const endpointOf = (code: Code, options: ServeOptions<unknown> = {}) => createEndpoint(code, { encryption, ...options });

/** A server that has received an encrypted payload, and returns encrypted data of events and invoked runs. */
function encryptedService(payload: unknown = 'payload-marker'): FakeServer {
  const server = new FakeServer('k', sealValue(encryption, payload));
  server.outcomeOf = (plan) => {
    const outcome = successOf(plan);
    if (plan.type === 'Invoke') {
      const result = JSON.stringify(sealValue(encryption, 'invoked-marker'));
      return { workflowRunId: 'child', workflowCreatedAt: 1, state: 'succeeded', result };
    }
    if (plan.type !== 'Wait') return outcome;
    const body = sealBody(encryption, { encoding: 'utf8', data: '"event-marker"' });
    const content = { kind: 'data', contentType: 'application/json', body } as const;
    return { timeout: false, eventId: 'e', content };
  };
  return server;
}

const failed = (reply: StepReply): FailedReply => (reply.kind === 'failed' ? reply : assert.fail(JSON.stringify(reply)));

describe('an encrypted workflow', () => {
  const code: Code = async (context) => {
    const own = await context.run('own', () => 'result-marker');
    const event = await context.waitForEvent('event', 'e');
    await context.notify('notify', 'other', { note: 'notified-marker' });
    const child = await context.invoke('invoke', { workflow: 'http://app/other', payload: { note: 'sent-marker' } });
    return [context.payload, own, event.eventData, child.state === 'succeeded' && child.body, 'end-marker'];
  };
  const result = ['payload-marker', 'result-marker', 'event-marker', 'invoked-marker', 'end-marker'];

  for (const holdRuns of [true, false]) {
    it(`sends and records no plain value, ${holdRuns ? 'held between requests' : 'replayed each time'}`, async () => {
      const server = encryptedService();
      const seen: StepReply[] = [];
      const send = server.send.bind(server);
      server.send = async (endpoint, request) => {
        const reply = await send(endpoint, request);
        seen.push(reply);
        return reply;
      };
      await server.drive(endpointOf(code, { holdRuns }));
      assert.deepEqual(opened(server.result), result);
      assert.doesNotMatch(JSON.stringify([seen, server.journal, server.end]), /marker/);
      const plans = seen.flatMap((reply) => (reply.kind === 'progress' ? reply.planned : []));
      assert.match(JSON.stringify(opened(plans)), /notified-marker.*sent-marker/);
    });
  }

  it('records the steps of a checkpoint encrypted', async () => {
    const server = encryptedService();
    server.checkpoint = { maxSteps: 10, maxChars: 10_000 };
    const names = ['a', 'b', 'c'];
    const steps: Code = async (context) => {
      for (const name of names) await context.run(name, () => `${name}-marker`);
      return context.payload;
    };
    await server.drive(endpointOf(steps, { checkpoint: { maxSteps: 10 } }));
    assert.doesNotMatch(JSON.stringify(server.journal), /marker/);
    assert.deepEqual(
      server.journal.map(({ out = '' }) => opened(JSON.parse(out))),
      ['a-marker', 'b-marker', 'c-marker'],
    );
  });

  it('can invoke a workflow that has no keys', async () => {
    const server = encryptedService();
    const plain: Code = (context) =>
      context.invoke('invoke', { workflow: 'http://app/other', payload: { n: 1 }, encrypt: false });
    const [invoke] = progress(await server.deliver(endpointOf(plain), task(server, 0))).planned as readonly PlannedStep[];
    assert.ok(invoke?.type === 'Invoke');
    assert.equal(invoke.invoke.body?.data, '{"n":1}');
  });

  it('continues a run that started without encryption', async () => {
    const server = new FakeServer('k', { n: 1 });
    const steps: Code = async (context) => [context.payload, await context.run('a', () => 1), await context.run('b', () => 2)];
    await server.deliver(createEndpoint(steps), task(server, 0));
    assert.equal(server.journal[0]?.out, '1');
    server.hold = null;
    await server.drive(endpointOf(steps));
    assert.match(server.journal[1]?.out ?? '', /^\{"\$encrypted":/);
    assert.deepEqual(opened(server.result), [{ n: 1 }, 1, 2]);
  });

  it('continues with a new key while the old one is still known', async () => {
    const server = encryptedService();
    const steps: Code = async (context) => [context.payload, await context.run('a', () => 1), await context.run('b', () => 2)];
    await server.deliver(endpointOf(steps), task(server, 0));
    server.hold = null;
    const rotated = payloadEncryption({ keys: `${NEW},${OLD}` });
    await server.drive(createEndpoint(steps, { encryption: rotated }));
    const ids = server.journal.map(({ out }) => out?.split('.')[1]);
    assert.equal(new Set(ids).size, 2);
    assert.deepEqual(decryptAll(rotated, server.result, assert.fail), ['payload-marker', 1, 2]);
  });

  it('gives bytes and text of a payload to a parser as they were sent', async () => {
    const server = new FakeServer('k');
    const request = server.request(task(server, 0));
    const body = sealBody(encryption, { encoding: 'base64', data: 'AP8=' });
    const input = { body, contentType: 'image/png', headers: {} };
    const endpoint = endpointOf((context) => context.payload, { parsePayload: (raw) => [raw.text ?? null, ...raw.bytes()] });
    const { end } = progress(await server.send(endpoint, { ...request, input }));
    assert.deepEqual(opened(end?.kind === 'finished' && JSON.parse(end.result ?? '')), [null, 0, 255]);
  });
});

describe('a value that cannot be decrypted', () => {
  const seen: unknown[] = [];
  /** Continues differently after an error, so an error that is not the same on every replay would change the run. */
  const code: Code = async (context) => {
    const caught = (error: unknown) => seen.push(error);
    await context.run('own', () => 1).catch(caught);
    await context.waitForEvent('event', 'e').catch(caught);
    await context.invoke('invoke', { workflow: 'http://app/other' }).catch(caught);
    return context.run('last', () => 2);
  };

  async function upToLast(): Promise<FakeServer> {
    const server = encryptedService();
    await server.drive(endpointOf(code), ([first]) => (server.journal.length < 3 ? first : undefined)).catch(() => {});
    assert.equal(server.journal.length, 3);
    server.hold = null;
    seen.length = 0;
    return server;
  }

  for (const [what, reader, message] of [
    ['its key is missing', other, /cannot be decrypted: the key \w+ is missing/],
    ['the option is missing', undefined, /is encrypted: set the option "encryption"/],
  ] as const) {
    it(`fails the attempt and not the run if ${what}, and the code does not see the error`, async () => {
      for (const first of [0, 1, 2]) {
        const server = await upToLast();
        // The values before it are plain, as if they had been recorded before encryption was switched on.
        server.journal.splice(0, first, ...(opened(server.journal.slice(0, first)) as typeof server.journal));
        const payload = { body: { encoding: 'utf8', data: 'null' }, contentType: 'application/json', headers: {} } as const;
        const advance = [...server.tasks.values()].find(({ slot }) => slot === 0) ?? assert.fail();
        const request = { ...server.request(advance), input: payload };
        const retries: boolean[] = [];
        const hooks = [{ runFailed: ({ willRetry }: HookFailure) => void retries.push(willRetry) }];
        const endpoint = createEndpoint(code, { encryption: reader, hooks });
        for (const attempt of [1, 2]) {
          const reply = failed(await server.send(endpoint, request));
          assert.deepEqual(
            [reply.error.name, reply.retry, reply.step],
            ['DecryptionError', { kind: 'backoff' }, undefined],
            `${attempt}`,
          );
          assert.match(reply.error.message, message);
        }
        assert.deepEqual([seen, retries], [[], [true, true]]);
      }
      const server = await upToLast();
      await server.drive(endpointOf(code));
      assert.equal(opened(server.result), 2, 'another process has the key');
    });

    it(`is retried if it is the payload and ${what}`, async () => {
      const server = encryptedService();
      const reply = failed(await server.send(createEndpoint(code, { encryption: reader }), server.request(task(server, 0))));
      assert.deepEqual(reply.retry, { kind: 'backoff' });
      assert.match(reply.error.message, /^the payload /);
      await server.drive(endpointOf(code));
      assert.equal(opened(server.result), 2);
    });
  }

  const damage = (text: string): string => text.replace(/[\w-]{6}(?=\\*"\\*\})/, 'AAAAAA');

  it('is an error of its step on every replay if it was modified', async () => {
    for (const at of [0, 1, 2]) {
      const server = await upToLast();
      const entry = server.journal[at] ?? assert.fail();
      server.journal[at] = { ...entry, out: damage(entry.out ?? '') };
      // The first reply is lost.
      await server.send(endpointOf(code), server.request([...server.tasks.values()][0] ?? assert.fail()));
      await server.drive(endpointOf(code));
      assert.equal(seen.length, 2);
      for (const error of seen) assert.match(String(error), /^PayloadError: .* cannot be decrypted: it was modified/);
      assert.equal(opened(server.result), 2);
    }
  });

  it('fails the run if it is the payload and was modified', async () => {
    const server = new FakeServer('k', JSON.parse(damage(JSON.stringify(sealValue(encryption, 'payload')))));
    const reply = failed(await server.send(endpointOf(code), server.request(task(server, 0))));
    assert.deepEqual([reply.error.name, reply.retry], ['PayloadError', { kind: 'never' }]);
    assert.match(reply.error.message, /^the payload cannot be decrypted: it was modified/);
  });

  it('leaves a replay check undecided', async () => {
    const server = await upToLast();
    const { run, input } = server.request([...server.tasks.values()][0] ?? assert.fail(), 0);
    const frame = { protocol: 1, kind: 'check', run, journal: server.journal, open: [], input, limitMs: 5_000 };
    const check = async (reader: typeof other, change: object = {}) => {
      const reply = await createEndpoint(code, { encryption: reader }).workflow.answer({ ...frame, ...change });
      return reply.kind === 'checked' ? reply : assert.fail(reply.kind);
    };
    assert.equal((await check(encryption)).outcome, 'fits');
    const plain = { input: { body: { encoding: 'utf8', data: '1' }, headers: {} } };
    for (const [change, what] of [
      [{}, 'the payload'],
      [plain, 'the result of step "own"'],
    ] as const) {
      const { outcome, message } = await check(other, change);
      assert.equal(outcome, 'cannot-tell');
      assert.match(message, new RegExp(`^The check failed: ${what} cannot be decrypted: the key \\w+ is missing`));
    }
  });
});

describe('a workflow that requires encrypted payloads', () => {
  const strict = { encryption: { ...encryption, requireEncrypted: true } };
  const code: Code = (context) => context.payload ?? 'nothing';

  it('fails a run with a plain payload', async () => {
    const server = new FakeServer('k', { n: 1 });
    const reply = failed(await server.send(createEndpoint(code, strict), server.request(task(server, 0))));
    assert.deepEqual([reply.error.name, reply.retry], ['PayloadError', { kind: 'never' }]);
  });

  it('accepts an encrypted payload and an empty one', async () => {
    const server = encryptedService();
    await server.drive(createEndpoint(code, strict));
    assert.equal(opened(server.result), 'payload-marker');
    const empty = new FakeServer('k');
    const input = { body: { encoding: 'utf8', data: '' }, headers: {} } as const;
    const { end } = progress(await empty.send(createEndpoint(code, strict), { ...empty.request(task(empty, 0)), input }));
    assert.equal(opened(end?.kind === 'finished' && JSON.parse(end.result ?? '')), 'nothing');
  });
});
