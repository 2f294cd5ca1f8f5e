import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { WorkflowContext } from '../context.js';
import { createEndpoint } from '../endpoint.js';
import type { StepReply } from '../protocol.js';
import { Execution } from './execution.js';
import { FakeServer, progress, task } from './fake-server.fixture.js';
import { HeldRuns } from './held-runs.js';

type Context = WorkflowContext<unknown>;

/** An action that ends when the test releases it. */
function gate<T>() {
  const waiting: ((value: T) => void)[] = [];
  let calls = 0;
  return {
    action: () => {
      calls++;
      return new Promise<T>((resolve) => waiting.push(resolve));
    },
    open: (value: T) => waiting.shift()?.(value),
    get calls() {
      return calls;
    },
  };
}

const aTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('a held run', () => {
  it('is not replayed: the code runs once over all its steps', async () => {
    let starts = 0;
    const server = new FakeServer('k');
    const endpoint = createEndpoint(async (context: Context) => {
      starts++;
      for (let i = 0; i < 50; i++) await context.run(`s${i}`, () => i);
    });
    await server.drive(endpoint);
    assert.equal(starts, 1);
    assert.equal(server.misses, 0);
  });

  it('serves a hundred simultaneous parallel steps from one execution', async () => {
    let starts = 0;
    const server = new FakeServer('k');
    const endpoint = createEndpoint(async (context: Context) => {
      starts++;
      const all = await Promise.all(Array.from({ length: 100 }, (_, i) => context.run(`p${i}`, () => aTurn().then(() => i))));
      return all.length;
    });
    await server.deliver(endpoint, task(server, 0));
    await Promise.all([...server.tasks.values()].map((open) => server.deliver(endpoint, open)));
    await server.drive(endpoint);
    assert.equal(server.result, 100);
    assert.equal(starts, 1);
  });

  it('is rebuilt once for parallel steps that all arrive with the whole journal', async () => {
    let starts = 0;
    const workflow = async (context: Context) => {
      starts++;
      const first = await context.run('first', () => 1);
      return Promise.all(Array.from({ length: 20 }, (_, i) => context.run(`p${i}`, () => first + i)));
    };
    const server = new FakeServer('k');
    await server.deliver(createEndpoint(workflow), task(server, 0));
    server.hold = null;
    starts = 0;
    const restarted = createEndpoint(workflow);
    const requests = [...server.tasks.values()].map((open) => ({ open, request: server.request(open) }));
    const replies = await Promise.all(requests.map(({ request }) => server.send(restarted, request)));
    for (const [i, { open, request }] of requests.entries()) server.apply(open, request, replies[i] as StepReply);
    await server.drive(restarted);
    assert.equal(starts, 1);
  });

  it('plans nothing in the reply to a request that is older than its own progress', async () => {
    const endpoint = createEndpoint(async (context: Context) => {
      const branch = async (name: string, length: number) => {
        for (let i = 1; i <= length; i++) await context.run(`${name}${i}`, () => i);
      };
      await Promise.all([branch('a', 3), branch('b', 1)]);
    });
    const server = new FakeServer('k');
    await server.deliver(endpoint, task(server, 0));
    // The request is in flight while the other branch continues, or its sender does not know about that.
    const late = { open: task(server, 2), request: server.request(task(server, 2)) };
    assert.deepEqual([late.request.known, late.request.journal.length], [3, 0]);
    await server.deliver(endpoint, task(server, 1));
    await server.deliver(endpoint, task(server, 0));
    await server.deliver(endpoint, task(server, 3));
    await server.deliver(endpoint, task(server, 0));
    assert.deepEqual([server.known, server.journal.length], [5, 2]);
    const reply = progress(await server.send(endpoint, late.request));
    assert.deepEqual([reply.done.map(({ name }) => name), reply.advanced, reply.planned], [['b1'], false, []]);
    server.apply(late.open, late.request, reply);
    await server.drive(endpoint);
    assert.equal(server.journal.length, 4);
  });

  it('keeps its execution when a step fails', async () => {
    let starts = 0;
    let attempts = 0;
    const server = new FakeServer('k');
    const endpoint = createEndpoint(async (context: Context) => {
      starts++;
      await context.run('a', () => 1);
      await context.run('flaky', () => {
        if (++attempts < 3) throw new Error('no');
        return attempts;
      });
    });
    await server.drive(endpoint);
    assert.deepEqual([starts, attempts, server.misses], [1, 3, 0]);
  });

  it('requests the journal when its worker has been replaced', async () => {
    const workflow = async (context: Context) => {
      await context.run('a', () => 1);
      return context.run('b', () => 2);
    };
    const server = new FakeServer('k');
    await server.deliver(createEndpoint(workflow), task(server, 0));
    const request = server.request(task(server, 2));
    assert.equal(request.journal.entries.length, 0);
    const other = createEndpoint(workflow);
    assert.equal((await server.send(other, request)).kind, 'journal-needed');
    await server.drive(other);
    assert.equal(server.result, 2);
  });

  it('does not continue from a result that the server did not record', async () => {
    let calls = 0;
    const seen: number[] = [];
    const server = new FakeServer('k');
    const endpoint = createEndpoint(async (context: Context) => {
      await context.run('a', () => 0);
      seen.push(await context.run('b', () => ++calls));
      return context.run('c', () => calls);
    });
    await server.deliver(endpoint, task(server, 0));
    const lost = server.request(task(server, 2));
    assert.equal(progress(await server.send(endpoint, lost)).done[0]?.out, '1');
    // The reply was lost. The server retries and still relies on what was held before.
    assert.equal((await server.send(endpoint, lost)).kind, 'journal-needed');
    server.loseAttempt(task(server, 2));
    await server.deliver(endpoint, task(server, 2));
    assert.equal(server.journal[1]?.out, '2');
    await server.drive(endpoint);
    assert.deepEqual(seen, [1, 2]);
  });

  it('does not continue from its result if another worker has recorded a different one', async () => {
    let calls = 0;
    const workflow = async (context: Context) => {
      const b = await context.run('b', () => ++calls);
      return context.run('c', () => b);
    };
    const [one, two] = [createEndpoint(workflow), createEndpoint(workflow)];
    const server = new FakeServer('k');
    const open = task(server, 0);
    await server.send(one, server.request(open));
    server.loseAttempt(open);
    await server.deliver(two, open);
    assert.equal(server.journal[0]?.out, '2');
    // The first worker still holds the run with 1 as the result of b.
    const request = server.request(task(server, 2));
    assert.equal((await server.send(one, request)).kind, 'journal-needed');
    await server.deliver(one, task(server, 2));
    assert.equal(server.result, 2);
  });

  it('does not continue from the effects of a late duplicate', async () => {
    let calls = 0;
    const server = new FakeServer('k');
    const endpoint = createEndpoint(async (context: Context) => {
      const a = await context.run('a', () => ++calls);
      return context.run('b', () => a);
    });
    const duplicated = server.request(task(server, 0));
    await server.deliver(endpoint, task(server, 0));
    assert.equal(progress(await server.send(endpoint, duplicated)).done[0]?.out, '2');
    await server.drive(endpoint);
    assert.equal(server.result, 1);
  });

  it('starts again when a request is repeated while its step runs, and the first request still receives its result', async () => {
    const { action, open } = gate<string>();
    const server = new FakeServer('k');
    const endpoint = createEndpoint((context: Context) => context.run('slow', action));
    const request = server.request(task(server, 0));
    const first = server.send(endpoint, request);
    await aTurn();
    const second = server.send(endpoint, request);
    await aTurn();
    open('one');
    const early = progress(await first);
    assert.deepEqual([early.done[0]?.out, early.advanced, early.hold], ['"one"', false, undefined]);
    open('two');
    const late = progress(await second);
    assert.deepEqual([late.done[0]?.out, late.advanced, late.end], ['"two"', true, { kind: 'finished', result: '"two"' }]);
  });

  it('does not hang on an await that never ends', async () => {
    let hangs = true;
    const server = new FakeServer('k');
    const endpoint = createEndpoint(async (context: Context) => {
      if (hangs) await new Promise(() => {});
      return context.run('a', () => 1);
    });
    const request = server.request(task(server, 0));
    void server.send(endpoint, request);
    await aTurn();
    hangs = false;
    assert.equal(progress(await server.send(endpoint, request)).end?.kind, 'finished');
  });

  it('does not continue past a step if another one was recorded while it ran', async () => {
    const slow = gate<string>();
    const server = new FakeServer('k');
    const endpoint = createEndpoint((context: Context) =>
      Promise.all([context.run('slow', slow.action), context.sleep('nap', 1)]),
    );
    await server.deliver(endpoint, task(server, 0));
    const open = task(server, 1);
    const request = server.request(open);
    const reply = server.send(endpoint, request);
    await aTurn();
    server.wake(task(server, 2));
    const moved = progress(await server.deliver(endpoint, task(server, 0)));
    assert.equal(moved.hold?.through, 1);
    slow.open('done');
    const answered = progress(await reply);
    assert.deepEqual([answered.base, answered.advanced, answered.end], [0, false, undefined]);
    server.apply(open, request, answered);
    await server.drive(endpoint);
    assert.deepEqual(server.result, ['done', null]);
  });

  it('executes nothing for a request that arrives after a later one', async () => {
    const b = gate<string>();
    const server = new FakeServer('k');
    const endpoint = createEndpoint(async (context: Context) => {
      await Promise.all([context.sleep('one', 1), context.sleep('two', 1)]);
      return context.run('b', b.action);
    });
    await server.deliver(endpoint, task(server, 0));
    server.wake(task(server, 1));
    const early = server.request(task(server, 0));
    server.wake(task(server, 2));
    void server.send(endpoint, server.request({ ...task(server, 0), messageId: 'later' }));
    await aTurn();
    const reply = progress(await server.send(endpoint, early));
    assert.deepEqual([reply.base, reply.done, reply.planned.map((step) => step.name), reply.hold?.through], [1, [], ['b'], 2]);
    assert.equal(b.calls, 1);
  });

  it('is released when the run ends', async () => {
    const server = new FakeServer('k');
    const endpoint = createEndpoint((context: Context) => context.run('a', () => 1));
    const reply = progress(await server.send(endpoint, server.request(task(server, 0))));
    assert.equal(reply.hold, undefined);
  });

  it('can be garbage-collected after it is released', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const refs: WeakRef<object>[] = [];
    const endpoint = createEndpoint(
      async (context: Context) => {
        const big = { bytes: new Uint8Array(1024) };
        refs.push(new WeakRef(big));
        await context.run('a', () => 1);
        await context.run('b', () => big.bytes.length);
      },
      { holdRuns: { max: 1 } },
    );
    for (const key of ['one', 'two']) {
      const server = new FakeServer(key);
      await server.deliver(endpoint, task(server, 0));
    }
    for (let i = 0; i < 10 && refs[0]?.deref(); i++) {
      await aTurn();
      collect();
    }
    assert.equal(refs[0]?.deref(), undefined);
    assert.ok(refs[1]?.deref(), 'the held execution is not collected');
  });
});

it('a held run does not retain the journal that it was rebuilt from', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const endpoint = createEndpoint(async (context: Context) => {
    for (let i = 0; ; i++) await context.run('step', () => i);
  });
  const out = JSON.stringify('x'.repeat(100_000));
  const heapUsed = async () => {
    await aTurn();
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await heapUsed();
  for (let i = 0; i < 100; i++) {
    const server = new FakeServer(`k${i}`);
    server.journal.push({ stepId: 1, name: 'step', type: 'Run', out });
    server.known = 2;
    assert.ok(progress(await server.send(endpoint, server.request(task(server, 0)))).hold);
  }
  const perRun = ((await heapUsed()) - before) / 100;
  assert.ok(perRun < 50_000, `${perRun} bytes are kept per run`);
});

describe('held runs', () => {
  const filled = (options: { max: number; idleMs: number }, keys: readonly string[]) => {
    let nowMs = 0;
    const held = new HeldRuns({ ...options, now: () => nowMs });
    for (const key of keys) held.put(key, new Execution(key));
    return { held, pass: (ms: number) => (nowMs += ms) };
  };

  it('are limited in number; the least recently used one is removed first', () => {
    const { held } = filled({ max: 2, idleMs: 1000 }, ['a', 'b']);
    assert.ok(held.get('a'));
    held.put('c', new Execution('c'));
    assert.deepEqual([held.get('a')?.name, held.get('b'), held.get('c')?.name], ['a', null, 'c']);
  });

  it('are removed after being idle for a while', () => {
    const { held, pass } = filled({ max: 10, idleMs: 1000 }, ['a', 'b']);
    pass(800);
    assert.ok(held.get('a'));
    pass(800);
    assert.equal(held.get('b'), null);
    assert.equal(held.size, 1);
  });

  it('are not removed while a step runs', () => {
    const { held, pass } = filled({ max: 10, idleMs: 1000 }, ['a']);
    held.get('a')?.openMessageIds.add('m1');
    pass(5000);
    assert.ok(held.get('a'));
  });

  it('drop the execution that another one replaces', () => {
    const { held } = filled({ max: 10, idleMs: 1000 }, ['a']);
    const first = held.get('a');
    held.put('a', new Execution('a2'));
    assert.equal(first?.isDropped, true);
  });
});

it('replays a journal of 10,000 steps in well under a second of CPU time', async () => {
  const workflow = async (context: Context) => {
    let sum = 0;
    for (let i = 0; i < 10_000; i++) sum += (await context.run('step', () => ({ i }))).i;
    return sum;
  };
  const server = new FakeServer('k');
  for (let i = 0; i < 10_000; i++) server.journal.push({ stepId: i + 1, name: 'step', type: 'Run', out: JSON.stringify({ i }) });
  server.known = 10_001;
  // CPU time, so that other processes on the machine do not count.
  const before = process.cpuUsage();
  const reply = progress(await server.send(createEndpoint(workflow), server.request(task(server, 0))));
  const tookMs = process.cpuUsage(before).user / 1000;
  assert.deepEqual(reply.end, { kind: 'finished', result: '49995000' });
  assert.ok(tookMs < 800, `took ${tookMs} ms`);
});
