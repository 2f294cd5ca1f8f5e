/**
 * Compares the clients and types of the SDK with the contract. The SDK has no dependencies, so its types are written by
 * hand.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type Account,
  AdminClient,
  type ApiKey,
  type AuditExportLine,
  type AuditLogEntry,
  type AuditLogPage,
  type AuditVerification,
  Client,
  type DeadLetterCheckOptions,
  type DeadLetterCheckPage,
  type DocumentChoice,
  type DocumentPage,
  type DocumentParts,
  type DocumentRangeOptions,
  type DocumentsById,
  type ForkOptions,
  type InstanceOutboundRules,
  type InstancePlan,
  type InstanceToken,
  type InstanceUsage,
  type MemberRole,
  type NewInstance,
  type NewSearchIndex,
  type QueueInstance,
  type QueueStats,
  type Repair,
  type RepairItem,
  type RepairPlanOptions,
  type RepairStartOptions,
  type RunCheck,
  type RunComparison,
  type RunLineage,
  type RunRelative,
  type ScoredDocument,
  SearchClient,
  type SearchDocument,
  type SearchIndex,
  type SearchIndexInfo,
  type SearchIndexStats,
  type SearchOptions,
  type SearchStats,
  type StoredDocument,
  type Team,
  type TeamMember,
  type UserSession,
} from '@everstep/sdk';
import type { Static } from 'typebox';
import { apiKeyOf, emailOf } from '../../accounts/people.fixture.js';
import type * as Audit from '../../contract/audit.js';
import type * as Management from '../../contract/management.js';
import type * as Repairs from '../../contract/repairs.js';
import type * as RunTools from '../../contract/run-tools.js';
import type * as Search from '../../contract/search.js';
import type { OwnSession } from '../../contract/session.js';
import { MANAGEMENT_OPERATIONS } from '../management/index.js';
import { managementOpenApiDocument } from '../management/openapi.js';
import type { Operation } from '../operation.js';
import { OPERATIONS } from '../operations/index.js';
import { SEARCH_OPERATIONS, searchOpenApiDocument } from '../search/index.js';
import { PathTable } from '../server/routing.js';
import { REGION, Things } from '../testing/isolation-things.js';

// ---------------------------------------------------------------- types, which the compiler holds together

/** Ignores whether a field is read-only. */
type Read<T> = T extends readonly (infer Each)[]
  ? readonly Read<Each>[]
  : T extends object
    ? { readonly [Name in keyof T]: Read<T[Name]> }
    : T;
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** A field with its type, and whether it is optional. */
type Field<T, Name> = { readonly [Each in keyof T as Each extends Name ? Each : never]: Read<T[Each]> };
/** Names of fields that only one side has, or that differ in type or optionality. */
type Differing<A, B> = {
  [Name in keyof A | keyof B]: Same<Field<A, Name>, Field<B, Name>> extends true ? never : Name;
}[keyof A | keyof B];
type Agree<A, B> = [Differing<A, B>] extends [never] ? true : { readonly fieldsThatDiffer: Differing<A, B> };
type Accepted<Sent, Body> = Sent extends Read<Body> ? true : false;

/** Response types by the names in the OpenAPI documents. The compiler error contains a field that differs. */
interface Answers {
  readonly Account: Agree<Account, Management.AccountEntry>;
  readonly ApiKey: Agree<ApiKey, Management.ApiKeyEntry>;
  readonly AuditExportLine: Agree<AuditExportLine, Audit.AuditExportLine>;
  readonly AuditVerification: Agree<AuditVerification, Audit.AuditVerification>;
  readonly AuditLogEntry: Agree<AuditLogEntry, Audit.AuditLogEntry>;
  readonly AuditLogPage: Agree<AuditLogPage, Audit.AuditLogPage>;
  readonly Plan: Agree<InstancePlan, Management.PlanRecord>;
  readonly Instance: Agree<QueueInstance, Management.InstanceRecord>;
  readonly QueueStats: Agree<QueueStats, Management.QueueStats>;
  readonly InstanceUsage: Agree<InstanceUsage, Management.InstanceUsage>;
  readonly OutboundRules: Agree<InstanceOutboundRules, Management.OutboundRulesRecord>;
  readonly UserSession: Agree<UserSession, OwnSession>;
  readonly SearchIndex: Agree<SearchIndex, Search.SearchIndexEntry>;
  readonly SearchIndexStats: Agree<SearchIndexStats, Search.SearchIndexStatsEntry>;
  readonly SearchStats: Agree<SearchStats, Static<typeof Search.SearchStats>>;
  readonly Team: Agree<Team, Management.TeamEntry>;
  readonly Token: Agree<InstanceToken, Management.TokenEntry>;
  readonly TeamMember: Agree<TeamMember, Management.TeamMember>;
  readonly Document: Agree<SearchDocument, Static<typeof Search.DocumentBody>>;
  readonly DocumentPage: Agree<DocumentPage, Static<typeof Search.DocumentPage>>;
  readonly IndexInfo: Agree<SearchIndexInfo, Static<typeof Search.IndexInfo>>;
  readonly ScoredDocument: Agree<ScoredDocument, Static<typeof Search.ScoredDocument>>;
  readonly StoredDocument: Agree<StoredDocument, Search.StoredDocument>;
}
const ANSWERS: Answers = {
  Account: true,
  ApiKey: true,
  AuditExportLine: true,
  AuditVerification: true,
  AuditLogEntry: true,
  AuditLogPage: true,
  Plan: true,
  Instance: true,
  QueueStats: true,
  InstanceUsage: true,
  OutboundRules: true,
  UserSession: true,
  SearchIndex: true,
  SearchIndexStats: true,
  SearchStats: true,
  Team: true,
  Token: true,
  TeamMember: true,
  Document: true,
  DocumentPage: true,
  IndexInfo: true,
  ScoredDocument: true,
  StoredDocument: true,
};

/** Request bodies of the search client. */
interface Requests {
  readonly upsert: Accepted<SearchDocument | readonly SearchDocument[], Static<typeof Search.UpsertBody>>;
  readonly search: Accepted<SearchOptions, Static<typeof Search.SearchBody>>;
  readonly fetch: Accepted<DocumentsById & DocumentParts, Static<typeof Search.FetchBody>>;
  readonly delete: Accepted<DocumentChoice, Static<typeof Search.DeleteBody>>;
  readonly range: Accepted<DocumentRangeOptions, Static<typeof Search.RangeBody>>;
}
/** Types of repairs. The document of the runtime API does not name their schemas. */
interface OfRepairs {
  readonly repair: Agree<Repair, Repairs.RepairEntry>;
  readonly item: Agree<RepairItem, Repairs.RepairItem>;
  readonly plan: Accepted<RepairPlanOptions & Pick<Repair, 'action'>, Repairs.PlanRepair>;
  readonly start: Accepted<RepairStartOptions, Repairs.StartRepair>;
}
/** Types of the tools for single runs. */
interface OfRunTools {
  readonly fork: Accepted<ForkOptions, RunTools.ForkRequest>;
  readonly comparison: Agree<RunComparison, RunTools.RunComparison>;
  readonly lineage: Agree<RunLineage, RunTools.RunLineage>;
  readonly relative: Agree<RunRelative, RunTools.Relative>;
  readonly check: Agree<RunCheck, RunTools.RunCheck>;
  readonly checks: Agree<DeadLetterCheckPage, RunTools.DeadLetterChecks>;
  readonly checked: Accepted<DeadLetterCheckOptions, Static<typeof RunTools.CheckDeadLetters>>;
}
const OF_RUN_TOOLS: OfRunTools = {
  fork: true,
  comparison: true,
  lineage: true,
  relative: true,
  check: true,
  checks: true,
  checked: true,
};
const OF_REPAIRS: OfRepairs = { repair: true, item: true, plan: true, start: true };
const REQUESTS: Requests = { upsert: true, search: true, fetch: true, delete: true, range: true };

test('the SDK has a type for each named schema of the management API and the search API', () => {
  const named = [managementOpenApiDocument('0.0.0'), searchOpenApiDocument('0.0.0')].flatMap((document) => {
    const { components }: { readonly components?: { readonly schemas?: object } } = document;
    return Object.keys(components?.schemas ?? {});
  });
  const answers = new Set(named.filter((name) => name !== 'Error'));
  assert.deepEqual([...answers].toSorted(), Object.keys(ANSWERS).toSorted());
  assert.deepEqual(
    new Set([
      ...Object.values(ANSWERS),
      ...Object.values(REQUESTS),
      ...Object.values(OF_REPAIRS),
      ...Object.values(OF_RUN_TOOLS),
    ]),
    new Set([true]),
  );
});

// ---------------------------------------------------------------- calls, made at the API itself

let things: Things;
before(async () => {
  things = await Things.open();
});
after(() => things.world.close());

/** Sends requests to the API in this process, validates the responses and records the operations. */
function fetchNoting(operations: readonly Operation[], noted: Set<string>): typeof fetch {
  const table = new PathTable(operations);
  return async (input, init) => {
    const asked = new Request(input, init);
    const { pathname, search } = new URL(asked.url);
    const found = table.at(pathname).find(({ operation }) => operation.method === asked.method);
    noted.add(found?.operation.operationId ?? `${asked.method} ${pathname}`);
    const payload = await asked.text();
    const { status, headers, body } = await things.world.send<unknown>({
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
  const { teamId } = things.people;

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
  assert.match((await users.createRecoveryLink(stranger)).recovery_secret, /^rec_/);
  await users.delete(stranger);

  const wish: Required<NewInstance> = { name: 'q', region: REGION, teamId };
  const queue = await admin.queues.create(wish);
  assert.ok((await admin.queues.list()).some(({ id }) => id === queue.id));
  assert.notEqual((await admin.queues.rotateTokens(queue.id)).token, queue.token);
  const token = await admin.tokens.create(queue.id, { name: 'n', scopes: ['read'], expiresIn: '1h' });
  const next = await admin.tokens.rotate(queue.id, token.id);
  await admin.tokens.revoke(queue.id, next.id);
  assert.deepEqual((await admin.tokens.list(queue.id)).map(({ name }) => name).slice(-2), ['n', 'n']);
  await admin.queues.moveToTeam(queue.id, teamId);
  await admin.queues.updateBudget(queue.id, 20);
  await admin.queues.setBudgetAlert(queue.id, 'http://w.test/alert');
  await as('operator').queues.setPlan(queue.id, (await admin.queues.plans())[0]?.name ?? '');
  assert.equal((await admin.queues.get(queue.id)).budget, 20);
  assert.equal((await admin.queues.stats(queue.id, { period: '1d' })).budget, 20);
  assert.equal((await admin.queues.usage(queue.id, { days: 7 })).days.length, 7);
  await as('operator').queues.setAllowedDestinations(queue.id, ['10.0.0.5:8080']);
  await admin.queues.setOutboundRules(queue.id, { deny: ['*.w.test'], only: null });
  const rules = { id: queue.id, allow: ['10.0.0.5:8080'], deny: ['*.w.test'], only: null };
  assert.deepEqual(await admin.queues.outboundRules(queue.id), rules);
  await as('operator').queues.delete(queue.id, { confirm: wish.name });

  const login = { email: emailOf('owner'), apiKey: apiKeyOf('owner'), address: '' };
  for (let n = 0; n < 2; n++) assert.equal((await things.world.accounts.beginSession(login)).kind, 'in');
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
  const { endpoint, token } = await things.index();
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
    token: things.world.token,
    fetch: fetchNoting(OPERATIONS, noted),
  });
  const dlqIds = [await things.deadLetter(), await things.deadLetter()];
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
