/** Runs the example of docs/guides/moving-from-upstash.md, and apps that serve two services at once. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client as MessageClient, Receiver } from '@upstash/qstash';
import { Client, serve } from '@upstash/workflow';
import { endOf, eventually, resultOf, serveApp, startService } from '../published/published-sdk.fixture.js';
import { ServerProcess } from '../service-process.fixture.js';
import { thirdParty } from './example-servers.fixture.js';

const service = await startService();
// The app reads the address of the server from the environment when it is imported.
const { app, confirm, unreachable, welcome } = await import('@everstep/example-guides/moving-from-upstash');
const client = new Client({ baseUrl: process.env.QSTASH_URL ?? '', token: process.env.QSTASH_TOKEN ?? '' });
const server = await serveApp({ after }, (request) => app.fetch(request));

const clientOf = ({ env }: ServerProcess): Client =>
  new Client({ baseUrl: env.get('QSTASH_URL') ?? '', token: env.get('QSTASH_TOKEN') ?? '' });

test('moving: an unchanged app runs its workflow', async (t) => {
  const mail = await thirdParty(t, () => ({ status: 200, body: {} }));
  const signup = { email: 'ada@w.test', mailUrl: mail.url };
  const workflowRunId = await welcome(client, `${server.origin}/welcome`, signup);
  await eventually(() => confirm(client, 'ada@w.test', 'noon'));
  assert.deepEqual(await resultOf(service, workflowRunId), { id: 'customer of ada@w.test', confirmed: { at: 'noon' } });
  assert.deepEqual(mail.requests[0]?.json(), { to: 'ada@w.test', plan: 'trial' });
  assert.equal(
    server.received.filter((path) => path === '/welcome').length,
    7,
    'one delivery each: the plan of the group, its two steps, the sleep, the call, the wait and the end',
  );
});

test('moving: a failed run calls its failure function and is in the dead letter queue', async (t) => {
  const mail = await thirdParty(t, () => ({ status: 503, body: {} }));
  const signup = { email: 'bob@w.test', mailUrl: mail.url };
  const workflowRunId = await welcome(client, `${server.origin}/welcome`, signup);
  assert.equal((await endOf(service, workflowRunId)).workflowState, 'RUN_FAILED');
  await eventually(() => unreachable.includes('bob@w.test'));
  const [entry] = (await client.dlq.list({ filter: { workflowRunId } })).messages;
  assert.match(entry?.responseBody ?? '', /mail API returned status 503/);
});

/** Returns the variables of a server with the region prefix that an app of several regions reads. */
function asRegion(region: string, { env }: ServerProcess): Readonly<Record<string, string | undefined>> {
  const names = ['QSTASH_URL', 'QSTASH_TOKEN', 'QSTASH_CURRENT_SIGNING_KEY', 'QSTASH_NEXT_SIGNING_KEY'];
  return Object.fromEntries(names.map((name) => [`${region}_${name}`, env.get(name)]));
}

test('moving: one endpoint accepts deliveries of two services in different regions', async (t) => {
  const other = await ServerProcess.create({ EVERSTEP_REGION: 'us-east-1' });
  t.after(() => other.dispose());
  await other.start();
  const { handler } = serve(
    async (context) => {
      const name = await context.run('name', () => `for ${String(context.requestPayload)}`);
      return context.run('again', () => name);
    },
    { env: { QSTASH_REGION: 'US_EAST_1', ...asRegion('US_EAST_1', other), ...asRegion('EU_CENTRAL_1', service) } },
  );
  const both = await serveApp(t, (request) => handler(request));
  const [ofNew, ofOld] = await Promise.all([
    client.trigger({ url: both.origin, body: 'the new service' }),
    clientOf(other).trigger({ url: both.origin, body: 'the old service' }),
  ]);
  assert.equal(await resultOf(service, ofNew.workflowRunId), 'for the new service');
  assert.equal(await resultOf(other, ofOld.workflowRunId), 'for the old service');
});

test('moving: an app with the keys of another server refuses deliveries, and the run shows the error', async (t) => {
  const other = await ServerProcess.create();
  t.after(() => other.dispose());
  await other.start();
  const refusing = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await clientOf(other).trigger({ url: `${refusing.origin}/welcome`, body: {}, retries: 0 });
  const { workflowState, error } = await endOf(other, workflowRunId);
  assert.equal(workflowState, 'RUN_FAILED');
  assert.match(error ?? '', /Failed to verify/);
});

test('moving: an endpoint with an explicit client and receiver works beside one configured by the environment', async (t) => {
  const other = await ServerProcess.create();
  t.after(() => other.dispose());
  await other.start();
  const of = (name: string): string => other.env.get(name) ?? '';
  const { handler } = serve(async (context) => context.run('name', () => `explicit: ${String(context.requestPayload)}`), {
    qstashClient: new MessageClient({ baseUrl: of('QSTASH_URL'), token: of('QSTASH_TOKEN') }),
    receiver: new Receiver({
      currentSigningKey: of('QSTASH_CURRENT_SIGNING_KEY'),
      nextSigningKey: of('QSTASH_NEXT_SIGNING_KEY'),
    }),
  });
  const explicit = await serveApp(t, (request) => handler(request));
  const { workflowRunId } = await clientOf(other).trigger({ url: explicit.origin, body: 'ada' });
  assert.equal(await resultOf(other, workflowRunId), 'explicit: ada');
});

test('moving: a wrong token and an unknown protocol version are refused with a reason', async () => {
  const wrong = new Client({ baseUrl: process.env.QSTASH_URL ?? '', token: 'of another server' });
  await assert.rejects(wrong.logs(), (error: Error & { status?: number }) => error.status === 401 && /token/.test(error.message));
  const response = await fetch(`${process.env.QSTASH_URL}/v2/trigger/${server.origin}/welcome`, {
    method: 'POST',
    headers: { authorization: `Bearer ${process.env.QSTASH_TOKEN}`, 'upstash-workflow-sdk-version': '0' },
  });
  assert.equal(response.headers.get('upstash-error-code'), 'bad-header');
  assert.match(await response.text(), /version \\"0\\" of the step protocol.*upgrade/);
});
