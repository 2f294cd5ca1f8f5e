/** Encrypted payloads with a real service: no file of its data contains a plain value, at any time of a run. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client, connect, type PayloadCipher, type ServeOptions, serve, type WorkflowContext } from '@everstep/sdk';
import { payloadEncryption } from '@everstep/sdk/encryption';
import { type StartedTestService, serveWorkflows, startTestService } from '@everstep/sdk/testing';

const [OLD = '', NEW = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
const encryption = payloadEncryption({ keys: [OLD] });
const rotated = payloadEncryption({ keys: [NEW, OLD] });
/** Part of every value in these tests. It is not part of a name, an id or an error, which are not encrypted. */
const MARKER = 'zebra-quartz';

let service: StartedTestService;
let dataDir = '';
before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'everstep-encryption-'));
  service = await startTestService({ env: { EVERSTEP_DATA_DIR: dataDir }, encryption });
});
after(async () => {
  await service?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Returns the files of the server that contain a text. */
async function filesWith(text: string): Promise<readonly string[]> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found = await Promise.all(files.map(async (file) => ((await readFile(file)).includes(text) ? [file] : [])));
  return found.flat();
}

/** Client without keys, as a person or a program that can only read the server. */
const outsider = () => new Client({ baseUrl: service.url, token: service.token });

type Payload = { readonly childUrl: string; readonly note: string };

/** Serves the workflows until the test ends. `secrets` is what the process of the app knows, and can be exchanged. */
async function serveApp(t: { after(stop: () => Promise<void>): void }, secrets: { current: PayloadCipher; broken?: boolean }) {
  const options: Pick<ServeOptions<unknown>, 'holdRuns' | 'encryption'> = {
    // A run that is not held is replayed by every request, as after a restart.
    holdRuns: false,
    encryption: {
      encrypt: (text) => secrets.current.encrypt(text),
      decrypt: (text) => secrets.current.decrypt(text),
    },
  };
  const child = serve(async (context: WorkflowContext<{ note: string }>) => {
    const seen = await context.run('child step', () => `child saw ${context.payload.note}`);
    return { seen };
  }, options);
  const parent = serve(async (context: WorkflowContext<Payload>) => {
    const { note, childUrl } = context.payload;
    const own = await context.run('own step', () => ({ own: `${note} own` }));
    const event = await context.waitForEvent<{ by: string }>('event', 'approved');
    const answer = await context.invoke<{ seen: string }>('invoke', { workflow: childUrl, payload: { note } });
    await context.run('fragile step', () => {
      if (secrets.broken) throw new Error('out of order');
    });
    return { own, by: event.eventData?.by, seen: answer.state === 'succeeded' ? answer.body.seen : null };
  }, options);
  const server = await serveWorkflows({ '/parent': parent, '/child': child });
  t.after(() => server.stop());
  return server.urls;
}

test('a run leaves no plain value in the store, from its payload to its result, also after a resume and a rotation', async (t) => {
  const secrets = { current: encryption, broken: true };
  const urls = await serveApp(t, secrets);
  const body: Payload = { childUrl: urls['/child'], note: MARKER };
  const { workflowRunId } = await service.triggerAndSettle(urls['/parent'], { body, retries: 0 });
  assert.deepEqual(await filesWith(MARKER), []);
  assert.notDeepEqual(await filesWith(workflowRunId), [], 'the files of the store were read');

  // The new key encrypts from here on. Values of the old key are read again by every replay.
  secrets.current = rotated;
  await service.client.notify({ eventId: 'approved', eventData: { by: `${MARKER} person` } });
  await service.settle();
  assert.equal(await service.stateOf(workflowRunId), 'RUN_FAILED');
  const [dead] = (await service.client.dlq.list()).messages;
  assert.ok(dead);
  assert.deepEqual(JSON.parse(dead.body ?? ''), body, 'the client decrypts the payload');

  secrets.broken = false;
  const resumed = await service.client.dlq.resume(dead.dlqId);
  await service.settle();
  const expected = { own: { own: `${MARKER} own` }, by: `${MARKER} person`, seen: `child saw ${MARKER}` };
  const read = new Client({ baseUrl: service.url, token: service.token, encryption: rotated });
  const end = await read.runs.result(resumed.workflowRunId);
  assert.deepEqual(end.workflowState === 'RUN_SUCCESS' && end.result, expected);
  const { steps } = await read.runs.get(resumed.workflowRunId);
  assert.match(JSON.stringify(steps), new RegExp(`${MARKER} own.*${MARKER} person.*child saw ${MARKER}`));

  assert.deepEqual(await filesWith(MARKER), []);
  const seen = await outsider().runs.get(resumed.workflowRunId);
  assert.doesNotMatch(JSON.stringify([seen, await outsider().dlq.list(), await outsider().runs.list()]), new RegExp(MARKER));
  const keys = new Set([...JSON.stringify(seen).matchAll(/v1\.([0-9a-f]{12})\./g)].map(([, id]) => id));
  assert.equal(keys.size, 2, 'both keys were used');
  await assert.rejects(service.client.runs.result(resumed.workflowRunId), /DecryptionError: .* the key [0-9a-f]{12} is missing/);
});

test('a process without the key fails attempts, and the run continues when one has it', async (t) => {
  const secrets = { current: encryption };
  const urls = await serveApp(t, secrets);
  const body: Payload = { childUrl: urls['/child'], note: MARKER };
  const { workflowRunId } = await service.triggerAndSettle(urls['/parent'], { body, retries: 5 });
  secrets.current = payloadEncryption({ keys: [NEW] });
  await service.client.notify({ eventId: 'approved', eventData: { by: MARKER } });
  await service.settle();
  const { steps: _steps, ...waiting } = await service.client.runs.get(workflowRunId);
  assert.match(JSON.stringify(waiting), /DecryptionError: the payload cannot be decrypted: the key [0-9a-f]{12} is missing/);
  secrets.current = rotated;
  await service.advance('1h');
  assert.equal((await outsider().runs.result(workflowRunId)).workflowState, 'RUN_SUCCESS');
});

test('a schedule and a fork keep payloads and edited results encrypted', async (t) => {
  const urls = await serveApp(t, { current: encryption });
  const { scheduleId } = await service.client.schedules.create(urls['/child'], { cron: '0 0 1 1 *', body: { note: MARKER } });
  const { workflowRunId } = await service.client.schedules.run(scheduleId);
  await service.settle();
  assert.deepEqual(await service.resultOf(workflowRunId), { seen: `child saw ${MARKER}` });
  const results = [{ stepId: 1, result: `edited ${MARKER}` }];
  const forked = await service.client.runs.fork(workflowRunId, { fromStep: 2, results });
  await service.settle();
  assert.deepEqual(await service.resultOf(forked.workflowRunId), { seen: `edited ${MARKER}` });
  assert.deepEqual(await filesWith(MARKER), []);
  assert.equal((await service.client.schedules.get(scheduleId)).body, JSON.stringify({ note: MARKER }));
  await service.client.schedules.delete(scheduleId);
});

test('a connected worker encrypts the values of its workflows', async (t) => {
  const echo = (context: WorkflowContext<{ note: string }>) => context.run('echo', () => `echo of ${context.payload.note}`);
  const { url: baseUrl, token } = service;
  const worker = connect({ app: 'shop', workflows: { echo }, baseUrl, token, encryption, drainOn: [], onProblem: () => {} });
  t.after(() => worker.close());
  await worker.connected;
  const { workflowRunId } = await service.triggerAndSettle(worker.urls.echo, { body: { note: MARKER } });
  assert.equal(await service.resultOf(workflowRunId), `echo of ${MARKER}`);
  assert.deepEqual(await filesWith(MARKER), []);
});

test('a plain payload is accepted and found in the store, but not the results that contain it', async (t) => {
  const urls = await serveApp(t, { current: encryption });
  const note = 'plain-opossum';
  const { workflowRunId } = await outsider().trigger(urls['/child'], { body: { note } });
  await service.settle();
  assert.deepEqual(await service.resultOf(workflowRunId), { seen: `child saw ${note}` });
  assert.notDeepEqual(await filesWith(note), []);
  assert.deepEqual(await filesWith(`saw ${note}`), []);
});
