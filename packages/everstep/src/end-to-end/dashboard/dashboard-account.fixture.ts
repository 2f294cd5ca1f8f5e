/** Sample data for the account pages, created through the APIs: events, limits, schedules, queues, messages, a team, an index. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AdminClient, acceptInvitation, SearchClient } from '@everstep/sdk';
import type { DashboardHarness } from './dashboard.fixture.js';

/** HTTP server that receives plain messages: `/ok` accepts them, `/down` responds with 503. */
export class Receiver {
  readonly url: string;
  /** Bodies that `/ok` has received. */
  readonly receivedBodies: string[] = [];
  private readonly server: Server;

  private constructor(server: Server) {
    this.server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(): Promise<Receiver> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const receiver = new Receiver(server);
    server.on('request', async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const isDown = request.url?.startsWith('/down') === true;
      if (!isDown) receiver.receivedBodies.push(body);
      response.writeHead(isDown ? 503 : 200, { 'content-type': 'text/plain' }).end(isDown ? 'down for repairs' : 'thanks');
    });
    return receiver;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}

export interface SeededAccount {
  readonly scheduleId: string;
  readonly indexId: string;
  readonly teamId: string;
}

export const adminOf = (harness: DashboardHarness): AdminClient =>
  new AdminClient({
    baseUrl: harness.variable('EVERSTEP_MANAGEMENT_URL'),
    email: harness.variable('EVERSTEP_ADMIN_EMAIL'),
    apiKey: harness.variable('EVERSTEP_ADMIN_API_KEY'),
  });

/** Sends a request; rejects if the server rejects it. */
export async function sendRequest(
  harness: DashboardHarness,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const response = await harness.service.request(method, path, { 'content-type': 'application/json', ...headers }, text).catch(
    // An empty response body is not JSON.
    (error: unknown) => {
      if (error instanceof SyntaxError) return { status: 200, body: null };
      throw error;
    },
  );
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
}

export async function seedAccount(harness: DashboardHarness, receiver: Receiver): Promise<SeededAccount> {
  const admin = adminOf(harness);
  const order = harness.urls['/order'];
  const { scheduleId } = await harness.client.schedules.create(order, {
    cron: '0 9 * * 1-5',
    timezone: 'Europe/Berlin',
    body: { id: 500 },
    labels: ['morning'],
  });
  await harness.client.schedules.create(order, { cron: '*/15 * * * *', scheduleId: 'quarterly', body: { id: 501 } });
  await harness.client.schedules.pause('quarterly');
  for (let id = 600; id < 603; id++)
    await harness.client.trigger(order, { body: { id }, flowControl: { key: 'imports', rate: 1, period: '3600s' } });
  await harness.client.trigger(harness.urls['/approval'], { body: { id: 7 } });
  await sendRequest(harness, 'POST', '/v2/destinations/hold', {
    origin: 'https://shop.example.com',
    reason: 'moves to a new host',
  });

  await sendRequest(harness, 'POST', '/v2/queues', { queueName: 'mail', parallelism: 2, paused: true });
  await sendRequest(harness, 'POST', '/v2/queues', { queueName: 'invoices', parallelism: 1 });
  for (let mail = 1; mail <= 3; mail++) await sendRequest(harness, 'POST', `/v2/enqueue/mail/${receiver.url}/ok`, { mail });
  const endpoints = [
    { name: 'first', url: `${receiver.url}/ok/first` },
    { name: 'second', url: `${receiver.url}/ok/second` },
  ];
  await sendRequest(harness, 'POST', '/v2/topics/partners/endpoints', { endpoints });
  await sendRequest(harness, 'POST', '/v2/publish/partners', { news: 'from the shop' });
  await sendRequest(harness, 'POST', `/v2/publish/${receiver.url}/down`, { order: 1 }, { 'upstash-retries': '0' });
  await sendRequest(
    harness,
    'POST',
    `/v2/publish/${receiver.url}/down`,
    { order: 2 },
    { 'upstash-retries': '3', 'upstash-retry-delay': '3600000' },
  );

  const team = await admin.teams.create('Shop');
  const { invitation_secret: secret = '' } = await admin.teams.members.put(team.id, 'ada@shop.example', 'dev');
  await acceptInvitation(secret, { baseUrl: harness.url });
  await admin.apiKeys.create('laptop');
  const [queue] = await admin.instances.list();
  const index = await admin.searchIndexes.create({ name: 'films', region: queue?.region ?? 'eu-central-1', type: 'payg' });
  const search = new SearchClient({ url: index.endpoint, ...(index.token === undefined ? {} : { token: index.token }) });
  await search.namespace().upsert([
    { id: 'metropolis', content: { title: 'Metropolis', plot: 'A city of workers and of thinkers' }, metadata: { year: 1927 } },
    { id: 'ada', content: { title: 'Ada', plot: 'A mathematician writes to her past' }, metadata: { year: 1997 } },
    { id: 'night-train', content: { title: 'Night train', plot: 'Two strangers in a city at night' }, metadata: { year: 1959 } },
  ]);
  return { scheduleId, indexId: index.id, teamId: team.id };
}
