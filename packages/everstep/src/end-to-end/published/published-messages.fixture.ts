/** The unmodified published messaging client with a server on a virtual clock, and the endpoints that receive its messages. */
import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type StartedTestService, startTestService } from '@everstep/sdk/testing';
import { Client, Receiver } from '@upstash/qstash';
import { carryToken } from '../../dialects/upstash/index.js';

export interface Delivery {
  /** Path of the request with its query. */
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Number of concurrent requests at the same path, including this one. */
  readonly concurrentCount: number;
}

export interface Reply {
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
/** Response of a path to its deliveries; `nth` counts from 1. */
export type Responder = (delivery: Delivery, nth: number) => Reply | Promise<Reply>;

/** Endpoints that record deliveries. They respond with 200 unless configured otherwise. */
export class Endpoints {
  readonly deliveries: Delivery[] = [];
  private readonly responders = new Map<string, Responder>();
  private readonly inFlight = new Map<string, number>();
  private readonly server: Server;
  private waiters: (() => void)[] = [];

  constructor() {
    this.server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const path = request.url ?? '';
      const { pathname } = new URL(path, 'http://x');
      const concurrentCount = (this.inFlight.get(pathname) ?? 0) + 1;
      this.inFlight.set(pathname, concurrentCount);
      const { headers, method = '' } = request;
      const delivery: Delivery = { path, method, headers, body: Buffer.concat(chunks).toString(), concurrentCount };
      this.deliveries.push(delivery);
      for (const wake of this.waiters.splice(0)) wake();
      const nth = this.at(pathname).length;
      const reply: Reply = await (this.responders.get(pathname) ?? (() => ({})))(delivery, nth);
      this.inFlight.set(pathname, (this.inFlight.get(pathname) ?? 1) - 1);
      response.writeHead(reply.status ?? 200, reply.headers).end(reply.body ?? '');
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  url(path: string): string {
    const { port } = this.server.address() as AddressInfo;
    return `http://127.0.0.1:${port}${path}`;
  }

  when(path: string, respond: Responder): string {
    this.responders.set(path, respond);
    return this.url(path);
  }

  /** Returns the deliveries to a path, ignoring their query. */
  at(path: string): Delivery[] {
    return this.deliveries.filter((delivery) => new URL(delivery.path, 'http://x').pathname === path);
  }

  bodiesAt(path: string): string[] {
    return this.at(path).map(({ body }) => body);
  }

  /** Resolves when the path has received this many deliveries. */
  async waitForDeliveries(path: string, count: number): Promise<void> {
    while (this.at(path).length < count) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export interface Harness {
  readonly service: StartedTestService;
  readonly endpoints: Endpoints;
  readonly client: Client;
  readonly receiver: Receiver;
  /** Sends a request without the client. */
  request(method: string, path: string, init?: RequestInit): Promise<Response>;
  stop(): Promise<void>;
}

export async function openHarness(): Promise<Harness> {
  const service = await startTestService();
  const endpoints = new Endpoints();
  await endpoints.listen();
  const token = carryToken({ instanceId: 'anybody', token: service.token });
  return {
    service,
    endpoints,
    client: new Client({ baseUrl: service.url, token, retry: false }),
    receiver: new Receiver({ currentSigningKey: service.signingKeys.current, nextSigningKey: service.signingKeys.next }),
    request: (method, path, init = {}) =>
      fetch(`${service.url}${path}`, { method, ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } }),
    async stop() {
      await service.stop();
      await endpoints.close();
    },
  };
}

/** Returns the only element. */
export function only<Item>(items: readonly Item[]): Item {
  const [item] = items;
  assert.equal(items.length, 1);
  assert.ok(item !== undefined);
  return item;
}

/** Returns a promise and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
