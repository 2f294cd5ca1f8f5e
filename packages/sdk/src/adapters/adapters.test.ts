/** Each adapter in front of the same workflow, with its server, over real connections where possible. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createRequire } from 'node:module';
import { describe, it, type TestContext } from 'node:test';
import { type FastifyInstance, fastify } from 'fastify';
import { Hono } from 'hono';
import { FakeServer } from '../executor/fake-server.fixture.js';
import type { FailureNotice } from '../protocol.js';
import { serve, type WorkflowHandler } from '../serve.js';
import { sign } from '../signature/signed.fixture.js';
import { toExpressHandler } from './express.js';
import { toFastifyHandler, toFastifyPlugin } from './fastify.js';
import { toHonoHandler } from './hono.js';
import { toNextApiHandler, toNextRoute } from './nextjs.js';
import { toNodeHandler } from './node.js';

interface ExpressApp extends RequestListener {
  use(...pathAndHandlers: unknown[]): void;
  all(path: string, handler: unknown): void;
  post(path: string, ...handlers: unknown[]): void;
}
/** Express does not include types. */
interface Express {
  (): ExpressApp;
  json(options?: object): unknown;
  raw(options?: object): unknown;
  text(options?: object): unknown;
}
const express: Express = createRequire(import.meta.url)('express');

const KEY = 'sig_key';
/** Larger than the default body limits of frameworks, with characters that parsers could change. */
const PAYLOAD = { text: 'ü\u2028 "quoted" 1e3', number: 1.0, filler: 'x'.repeat(2_000_000) };

const handler = serve<typeof PAYLOAD>((context) => context.run('length', () => context.payload.filler.length));
const signedHandler = serve<typeof PAYLOAD>((context) => context.run('length', () => context.payload.filler.length), {
  signingKeys: { current: KEY },
  failureFunction: () => {},
});

interface Signed {
  readonly body: string;
  readonly headers: Record<string, string>;
}

function signedRequest(payload: object): Signed {
  const server = new FakeServer('k', payload);
  server.checkpoint = { maxSteps: 10, maxChars: 1_000_000 };
  const [open] = server.tasks.values();
  assert.ok(open);
  // Formatted with spaces that JSON serializers do not produce, so that parsing and printing again breaks the
  // signature.
  return signed(JSON.stringify(server.request(open), null, 1), { 'Svc-Workflow-Protocol': '1' });
}

function signedFailure(): Signed {
  const notice: FailureNotice = {
    status: 0,
    header: {},
    body: '',
    error: 'no response',
    retried: 0,
    maxRetries: 0,
    sourceMessageId: 'm',
    url: 'http://app/flow',
    method: 'POST',
    sourceHeader: {},
    sourceBody: '',
    workflowRunId: 'r',
    workflowCreatedAt: 1,
    dlqId: 'd',
    createdAt: 2,
  };
  return signed(JSON.stringify(notice, null, 1), { 'Svc-Workflow-Failure-Function': 'true' });
}

function signed(body: string, headers: Record<string, string>): Signed {
  const signature = sign({ key: KEY, body });
  return { body, headers: { 'Content-Type': 'application/json', 'Svc-Signature': signature, ...headers } };
}

type Send = (init: RequestInit) => Promise<Response>;

async function listening(test: TestContext, server: Server): Promise<Send> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  test.after(() => server.closeAllConnections());
  test.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  return (init) => fetch(`http://127.0.0.1:${address.port}/flow`, init);
}

const withExpress = (test: TestContext, set: (app: ExpressApp) => void) => {
  const app = express();
  set(app);
  return listening(test, createServer(app));
};

async function withFastify(test: TestContext, set: (app: FastifyInstance) => void): Promise<Send> {
  const app = fastify();
  set(app);
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  test.after(() => app.close());
  return (init) => fetch(`${address}/flow`, init);
}

const big = { limit: '10mb' };
const keepRaw = (request: { rawBody?: Buffer }, _response: unknown, bytes: Buffer) => {
  request.rawBody = bytes;
};

const signedSetups: readonly (readonly [string, (test: TestContext) => Promise<Send>])[] = [
  ['Node http', (test) => listening(test, createServer(toNodeHandler(signedHandler)))],
  ['Node http with the endpoint', (test) => listening(test, createServer(toNodeHandler(signedHandler.endpoint)))],
  ['Express under a path', (test) => withExpress(test, (app) => app.use('/flow', toExpressHandler(signedHandler)))],
  ['Express without a parser', (test) => withExpress(test, (app) => app.all('/flow', toExpressHandler(signedHandler)))],
  [
    'Express with express.raw',
    (test) =>
      withExpress(test, (app) => app.post('/flow', express.raw({ type: '*/*', ...big }), toExpressHandler(signedHandler))),
  ],
  [
    'Express with express.text',
    (test) =>
      withExpress(test, (app) => app.post('/flow', express.text({ type: '*/*', ...big }), toExpressHandler(signedHandler))),
  ],
  [
    'Express with express.json that keeps the bytes',
    (test) =>
      withExpress(test, (app) => {
        app.use(express.json({ ...big, verify: keepRaw }));
        app.all('/flow', toExpressHandler(signedHandler));
      }),
  ],
  ['Fastify with the plugin', (test) => withFastify(test, (app) => void app.register(toFastifyPlugin(signedHandler, '/flow')))],
  [
    'Fastify with the plugin beside a parser of the app',
    (test) =>
      withFastify(test, (app) => {
        app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
          done(null, JSON.parse(String(body))),
        );
        void app.register(toFastifyPlugin(signedHandler, '/flow'));
      }),
  ],
  [
    'Hono',
    async () => {
      const app = new Hono();
      app.all('/flow', toHonoHandler(signedHandler));
      return async (init) => app.request('/flow', init);
    },
  ],
  [
    'Hono after a middleware that reads the body',
    async () => {
      const app = new Hono();
      app.use(async (context, next) => {
        await context.req.text();
        await next();
      });
      app.all('/flow', toHonoHandler(signedHandler));
      return async (init) => app.request('/flow', init);
    },
  ],
  ['Next.js, app router', async () => (init) => toNextRoute(signedHandler).POST(new Request('http://app/flow', init))],
  ['Next.js, pages router', (test) => listening(test, createServer(toNextApiHandler(signedHandler)))],
];

describe('a signed request of 2 MB', () => {
  for (const [name, setUp] of signedSetups) {
    it(`is answered by ${name}`, async (test) => {
      const send = await setUp(test);
      const response = await send({ method: 'POST', ...signedRequest(PAYLOAD) });
      assert.equal(response.status, 200, await response.clone().text());
      assert.equal(response.headers.get('Svc-Workflow-Protocol'), '1');
      assert.match(response.headers.get('Content-Type') ?? '', /^application\/json/);
      assert.deepEqual((await response.json()).end, { kind: 'finished', result: '2000000' });
    });
  }
});

describe('a signed failure notice', () => {
  for (const [name, setUp] of signedSetups) {
    it(`reaches the failure function through ${name}`, async (test) => {
      const send = await setUp(test);
      const response = await send({ method: 'POST', ...signedFailure() });
      assert.equal(response.status, 200, await response.clone().text());
      assert.deepEqual(await response.json(), {});
    });
  }
});

const parsedSetups: readonly (readonly [string, (test: TestContext, served: typeof handler) => Promise<Send>])[] = [
  [
    'Express with express.json',
    (test, served) =>
      withExpress(test, (app) => {
        app.use(express.json(big));
        app.all('/flow', toExpressHandler(served));
      }),
  ],
  [
    'Fastify with its own parser',
    (test, served) => withFastify(test, (app) => void app.post('/flow', { bodyLimit: 1e7 }, toFastifyHandler(served))),
  ],
];

describe('a body that was already parsed', () => {
  for (const [name, setUp] of parsedSetups) {
    it(`is accepted if signatures are not checked: ${name}`, async (test) => {
      const send = await setUp(test, handler);
      const response = await send({ method: 'POST', ...signedRequest(PAYLOAD) });
      assert.deepEqual((await response.json()).end, { kind: 'finished', result: '2000000' });
    });

    it(`is rejected with instructions if signatures are checked: ${name}`, async (test) => {
      const send = await setUp(test, signedHandler);
      const response = await send({ method: 'POST', ...signedRequest(PAYLOAD) });
      assert.equal(response.status, 401);
      assert.match((await response.json()).error.message, /parsed before it reached this endpoint/);
    });
  }
});

describe('other requests', () => {
  it('each adapter responds to a GET with 405', async (test) => {
    for (const [name, setUp] of signedSetups) {
      // Express itself responds for routes that accept only POST.
      if (/express\.(raw|text)/.test(name)) continue;
      const send = name.includes('app router')
        ? () => toNextRoute(handler).GET(new Request('http://app/flow'))
        : await setUp(test);
      assert.equal((await send({ method: 'GET' })).status, 405, name);
    }
  });

  it('an aborted request leaves the server working', async (test) => {
    const send = await listening(test, createServer(toNodeHandler(handler)));
    const control = new AbortController();
    const body = new ReadableStream({
      pull(stream) {
        stream.enqueue(new TextEncoder().encode('{'));
        control.abort();
      },
    });
    const init = { method: 'POST', body, duplex: 'half', signal: control.signal } as RequestInit;
    await assert.rejects(send(init));
    const response = await send({ method: 'POST', ...signedRequest(PAYLOAD) });
    assert.equal(response.status, 200);
  });
});

describe('a request that its client has closed', () => {
  /** Longer than a group of steps takes on any machine. */
  const NO_LIMIT_MS = 600_000;
  /** Executes two steps together, unless the request is closed during the first one. */
  const twoSteps = (during: () => Promise<void>, executed: string[]) =>
    serve(
      async (context) => {
        await context.run('first', () => {
          executed.push('first');
          return during();
        });
        return context.run('second', () => void executed.push('second'));
      },
      { checkpoint: { maxSteps: 2, maxMs: NO_LIMIT_MS }, holdRuns: false },
    );
  const init = (signal?: AbortSignal) => ({ method: 'POST', ...signedRequest(PAYLOAD), ...(signal ? { signal } : {}) });

  const overConnections: readonly (readonly [string, (handler: WorkflowHandler) => RequestListener])[] = [
    ['Node http', (handler) => toNodeHandler(handler)],
    [
      'Express',
      (handler) => {
        const app = express();
        app.all('/flow', toExpressHandler(handler));
        return app;
      },
    ],
    [
      'Fastify',
      (handler) => {
        const app = fastify();
        void app.register(toFastifyPlugin(handler, '/flow'));
        return (request, response) => void app.ready(() => app.routing(request, response));
      },
    ],
  ];
  for (const [name, listenerOf] of overConnections)
    it(`ends the group of steps with ${name}`, async (test) => {
      const [control, executed] = [new AbortController(), [] as string[]];
      const closing = new EventEmitter();
      const closed = once(closing, 'closed');
      const during = async () => {
        control.abort();
        await closed;
      };
      const server = createServer(listenerOf(twoSteps(during, executed)));
      server.on('connection', (socket) => socket.on('close', () => closing.emit('closed')));
      const send = await listening(test, server);
      await assert.rejects(send(init(control.signal)), { name: 'AbortError' });
      await closed;
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(executed, ['first']);
    });

  it('differs from an open request, whose group continues', async () => {
    const executed: string[] = [];
    await toNextRoute(twoSteps(async () => {}, executed)).POST(new Request('http://app/flow', init()));
    assert.deepEqual(executed, ['first', 'second']);
  });

  it('ends the group of steps with Hono', async () => {
    const [control, executed] = [new AbortController(), [] as string[]];
    const app = new Hono();
    app.all('/flow', toHonoHandler(twoSteps(async () => control.abort(), executed)));
    await app.request('/flow', init(control.signal));
    assert.deepEqual(executed, ['first']);
  });
});
