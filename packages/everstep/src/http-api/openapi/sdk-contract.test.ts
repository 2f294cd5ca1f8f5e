/** The clients of the SDK have a call for each operation, and send request bodies that the contract accepts. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  AdminClient,
  Client,
  type DocumentChoice,
  type DocumentParts,
  type DocumentsById,
  type MemberRole,
  type NewInstance,
  type NewSearchIndex,
  type RepairAction,
  type RepairPlanOptions,
  type RepairStartOptions,
  SearchClient,
} from '@everstep/sdk';
import type { Static } from 'typebox';
import { apiKeyOf, emailOf } from '../../accounts/people.fixture.js';
import type * as Repairs from '../../contract/repairs.js';
import type * as Search from '../../contract/search.js';
import { MANAGEMENT_OPERATIONS } from '../management/index.js';
import type { Operation } from '../operation.js';
import { OPERATIONS } from '../operations/index.js';
import { SEARCH_OPERATIONS } from '../search/index.js';
import { PathTable } from '../server/routing.js';
import { REGION, TestObjects } from '../testing/isolation-objects.js';

/** Ignores whether a field is read-only. */
type Read<T> = T extends readonly (infer Each)[]
  ? readonly Read<Each>[]
  : T extends object
    ? { readonly [Name in keyof T]: Read<T[Name]> }
    : T;
type Accepted<Sent extends Read<Body>, Body> = Sent;

/** Request bodies whose types are not generated. The compiler rejects a type that the contract does not accept. */
export type Requests = [
  Accepted<DocumentsById & DocumentParts, Static<typeof Search.FetchBody>>,
  Accepted<DocumentChoice, Static<typeof Search.DeleteBody>>,
  Accepted<RepairPlanOptions & { readonly action: RepairAction }, Repairs.PlanRepair>,
  Accepted<RepairStartOptions, Repairs.StartRepair>,
];

let objects: TestObjects;
before(async () => {
  objects = await TestObjects.open();
});
after(() => objects.harness.close());

/** Sends requests to the API in this process, validates the responses and records the operations. */
function fetchNoting(operations: readonly Operation[], noted: Set<string>): typeof fetch {
  const table = new PathTable(operations);
  return async (input, init) => {
    const asked = new Request(input, init);
    const { pathname, search } = new URL(asked.url);
    const found = table.operationsAt(pathname).find(({ operation }) => operation.method === asked.method);
    noted.add(found?.operation.operationId ?? `${asked.method} ${pathname}`);
    const payload = await asked.text();
    const { status, headers, body } = await objects.harness.send<unknown>({
      method: found?.operation.method ?? assert.fail(`no operation takes ${asked.method} ${pathname}`),
      url: `${pathname}${search}`,
      headers: Object.fromEntries(asked.headers),
      ...(payload === '' ? {} : { payload }),
    });
    const isText = headers['content-type'] === 'application/x-ndjson';
    return new Response(isText ? String(body) : JSON.stringify(body), { status });
  };
}

const idsOf = (operations: readonly Operation[], access: Operation['access']): readonly string[] =>
  operations
    .filter((operation) => operation.access === access)
    .map(({ operationId }) => operationId)
    .toSorted();

test('the AdminClient has a call for every operation of the management API', async () => {
  const noted = new Set<string>();
  const as = (person: 'owner' | 'operator' | 'stranger') =>
    new AdminClient({
      baseUrl: 'http://everstep.test',
      email: emailOf(person),
      apiKey: apiKeyOf(person),
      fetch: fetchNoting(MANAGEMENT_OPERATIONS, noted),
    });
  const admin = as('owner');
  const { teamId } = objects.people;

  const { accounts } = await admin.account();
  assert.ok(accounts.some(({ id }) => id === teamId));
  const key = await admin.apiKeys.create('further');
  assert.ok((await admin.apiKeys.list()).some(({ id }) => id === key.id));
  await admin.apiKeys.revoke(key.id);

  const team = await admin.teams.create('made');
  assert.ok((await admin.teams.list()).some(({ id }) => id === team.id));
  const roles: readonly MemberRole[] = ['admin', 'dev', 'finance'];
  const invite = (email: string) => admin.teams.members.put(team.id, email, 'dev');
  await admin.teams.invitations.revoke((await invite('other@w.test')).id);
  const { invitation_secret: secret = '' } = await invite(emailOf('stranger'));
  assert.equal((await admin.teams.invitations.list(team.id)).length, 1);
  assert.equal((await as('stranger').teams.invitations.join(secret)).team_id, team.id);
  for (const role of roles) assert.equal((await admin.teams.members.put(team.id, emailOf('stranger'), role)).member_role, role);
  assert.equal((await admin.teams.members.list(team.id)).length, 2);
  await admin.teams.members.remove(team.id, emailOf('stranger'));
  await admin.teams.delete(team.id);

  const { users } = as('operator');
  const stranger = (await users.page()).users.find(({ email }) => email === emailOf('stranger'))?.id ?? '';
  await users.disable(stranger);
  await users.enable(stranger);
  await users.grantOperator(stranger);
  await users.revokeOperator(stranger);
  const [first] = await users.apiKeys(stranger);
  await users.revokeApiKeys(stranger, first?.id);
  await users.revokeApiKeys(stranger);
  await users.endSessions(stranger);
  const identityId = await objects.identityOf(stranger);
  assert.deepEqual(
    (await users.identities(stranger)).map(({ id }) => id),
    [identityId],
  );
  await users.unlinkIdentity(stranger, identityId);
  assert.match((await users.createRecoveryLink(stranger)).recovery_secret, /^rec_/);
  await users.delete(stranger);

  assert.equal((await as('operator').logLevel()).configured_level, 'info');
  assert.equal((await as('operator').setLogLevel('warn')).level, 'warn');

  const request: Required<NewInstance> = { name: 'q', region: REGION, teamId };
  const queue = await admin.instances.create(request);
  assert.ok((await admin.instances.list()).some(({ id }) => id === queue.id));
  assert.notEqual((await admin.instances.rotateTokens(queue.id)).token, queue.token);
  const token = await admin.tokens.create(queue.id, { name: 'n', scopes: ['read'], expiresIn: '1h' });
  const next = await admin.tokens.rotate(queue.id, token.id);
  await admin.tokens.revoke(queue.id, next.id);
  assert.deepEqual((await admin.tokens.list(queue.id)).map(({ name }) => name).slice(-2), ['n', 'n']);
  await admin.instances.moveToTeam(queue.id, teamId);
  await admin.instances.updateBudget(queue.id, 20);
  await admin.instances.setBudgetAlert(queue.id, 'http://w.test/alert');
  await as('operator').instances.setPlan(queue.id, (await admin.instances.plans())[0]?.name ?? '');
  assert.equal((await admin.instances.get(queue.id)).budget, 20);
  assert.equal((await admin.instances.stats(queue.id, { period: '1d' })).budget, 20);
  assert.equal((await admin.instances.usage(queue.id, { days: 7 })).days.length, 7);
  await as('operator').instances.setAllowedDestinations(queue.id, ['10.0.0.5:8080']);
  await admin.instances.setOutboundRules(queue.id, { deny: ['*.w.test'], only: null });
  const rules = { id: queue.id, allow: ['10.0.0.5:8080'], deny: ['*.w.test'], only: null };
  assert.deepEqual(await admin.instances.outboundRules(queue.id), rules);
  await as('operator').instances.delete(queue.id, { confirm: request.name });

  const login = { email: emailOf('owner'), apiKey: apiKeyOf('owner'), address: '' };
  for (let n = 0; n < 2; n++) assert.equal((await objects.harness.accounts.beginSession(login)).kind, 'in');
  const [session] = await admin.sessions.list();
  assert.equal(session?.current, false);
  await admin.sessions.end(session.id);
  assert.equal(await admin.sessions.endAll(), 1);

  const wanted: Required<NewSearchIndex> = { name: 's', region: REGION, type: 'fixed', teamId };
  const index = await admin.searchIndexes.create(wanted);
  assert.ok((await admin.searchIndexes.list()).some(({ id }) => id === index.id));
  await admin.searchIndexes.rename(index.id, 'renamed');
  await admin.searchIndexes.moveToTeam(index.id, teamId);
  assert.notEqual((await admin.searchIndexes.rotateTokens(index.id)).token, index.token);
  assert.equal((await admin.searchIndexes.get(index.id)).name, 'renamed');
  assert.equal((await admin.searchIndexes.stats(index.id)).document_count, 0);
  assert.equal((await admin.searchIndexes.totals()).index_count, 1);
  await admin.searchIndexes.delete(index.id);

  const page = await admin.auditLog({ count: 1 });
  assert.equal((await admin.auditLog({ cursor: page.cursor, count: 1 })).auditlogs.length, 1);
  await assert.rejects(admin.auditLog({ all: true }), { status: 403 });
  const operator = as('operator');
  assert.ok((await operator.auditLog({ all: true, count: 1 })).cursor);
  const [line] = await operator.audit.exportPage({ count: 1, from: 0, to: new Date() });
  assert.ok(line);
  const verified = await operator.audit.verify({ known: `${line.seq}:${line.hash}` });
  assert.deepEqual([verified.faults, verified.known], [[], 'found']);

  assert.deepEqual([...noted].toSorted(), idsOf(MANAGEMENT_OPERATIONS, 'account'));
});

test('the SearchClient has a call for every operation of a search index', async () => {
  const noted = new Set<string>();
  const { endpoint, token } = await objects.index();
  const index = new SearchClient({ url: endpoint, token: token ?? '', fetch: fetchNoting(SEARCH_OPERATIONS, noted) });
  const stored = { id: 'a', content: { title: 'Alien' }, metadata: { seen: true } };
  for (const name of ['', 'a b', 'ü/ß?#']) {
    const documents = index.namespace(name);
    await documents.upsert(stored);
    await documents.upsert([{ id: 7, content: {}, metadata: null }]);
    const [found] = await documents.search({ query: 'alien', topK: 1, filter: 'title = "Alien"', includeMetadata: false });
    assert.deepEqual([found?.id, found?.content, found?.metadata], ['a', stored.content, undefined]);
    assert.deepEqual(await documents.fetch({ ids: ['a', 'b'] }), [stored, null]);
    assert.deepEqual(await documents.fetch({ prefix: 'a' }, { includeData: false }), [{ id: 'a', metadata: stored.metadata }]);
    const page = await documents.range({ limit: 1, prefix: '', includeData: true, includeMetadata: true });
    assert.deepEqual(page.vectors, [{ id: '7', content: {} }]);
    assert.deepEqual((await documents.range({ limit: 1, cursor: page.nextCursor })).vectors, [stored]);
    assert.equal(await documents.delete({ filter: 'title = "Alien"' }), 1);
    assert.equal(await documents.delete({ ids: [7] }), 1);
    assert.equal(await documents.delete({ prefix: 'x' }), 0);
  }
  assert.deepEqual(await index.namespaces(), ['', 'a b', 'ü/ß?#']);
  await index.namespace('a b').reset();
  await index.deleteNamespace('a b');
  await index.reset();
  assert.equal((await index.info()).vectorCount, 0);
  assert.deepEqual([...noted].toSorted(), idsOf(SEARCH_OPERATIONS, 'index'));
});

test('the Client has a call for every operation on repairs', async () => {
  const noted = new Set<string>();
  const client = new Client({
    baseUrl: 'http://everstep.test',
    token: objects.harness.token,
    fetch: fetchNoting(OPERATIONS, noted),
  });
  const dlqIds = [await objects.deadLetter(), await objects.deadLetter()];
  const { repairId, counts } = await client.repairs.plan('resume', { filter: { dlqIds }, overrides: { retries: 0 } });
  assert.equal(counts.total, 2);
  assert.equal((await client.repairs.get(repairId)).state, 'planned');
  const canary = { count: 1, maxFailurePercent: 100, thenContinue: false };
  assert.equal((await client.repairs.start(repairId, { ratePerSecond: 0.001, canary })).state, 'canary');
  assert.equal((await client.repairs.pause(repairId)).state, 'paused');
  assert.equal((await client.repairs.continue(repairId, { ratePerSecond: 0.002 })).ratePerSecond, 0.002);
  assert.equal((await client.repairs.abort(repairId)).state, 'aborted');
  const items = [];
  for await (const item of client.repairs.allItems(repairId, { count: 1 })) items.push(item.dlqId);
  assert.deepEqual(items, dlqIds);
  assert.ok((await client.repairs.list({ state: 'aborted' })).repairs.some((repair) => repair.repairId === repairId));
  const declared = OPERATIONS.filter(({ tag }) => tag === 'Repairs').map(({ operationId }) => operationId);
  assert.deepEqual([...noted].toSorted(), declared.toSorted());
});

/** Operations that accept a token but have no call in the `Client`, with the reason. */
const WITHOUT_CALL: readonly string[] = [
  // The same content as `listRunLogs`, for other clients.
  'listRunEvents',
  // The clock of a test server, for `@everstep/sdk/testing`.
  'getClock',
  'advanceClock',
  'settleClock',
];

test('the Client has a call for every operation of the runtime API', async () => {
  const noted = new Set<string>();
  const fetch = fetchNoting(OPERATIONS, noted);
  const client = new Client({ baseUrl: 'http://everstep.test', token: objects.harness.token, fetch });
  const { runs, dlq, alerts, schedules, flowControl, destinations } = client;

  const { workflowRunId } = await client.trigger('http://w.test/steps', { runId: objects.name() });
  await client.triggerMany([{ workflowUrl: 'http://w.test/ok' }]);
  assert.equal((await runs.result(workflowRunId)).workflowState, 'RUN_SUCCESS');
  assert.equal((await runs.get(workflowRunId)).steps.length, 2);
  assert.equal((await runs.step(workflowRunId, 1)).out, '1');
  assert.ok((await runs.attempts(workflowRunId)).attempts.length > 0);
  assert.deepEqual((await runs.explain(workflowRunId)).tasks, []);
  await runs.fork(workflowRunId, { fromStep: 2 });
  assert.equal((await runs.check(workflowRunId)).outcome, 'fits');
  assert.equal((await runs.compare(workflowRunId, { with: workflowRunId })).firstDifference, null);
  assert.equal((await runs.lineage(workflowRunId)).complete, true);
  assert.equal((await runs.list({ workflowRunId })).runs.length, 1);
  assert.equal((await runs.search({ workflowRunId })).runs.length, 1);
  await runs.cancel(await objects.run());
  assert.equal((await runs.cancelMany({ workflowRunIds: [await objects.run()] })).cancelled, 1);

  await client.waiters('e');
  await client.allWaiters();
  await client.notify({ eventId: 'e', eventData: 1 });
  await client.notify({ eventId: 'e', eventData: 1, workflowRunId: await objects.run('wait') });

  const fingerprint = await objects.deadLetterGroup();
  assert.ok((await dlq.list()).messages.length > 0);
  assert.ok((await dlq.groups()).groups.length > 0);
  assert.equal((await dlq.group(fingerprint)).fingerprint, fingerprint);
  assert.ok(Array.isArray(await dlq.assignees()));
  assert.equal((await dlq.assignGroup(fingerprint, null)).assignment, null);
  assert.ok((await dlq.snoozeGroup(fingerprint, new Date(Date.now() + 60_000))).snooze);
  const [note] = (await dlq.addGroupNote(fingerprint, 'known')).notes;
  assert.equal((await dlq.deleteGroupNote(fingerprint, note?.noteId ?? '')).noteCount, 0);
  assert.ok((await dlq.acknowledgeGroup(fingerprint)).acknowledgedAt);
  assert.ok((await dlq.resolveGroup(fingerprint)).resolvedAt);
  await dlq.check({ count: 1 });
  const dlqIds = [await objects.deadLetter()];
  assert.equal((await dlq.get(dlqIds[0] ?? '')).dlqId, dlqIds[0]);
  assert.equal((await dlq.resumeMany({ dlqIds })).workflowRuns.length, 1);
  assert.equal((await dlq.restartMany({ dlqIds: [await objects.deadLetter()] })).workflowRuns.length, 1);
  assert.equal((await dlq.deleteMany({ dlqIds: [await objects.deadLetter()] })).deleted, 1);
  await dlq.resume(await objects.deadLetter());
  await dlq.restart(await objects.deadLetter());
  await dlq.delete(await objects.deadLetter());
  await dlq.retryCallback(await objects.refusedCallback());
  await dlq.cancelCallback(await objects.deadLetter({ 'svc-failure-callback': 'http://w.test/hang' }));

  await alerts.destinations.put('hook', { kind: 'webhook', url: 'http://w.test/ok' });
  assert.equal((await alerts.destinations.list()).length, 1);
  assert.match((await alerts.destinations.test('hook')).messageId, /^msg_/);
  await alerts.rules.put('failed', { condition: { kind: 'run-failed', label: 'none' }, destinations: ['hook'] });
  assert.equal((await alerts.rules.list()).length, 1);
  await alerts.webhooks.put('ends', { events: ['run.succeeded'], label: 'none', destination: 'hook' });
  assert.equal((await alerts.webhooks.list()).length, 1);
  assert.deepEqual(await alerts.list({ state: 'open' }), { cursor: '', alerts: [] });
  await alerts.webhooks.delete('ends');
  await alerts.rules.delete('failed');
  await alerts.destinations.delete('hook');
  const { scheduleId } = await schedules.create('http://w.test/ok', { cron: '0 0 1 1 *' });
  assert.equal((await schedules.list()).length, 1);
  assert.equal((await schedules.get(scheduleId)).cron, '0 0 1 1 *');
  assert.equal((await schedules.change(scheduleId, { retries: 1 })).retries, 1);
  assert.equal((await schedules.pause(scheduleId)).isPaused, true);
  assert.equal((await schedules.resume(scheduleId)).isPaused, false);
  assert.equal((await schedules.next(scheduleId, { count: 2 })).length, 2);
  assert.equal((await schedules.run(scheduleId)).started, 1);
  await schedules.delete(scheduleId);

  const key = await objects.flowControlKey();
  assert.ok((await flowControl.list()).some(({ flowControlKey }) => flowControlKey === key));
  assert.equal((await flowControl.get(key)).parallelismMax, 1);
  await flowControl.waiting(key);
  await flowControl.pause(key);
  await flowControl.resume(key);
  await flowControl.pin(key, { rate: 5, period: '1m' });
  await flowControl.unpin(key);
  await flowControl.resetRate(key);
  await flowControl.globalParallelism();
  assert.equal((await destinations.hold({ origin: 'http://held.test' })).isHeld, true);
  assert.equal((await destinations.list()).length, 1);
  await destinations.release('http://held.test');

  await client.settings.update(await client.settings.get());
  await client.keys.get();
  await client.keys.rotate();
  await client.signatures.get();
  await client.signatures.update({ ed25519: true });
  await client.signatures.rotate();
  await client.live.nodes();
  assert.deepEqual((await client.workers.list()).workers, []);
  assert.equal((await client.insights.get({ window: '1h' })).points.length, 60);
  assert.deepEqual((await client.insights.workflow('http://app.example/')).steps, []);
  assert.deepEqual((await client.insights.runs({ label: 'none', field: 'state' })).topValues?.values, []);
  assert.equal((await client.insights.deadLetters()).topValues, null);
  assert.equal((await client.insights.messages({ queueName: 'none' })).coveredFrom, null);
  for await (const change of client.live.changes()) assert.fail(JSON.stringify(change));

  const declared = OPERATIONS.filter(({ access, tag }) => access === 'token' && tag !== 'Repairs');
  const withCall = declared.map(({ operationId }) => operationId).filter((id) => !WITHOUT_CALL.includes(id));
  assert.deepEqual([...noted].toSorted(), withCall.toSorted());
});
