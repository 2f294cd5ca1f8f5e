import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_JSON_DEPTH, MAX_RESULT_BYTES } from '../bounded-json.js';
import type { WorkflowContext } from '../context.js';
import { createEndpoint, type ServeOptions } from '../endpoint.js';
import { NonRetryableError, RetryAfterError } from '../errors.js';
import { FakeServer, post, replyOf, type Task } from './fake-server.fixture.js';

type Code = (context: WorkflowContext<unknown>) => unknown;

const endpointFor = (workflow: Code, options: ServeOptions<unknown> = {}) => createEndpoint(workflow, options);

async function driven(workflow: Code, options: ServeOptions<unknown> = {}): Promise<FakeServer> {
  const server = new FakeServer('k');
  await server.drive(endpointFor(workflow, options));
  return server;
}

const task = (server: FakeServer, slot: number): Task => {
  const found = server.tasks.get(slot);
  assert.ok(found, `slot ${slot} has a task`);
  return found;
};

const holdings = [{ holdRuns: true }, { holdRuns: false }] as const;

for (const options of holdings) {
  describe(`a run driven by requests, ${options.holdRuns ? 'held between them' : 'replayed each time'}`, () => {
    it('executes sequential steps in order, each once', async () => {
      const executed: string[] = [];
      const server = await driven(async (context) => {
        const one = await context.run('one', () => {
          executed.push('one');
          return { n: 1 };
        });
        await context.sleep('pause', '10s');
        const two = await context.run('two', async () => {
          executed.push('two');
          return one.n + 1;
        });
        await context.sleepUntil('later', new Date('2030-01-01T00:00:00Z'));
        return { one, two };
      }, options);
      assert.deepEqual(executed, ['one', 'two']);
      assert.deepEqual(server.result, { one: { n: 1 }, two: 2 });
      assert.deepEqual(server.journal, [
        { stepId: 1, name: 'one', type: 'Run', out: '{"n":1}' },
        { stepId: 2, name: 'pause', type: 'SleepFor' },
        { stepId: 3, name: 'two', type: 'Run', out: '2' },
        { stepId: 4, name: 'later', type: 'SleepUntil' },
      ]);
    });

    it('needs one request per sequential step and none for the end', async () => {
      const server = await driven(async (context) => {
        for (let i = 0; i < 20; i++) await context.run(`s${i}`, () => i);
      }, options);
      assert.equal(server.requests, 20);
      assert.equal(server.misses, 0);
    });

    it('plans parallel steps and resolves them in recorded order', async () => {
      const order: number[] = [];
      const server = new FakeServer('k');
      const endpoint = endpointFor(async (context) => {
        const step = (n: number) => context.run(`p${n}`, () => n).then((value) => order.push(value));
        await Promise.all([step(1), step(2), step(3)]);
        return 'all';
      }, options);
      await server.drive(endpoint, (tasks) => tasks.at(-1));
      assert.equal(server.result, 'all');
      assert.deepEqual(
        server.journal.map((entry) => entry.stepId),
        [3, 2, 1],
      );
      assert.deepEqual(order.slice(-3), [3, 2, 1]);
    });

    it('lets branches continue independently of each other', async () => {
      const server = new FakeServer('k');
      const endpoint = endpointFor(async (context) => {
        const branch = async (name: string) => {
          const a = await context.run(`${name}1`, () => `${name}a`);
          const b = await context.run(`${name}2`, () => `${a}b`);
          return context.run(`${name}3`, () => `${b}c`);
        };
        return Promise.all([branch('x'), branch('y')]);
      }, options);
      await server.drive(endpoint, (tasks) => tasks.find((open) => open.slot === 0) ?? tasks.at(-1));
      assert.deepEqual(server.result, ['xabc', 'yabc']);
    });

    it('ends a race with the first step and leaves the other open', async () => {
      const server = new FakeServer('k');
      const endpoint = endpointFor(
        (context) => Promise.race([context.run('slow', () => 'slow'), context.sleep('limit', 5).then(() => 'timed out')]),
        options,
      );
      await server.drive(endpoint, (tasks) => tasks.find((open) => open.slot !== 1));
      assert.equal(server.result, 'timed out');
    });

    it('does not execute the target if the code has ended without it', async () => {
      const server = new FakeServer('k');
      let executed = 0;
      const endpoint = endpointFor(
        (context) => Promise.race([context.run('slow', () => ++executed), context.sleep('limit', 5).then(() => 'timed out')]),
        options,
      );
      await server.deliver(endpoint, task(server, 0));
      server.wake(task(server, 2));
      const reply = await server.deliver(endpoint, task(server, 1));
      assert.ok(reply.kind === 'progress');
      assert.deepEqual([reply.done, executed], [[], 0]);
      assert.deepEqual(reply.end, { kind: 'finished', result: '"timed out"' });
    });

    it('finishes without a step, with and without a result', async () => {
      assert.equal((await driven(() => 7, options)).result, 7);
      assert.equal((await driven(() => undefined, options)).result, undefined);
    });

    it('cancels, even from one of several branches', async () => {
      const server = await driven(async (context) => {
        await Promise.all([context.run('a', () => 1), context.cancel()]);
        return 'not reached';
      }, options);
      assert.deepEqual(server.end, { kind: 'canceled' });
    });

    it('waits for an await that is not a step', async () => {
      const server = await driven(async (context) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        const a = await context.run('a', () => 1);
        await new Promise((resolve) => setTimeout(resolve, 5));
        return a + (await context.run('b', () => 2));
      }, options);
      assert.equal(server.result, 3);
      assert.equal(server.requests, 2);
    });

    it('returns the result of a step as JSON represents it, immediately and on replay', async () => {
      const server = await driven(async (context) => {
        const at: string = await context.run('date', () => new Date(0));
        const nothing = await context.run('nothing', () => {});
        return { at, nothing: nothing === undefined };
      }, options);
      assert.deepEqual(server.result, { at: '1970-01-01T00:00:00.000Z', nothing: true });
    });

    it('retries a failed step and continues', async () => {
      let attempts = 0;
      const server = await driven(async (context) => {
        return context.run('flaky', () => {
          attempts++;
          if (attempts < 3) throw new Error('not yet');
          return attempts;
        });
      }, options);
      assert.equal(server.result, 3);
    });

    it('replays a run in which a step found by the replay fails first', async () => {
      let failed = false;
      const server = await driven(async (context) => {
        await context.run('a', () => 1);
        await context.run('b', () => {
          if (!failed) {
            failed = true;
            throw new Error('once');
          }
          return 2;
        });
        return 'ok';
      }, options);
      assert.equal(server.result, 'ok');
    });
  });
}

describe('an error from a step or from the code between steps', () => {
  const cases: readonly {
    readonly name: string;
    readonly thrown: unknown;
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly retry: unknown;
    readonly message: string;
  }[] = [
    { name: 'an error', thrown: new TypeError('bad'), status: 500, retry: { kind: 'backoff' }, message: 'TypeError: bad' },
    { name: 'text', thrown: 'text', status: 500, retry: { kind: 'backoff' }, message: 'Error: text' },
    { name: 'nothing', thrown: undefined, status: 500, retry: { kind: 'backoff' }, message: 'Error: undefined' },
    { name: 'an object', thrown: { code: 7 }, status: 500, retry: { kind: 'backoff' }, message: 'Error: {"code":7}' },
    {
      name: 'NonRetryableError',
      thrown: new NonRetryableError('never'),
      status: 489,
      headers: { 'NonRetryable-Error': 'true' },
      retry: { kind: 'never' },
      message: 'NonRetryableError: never',
    },
    {
      name: 'RetryAfterError',
      thrown: new RetryAfterError('later', '1500ms'),
      status: 429,
      headers: { 'Retry-After': '2' },
      retry: { kind: 'after', delayMs: 1500 },
      message: 'RetryAfterError: later',
    },
  ];
  for (const { name, thrown, status, headers, retry, message } of cases) {
    for (const where of ['a step', 'the code']) {
      it(`${name} from ${where} is status ${status}`, async () => {
        const endpoint = endpointFor(async (context) => {
          if (where === 'the code') throw thrown;
          await context.run('breaks', () => {
            throw thrown;
          });
        });
        const server = new FakeServer('k');
        const response = await post(endpoint, server.request(task(server, 0)));
        assert.equal(response.status, status);
        for (const [header, value] of Object.entries(headers ?? {})) assert.equal(response.headers[header], value);
        const reply = replyOf(response);
        assert.ok(reply.kind === 'failed');
        assert.deepEqual(reply.retry, retry);
        assert.equal(`${reply.error.name}: ${reply.error.message}`, message);
        assert.deepEqual(reply.step, where === 'the code' ? undefined : { stepId: 1, name: 'breaks', type: 'Run' });
      });
    }
  }

  it('keeps a step when the code after it fails', async () => {
    let fail = true;
    const server = new FakeServer('k');
    const endpoint = endpointFor(async (context) => {
      const a = await context.run('a', () => 1);
      if (fail) throw new Error('between');
      return a;
    });
    const reply = await server.deliver(endpoint, task(server, 0));
    assert.ok(reply.kind === 'failed');
    assert.deepEqual(reply.done, [{ stepId: 1, name: 'a', type: 'Run', out: '1' }]);
    assert.equal(reply.step, undefined);
    fail = false;
    await server.drive(endpoint);
    assert.equal(server.result, 1);
  });

  const unrecordable: readonly (readonly [string, () => unknown])[] = [
    ['a bigint', () => 1n],
    [
      'a cycle',
      () => {
        const self: { self?: unknown } = {};
        self.self = self;
        return self;
      },
    ],
    ['a function', () => () => 1],
    ['a Map', () => new Map([[1, 2]])],
    ['nested too deeply', () => JSON.parse('['.repeat(MAX_JSON_DEPTH + 1) + ']'.repeat(MAX_JSON_DEPTH + 1))],
    ['longer than the limit in bytes', () => 'ü'.repeat(MAX_RESULT_BYTES / 2)],
  ];
  for (const [name, action] of unrecordable) {
    it(`fails immediately and names the step if its result is ${name}`, async () => {
      const server = await driven((context) => context.run('makes it', action));
      assert.equal(server.failure?.retry.kind, 'never');
      assert.match(server.failure?.error.message ?? '', /result of step "makes it" cannot be recorded/);
    });
  }

  it('fails immediately and keeps the step before if JSON cannot represent the result of the workflow', async () => {
    const server = await driven(async (context) => {
      await context.run('a', () => 1);
      return 1n;
    });
    assert.match(server.failure?.error.message ?? '', /result of the workflow/);
    assert.equal(server.journal.length, 1);
  });

  it('fails immediately if a step requests another step', async () => {
    const server = await driven((context) => context.run('outer', () => context.run('inner', () => 1)));
    assert.match(server.failure?.error.message ?? '', /"outer" requests another step: steps cannot be nested/);
  });

  it('fails immediately if a step requests another step after an await', async () => {
    const server = await driven((context) =>
      context.run('outer', async () => {
        await new Promise((resolve) => setImmediate(resolve));
        await context.run('inner', () => 1);
      }),
    );
    assert.match(server.failure?.error.message ?? '', /"outer" requests another step: steps cannot be nested/);
  });

  it('permits a step that is requested when another one has ended', async () => {
    const server = await driven(async (context) => {
      let finish = (): void => {};
      const next = new Promise<void>((resolve) => (finish = resolve)).then(() => context.run('second', () => 2));
      await context.run('first', async () => {
        await null;
      });
      finish();
      return next;
    });
    assert.equal(server.result, 2);
  });

  it('fails immediately and names the step for a malformed duration, instant or name', async () => {
    const asks: readonly Code[] = [
      (context) => context.sleep('nap', 'soon'),
      (context) => context.sleep('nap', -1),
      (context) => context.sleepUntil('nap', 1_700_000_000),
      (context) => context.sleepUntil('nap', 'never'),
    ];
    for (const ask of asks) assert.match((await driven(ask)).failure?.error.message ?? '', /^step "nap": /);
    assert.match((await driven((context) => context.run('', () => 1))).failure?.error.message ?? '', /string of 1 to 1024/);
  });

  it('the retries option only lowers the number that the run was triggered with', async () => {
    let attempts = 0;
    const server = await driven(
      (context) =>
        context.run('breaks', () => {
          attempts++;
          throw new Error('always');
        }),
      { retries: 1 },
    );
    assert.equal(attempts, 2);
    assert.equal(server.failure?.retry.kind, 'never');
  });
});

describe('a journal of other code', () => {
  const recorded: Code = async (context) => {
    await context.run('a', () => 1);
    await context.sleep('b', 1);
    await context.run('c', () => 1);
  };
  const cases: readonly (readonly [string, Code, RegExp])[] = [
    [
      'another name',
      async (context) => void (await context.run('z', () => 1)),
      /Step 1 is recorded as Run "a", but the workflow now requests Run "z"/,
    ],
    [
      'another type',
      async (context) => {
        await context.run('a', () => 1);
        await context.run('b', () => 1);
      },
      /Step 2 is recorded as SleepFor "b", but the workflow now requests Run "b"/,
    ],
    [
      'an end that is too early',
      async (context) => void (await context.run('a', () => 1)),
      /Step 2 is recorded as SleepFor "b", but the workflow now returns/,
    ],
    [
      'a cancel that is too early',
      async (context) => {
        await context.run('a', () => 1);
        await context.cancel();
      },
      /Step 2 is recorded as SleepFor "b", but the workflow now cancels/,
    ],
  ];
  for (const [name, changed, message] of cases) {
    it(`is rejected: ${name}`, async () => {
      const server = new FakeServer('k');
      const before = endpointFor(recorded);
      await server.drive(before, (tasks) => (server.journal.length < 2 ? tasks[0] : undefined)).catch(() => {});
      assert.equal(server.journal.length, 2);
      server.hold = null;
      const [open] = server.tasks.values();
      assert.ok(open);
      const response = await post(endpointFor(changed), server.request(open));
      assert.equal(response.status, 400);
      const reply = replyOf(response);
      assert.ok(reply.kind === 'refused');
      assert.equal(reply.code, 'journal-mismatch');
      assert.match(reply.message, message);
    });
  }

  it('is rejected if the target is never requested', async () => {
    const server = new FakeServer('k');
    const request = server.request(task(server, 0));
    const response = await post(
      endpointFor((context) => context.run('a', () => 1)),
      { ...request, target: 2, known: 3 },
    );
    const reply = replyOf(response);
    assert.ok(reply.kind === 'refused');
    assert.match(reply.message, /Step 2 is planned, but the workflow now waits for Run "a" \(step 1\)/);
  });

  it('waits briefly for a recorded step after an await that is not a step', async () => {
    const code: Code = async (context) => {
      const first = context.run('a', () => 1);
      await new Promise((resolve) => setTimeout(resolve, 10));
      const second = context.run('b', () => 2);
      return (await first) + (await second);
    };
    const server = new FakeServer('k');
    server.known = 3;
    server.journal.push({ stepId: 2, name: 'b', type: 'Run', out: '2' });
    const reply = await server.send(endpointFor(code), { ...server.request(task(server, 0)), target: 1 });
    assert.ok(reply.kind === 'progress');
    assert.deepEqual(reply.end, { kind: 'finished', result: '3' });
  });
});
