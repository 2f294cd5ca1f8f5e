/** Checkpoints: steps in a row that one request executes and reports together. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { MAX_JSON_DEPTH } from '../bounded-json.js';
import type { WorkflowContext } from '../context.js';
import { createEndpoint } from '../endpoint.js';
import { NonRetryableError } from '../errors.js';
import type { JournalEntry, ProgressReply, StepReply } from '../protocol.js';
import type { WorkflowOptions } from '../served-workflow.js';
import { FakeServer, post, progress, replyOf, type Task, task } from './fake-server.fixture.js';

type Context = WorkflowContext<unknown>;
type Code = (context: Context) => unknown;

const ACCEPTED = { maxSteps: 1_000, maxChars: 1_000_000 };

/** A server that accepts several results, and an endpoint with a checkpoint of 4 steps. */
function pair(code: Code, options: WorkflowOptions<unknown> = {}) {
  const server = new FakeServer('k');
  server.checkpoint = ACCEPTED;
  const endpoint = createEndpoint(code, { checkpoint: { maxSteps: 4, maxMs: 60_000 }, ...options });
  const deliver = async (slot: number): Promise<StepReply> => server.deliver(endpoint, task(server, slot));
  return { server, endpoint, deliver };
}

/** `count` steps in a row. Each result is the number of executions of its step. */
function inARow(count: number, executed = new Map<string, number>()) {
  const code = async (context: Context) => {
    const results: number[] = [];
    for (let i = 1; i <= count; i++) results.push(await context.run(`s${i}`, () => counted(executed, `s${i}`)));
    return results;
  };
  return { code, executed };
}

function counted(executed: Map<string, number>, name: string): number {
  const times = (executed.get(name) ?? 0) + 1;
  executed.set(name, times);
  return times;
}

const ids = (reply: StepReply): readonly number[] =>
  reply.kind === 'progress' || reply.kind === 'failed' ? reply.done.map(({ stepId }) => stepId) : [];
const plans = (reply: ProgressReply): readonly string[] => reply.planned.map(({ stepId, type }) => `${stepId} ${type}`);

/** Replaces the clock of the endpoint. */
function clockOf(test: TestContext): { ms: number } {
  const clock = { ms: 0 };
  test.mock.method(performance, 'now', () => clock.ms);
  return clock;
}

for (const holdRuns of [true, false]) {
  describe(`a checkpoint, ${holdRuns ? 'held between requests' : 'replayed each time'}`, () => {
    it('reports as many steps as it allows in one reply, with the next plan and the end', async () => {
      const { code, executed } = inARow(10);
      const { server, endpoint, deliver } = pair(code, { holdRuns });
      const first = progress(await deliver(0));
      assert.deepEqual([ids(first), first.advanced, plans(first)], [[1, 2, 3, 4], true, ['5 Run']]);
      const second = progress(await deliver(5));
      assert.deepEqual([ids(second), plans(second)], [[5, 6, 7, 8], ['9 Run']]);
      const last = progress(await deliver(9));
      assert.deepEqual([ids(last), last.end?.kind], [[9, 10], 'finished']);
      assert.deepEqual(server.result, new Array(10).fill(1));
      assert.deepEqual([server.requests, server.misses, executed.size], [3, 0, 10]);
      await assert.doesNotReject(server.drive(endpoint));
    });

    it('ends at a step of the server, at parallel steps and at a cancel', async () => {
      const { server, deliver } = pair(
        async (context) => {
          await context.run('a', () => 1);
          await context.run('b', () => 1);
          await context.sleep('nap', 1);
          await context.run('c', () => 1);
          await Promise.all([context.run('d', () => 1), context.run('e', () => 1)]);
          await context.run('f', () => 1);
          await context.cancel();
        },
        { holdRuns },
      );
      const first = progress(await deliver(0));
      assert.deepEqual([ids(first), plans(first)], [[1, 2], ['3 SleepFor']]);
      server.wake(task(server, 3));
      const second = progress(await deliver(0));
      assert.deepEqual([ids(second), plans(second)], [[4], ['5 Run', '6 Run']]);
      assert.deepEqual(ids(await deliver(5)), [5]);
      assert.deepEqual(ids(await deliver(0)), []);
      const last = progress(await deliver(6));
      assert.deepEqual([ids(last), last.end], [[6, 7], { kind: 'canceled' }]);
    });

    it('keeps the results before a step that fails, and retries only that step', async () => {
      const executed = new Map<string, number>();
      const { server, deliver } = pair(
        async (context) => {
          await context.run('a', () => counted(executed, 'a'));
          await context.run('b', () => counted(executed, 'b'));
          return context.run('flaky', () => {
            const times = counted(executed, 'flaky');
            if (times < 3) throw new Error('no');
            return times;
          });
        },
        { holdRuns },
      );
      const reply = await deliver(0);
      assert.ok(reply.kind === 'failed');
      assert.deepEqual([ids(reply), reply.step], [[1, 2], { stepId: 3, name: 'flaky', type: 'Run' }]);
      assert.equal(task(server, 3).retried, 1);
      await deliver(3);
      await deliver(3);
      assert.deepEqual([server.result, server.misses], [3, 0]);
      assert.deepEqual(Object.fromEntries(executed), { a: 1, b: 1, flaky: 3 });
    });
  });
}

describe('a checkpoint', () => {
  it('reports one step in each reply to a server that does not accept more', async () => {
    const { code } = inARow(5);
    const { server, endpoint } = pair(code);
    server.checkpoint = undefined;
    await server.drive(endpoint);
    assert.deepEqual([server.requests, server.journal.length], [5, 5]);
  });

  it('is the smaller one of the app and the server', async () => {
    const { code } = inARow(6);
    const { server, deliver } = pair(code);
    server.checkpoint = { ...ACCEPTED, maxSteps: 2 };
    assert.deepEqual(ids(await deliver(0)), [1, 2]);
  });

  it('without the option, a request for more changes nothing', async () => {
    const server = new FakeServer('k');
    const replies: object[] = [];
    for (const checkpoint of [ACCEPTED, undefined]) {
      server.checkpoint = checkpoint;
      const response = await post(createEndpoint(inARow(3).code), server.request(task(server, 0)));
      const { hold: _, ...reply } = progress(replyOf(response));
      replies.push(reply);
    }
    assert.deepEqual(replies[0], replies[1]);
  });

  it('starts no step after its time has passed, and reports when each step ran', async (test) => {
    const clock = clockOf(test);
    const { deliver } = pair(
      async (context) => {
        for (let i = 1; i <= 10; i++) {
          clock.ms += 5;
          await context.run(`s${i}`, () => {
            clock.ms += 30;
          });
        }
      },
      { checkpoint: { maxSteps: 100, maxMs: 100 } },
    );
    const reply = progress(await deliver(0));
    assert.deepEqual(
      reply.done.map(({ ranMs }) => ranMs),
      [
        [5, 35],
        [40, 70],
        [75, 105],
      ],
    );
    const next = progress(await deliver(4));
    assert.deepEqual(
      [ids(next), next.done[0]?.ranMs],
      [
        [4, 5, 6],
        [0, 30],
      ],
    );
  });

  it('keeps the results before one that exceeds a limit', async () => {
    const { server, deliver } = pair(async (context) => {
      await context.run('a', () => 1);
      await context.run('b', () => JSON.parse('['.repeat(MAX_JSON_DEPTH + 1) + ']'.repeat(MAX_JSON_DEPTH + 1)));
    });
    const reply = await deliver(0);
    assert.ok(reply.kind === 'failed');
    assert.deepEqual([ids(reply), server.journal.length, reply.retry.kind], [[1], 1, 'never']);
    assert.match(reply.error.message, /step "b" cannot be recorded: it exceeds a limit: nested deeper than 256 levels/);
  });

  it('reports valid times if the clock moves backwards', async (test) => {
    const clock = clockOf(test);
    const goBack = () => {
      clock.ms -= 50;
    };
    const { deliver } = pair((context) => context.run('a', goBack));
    assert.deepEqual(progress(await deliver(0)).done[0]?.ranMs, [0, 0]);
  });

  it('rejects invalid options', () => {
    for (const checkpoint of [{ maxSteps: 0 }, { maxSteps: 1.5 }, { maxSteps: 2, maxMs: 0 }, { maxSteps: 2, maxMs: Number.NaN }])
      assert.throws(() => createEndpoint(() => 1, { checkpoint }), RangeError);
    assert.doesNotThrow(() => createEndpoint(() => 1, { checkpoint: { maxSteps: 1 } }));
  });

  it('rejects a request with a malformed limit', async () => {
    const { server, endpoint } = pair(() => 1);
    const request = { ...server.request(task(server, 0)), checkpoint: { maxSteps: -1, maxChars: 1 } };
    const reply = replyOf(await post(endpoint, request));
    assert.ok(reply.kind === 'refused');
    assert.match(reply.message, /"checkpoint" is missing or malformed/);
  });

  it('lets other work run between many steps', async () => {
    let turns = 0;
    let isDone = false;
    const { deliver } = pair(inARow(200).code, { checkpoint: { maxSteps: 200, maxMs: 60_000 } });
    const count = () => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    count();
    await deliver(0);
    isDone = true;
    assert.ok(turns >= 8, `${turns} turns`);
  });
});

describe('the attempts of steps in a checkpoint', () => {
  const attempt = { retried: 1 };

  it('do not count those of the first step, even if the code between them fails', async () => {
    for (const failing of ['step', 'code']) {
      const { server, endpoint } = pair(
        async (context) => {
          await context.run('a', () => 1);
          await context.run('b', () => 1);
          if (failing === 'code') throw new Error('between');
          await context.run('c', () => {
            throw new Error('c');
          });
        },
        { retries: 1, checkpoint: { maxSteps: 2, maxMs: 600_000 } },
      );
      await server.deliver(endpoint, task(server, 0));
      if (failing === 'code') assert.equal(server.failure, null);
      else {
        server.checkpoint = ACCEPTED;
        const reply = await server.send(endpoint, { ...server.request(task(server, 3)), ...attempt });
        assert.ok(reply.kind === 'failed' && reply.retry.kind === 'never', 'its own second attempt is its last one');
      }
    }
  });

  it('of a step that follows a step on its last attempt start from the beginning', async () => {
    const { server, endpoint } = pair(
      async (context) => {
        await context.sleep('nap', 1);
        await Promise.all([context.run('a', () => 1)]);
        await context.run('b', () => {
          throw new Error('b');
        });
      },
      { retries: 1 },
    );
    await server.deliver(endpoint, task(server, 0));
    server.wake(task(server, 1));
    const reply = await server.send(endpoint, { ...server.request(task(server, 0)), ...attempt });
    assert.ok(reply.kind === 'failed');
    assert.deepEqual([ids(reply), reply.step?.stepId, reply.retry.kind], [[2], 3, 'backoff']);
  });

  it('end immediately with a NonRetryableError, and the results before it are reported', async () => {
    const { server, endpoint } = pair(async (context) => {
      await context.run('a', () => 1);
      await context.run('b', () => {
        throw new NonRetryableError('never');
      });
    });
    const response = await post(endpoint, server.request(task(server, 0)));
    assert.equal(response.status, 489);
    const reply = replyOf(response);
    assert.ok(reply.kind === 'failed');
    assert.deepEqual([ids(reply), reply.retry.kind], [[1], 'never']);
  });
});

describe('the size of a reply with a checkpoint', () => {
  const text = (chars: number) => 'x'.repeat(chars - 2);

  it('is limited: no step starts after that many characters', async () => {
    const { server, deliver } = pair(async (context) => {
      for (let i = 0; i < 9; i++) await context.run('step', () => text(46));
    });
    // Each name and result have 50 characters together.
    server.checkpoint = { maxSteps: 1_000, maxChars: 100 };
    const reply = progress(await deliver(0));
    assert.deepEqual([ids(reply), plans(reply)], [[1, 2], ['3 Run']]);
    server.checkpoint = { maxSteps: 1_000, maxChars: 101 };
    assert.deepEqual(ids(await deliver(3)), [3, 4, 5]);
  });

  it('excludes an end or a plan that is too long; the server asks for it', async () => {
    for (const last of ['end', 'plan']) {
      const { server, deliver } = pair(async (context) => {
        await context.run('a', () => text(400));
        await context.run('b', () => text(400));
        if (last === 'plan') await context.notify('tell', 'event', text(1_000));
        return text(1_000);
      });
      server.checkpoint = { maxSteps: 1_000, maxChars: 500 };
      const first = progress(await deliver(0));
      assert.deepEqual([ids(first), first.advanced, first.planned, first.end], [[1, 2], false, [], undefined]);
      const second = progress(await deliver(0));
      assert.deepEqual([ids(second), second.planned.length, server.misses], [[], last === 'plan' ? 1 : 0, 0]);
      if (last === 'end') assert.equal(server.result, text(1_000));
    }
  });

  it('stays below the bound that the limits of the server are derived from', async () => {
    const [maxSteps, maxChars, maxResultBytes] = [500, 16 * 1024, 160 * 1024];
    const longest = () => '"'.repeat(maxResultBytes / 2 - 1);
    const { server, endpoint } = pair(
      async (context) => {
        for (let i = 0; i < 7; i++) await context.run('\u0001'.repeat(1_024), () => '€'.repeat(1_000));
        await context.run('\u0001'.repeat(1_024), longest);
        for (let i = 0; i < 400; i++) await context.run('s', () => 1);
        await context.notify('event', 'event', '\u0001'.repeat(2_600));
        return longest();
      },
      { checkpoint: { maxSteps, maxMs: 600_000 } },
    );
    server.checkpoint = { maxSteps, maxChars };
    let bytes = 0;
    const open = (): Task => [...server.tasks.values()][0] ?? assert.fail('the run has no task');
    while (!server.end) {
      const current = open();
      if (current.plan && current.plan.type !== 'Run') {
        server.wake(current);
        continue;
      }
      const request = server.request(current);
      const response = await post(endpoint, request);
      if (server.journal.length < 400) bytes = Math.max(bytes, Buffer.byteLength(response.body));
      server.apply(current, request, replyOf(response));
    }
    assert.ok(bytes > 2 * maxResultBytes && bytes <= 9 * maxChars + 2 * maxResultBytes + 256 * maxSteps, `${bytes} bytes`);
    assert.equal(server.journal.length, 409);
  });
});

describe('results of a checkpoint that are not recorded', () => {
  it('are repeated, and no others: the reply was lost', async () => {
    const { code, executed } = inARow(10);
    const { server, endpoint, deliver } = pair(code);
    await deliver(0);
    const open = task(server, 5);
    const lost = progress(await server.send(endpoint, server.request(open)));
    assert.deepEqual(ids(lost), [5, 6, 7, 8]);
    server.loseAttempt(open);
    await server.drive(endpoint);
    assert.deepEqual(server.result, [1, 1, 1, 1, 2, 2, 2, 2, 1, 1]);
    assert.equal(executed.size, 10);
  });

  it('do not reach the code after them if only some are recorded, or others', async () => {
    for (const recorded of [
      [{ stepId: 1, name: 's1', type: 'Run', out: '1' }],
      [1, 2, 3].map((stepId) => ({ stepId, name: `s${stepId}`, type: 'Run', out: '7' })),
    ] satisfies readonly JournalEntry[][]) {
      const { server, endpoint } = pair(inARow(6).code);
      const lost = progress(await server.send(endpoint, server.request(task(server, 0))));
      server.journal.push(...recorded);
      server.known = recorded.length + 1;
      server.hold = lost.hold ?? null;
      await server.drive(endpoint);
      const outs = recorded.map(({ out }) => Number(out));
      assert.deepEqual(
        server.result,
        [1, 2, 3, 4, 5, 6].map((n) => outs[n - 1] ?? (n <= 4 ? 2 : 1)),
      );
    }
  });

  it('are few if the server gives up: no further step starts when the message arrives again', async () => {
    const executed = new Map<string, number>();
    let release = (): void => {};
    const { server, endpoint } = pair(async (context) => {
      for (let i = 1; i <= 3; i++) {
        await context.run(`s${i}`, async () => {
          const times = counted(executed, `s${i}`);
          if (i === 2 && times === 1) await new Promise<void>((resolve) => (release = resolve));
          return times;
        });
      }
    });
    const request = server.request(task(server, 0));
    const first = server.send(endpoint, request);
    while (!executed.has('s2')) await new Promise((resolve) => setImmediate(resolve));
    const second = server.send(endpoint, { ...request, retried: 1 });
    assert.deepEqual(ids(await second), [1, 2, 3]);
    release();
    assert.deepEqual(ids(await first), [1, 2]);
    assert.deepEqual(Object.fromEntries(executed), { s1: 2, s2: 2, s3: 1 });
  });
});
