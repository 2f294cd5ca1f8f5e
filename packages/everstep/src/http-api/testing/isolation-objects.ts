/** Creates the objects that the rows of the isolation table need. All belong to one queue instance or one team. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  addMember,
  addNewMember,
  apiKeyOf,
  createPeople,
  doneValue,
  emailOf,
  type People,
} from '../../accounts/people.fixture.js';
import { LoginLinks } from '../../accounts/users/login-links.js';
import type { DeadLetterGroup } from '../../contract/dead-letter-groups.js';
import type { QueueInstance } from '../../ports/stores/account-store.js';
import type { IssuedSearchIndex } from '../../search/search-service.js';
import { ApiHarness, type HarnessOptions } from './api-harness.js';

/** Text that all objects of the instance and the team contain, and no other objects. */
export const MARK = 'own-secret';
export const REGION = 'eu-central-1';
/** Headers that the published SDK sends with every request. */
export const SDK = { 'upstash-workflow-sdk-version': '1' };

export class TestObjects {
  readonly harness: ApiHarness;
  readonly people: People;
  private readonly loginLinks: LoginLinks;
  private count = 0;

  private constructor(harness: ApiHarness, people: People, loginLinks: LoginLinks) {
    this.harness = harness;
    this.people = people;
    this.loginLinks = loginLinks;
  }

  static async open(options: HarnessOptions = {}): Promise<TestObjects> {
    const loginLinks = new LoginLinks(() => 0, { bytes: (count) => randomBytes(count) });
    const harness = await ApiHarness.open({ loginLinks }, options);
    return new TestObjects(harness, await createPeople(harness.store.accounts, harness.accounts), loginLinks);
  }

  name(): string {
    this.count += 1;
    return `${MARK}-${this.count}`;
  }

  async run(endpoint = 'hang', headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const workflowRunId = this.name();
    await this.harness.trigger(endpoint, { 'svc-workflow-runid': workflowRunId, 'svc-label': MARK, ...headers });
    return workflowRunId;
  }

  /** Starts a run of the published SDK, whose run ids have a common prefix. */
  async sdkRun(): Promise<string> {
    const workflowRunId = `wfr_${this.name()}`;
    const headers = { ...SDK, 'upstash-workflow-runid': workflowRunId, 'upstash-label': MARK };
    const { status } = await this.harness.call('POST', '/v2/trigger/http://w.test/hang', { headers });
    assert.equal(status, 200);
    return workflowRunId;
  }

  async deadLetter(headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const [dlqId] = await this.harness.fail(1, { 'svc-workflow-runid': this.name(), 'svc-label': MARK, ...headers });
    assert.ok(dlqId);
    return dlqId;
  }

  /** Creates a dead letter whose failure callback has failed. */
  async refusedCallback(): Promise<string> {
    const dlqId = await this.deadLetter({ 'svc-failure-callback': 'http://w.test/refuse', 'svc-retries': '0' });
    for (let turn = 0; ; turn++) {
      const { body } = await this.harness.call<{ failureFunctionState?: string }>('GET', `/v2/workflows/dlq/${dlqId}`);
      if (body.failureFunctionState !== 'CALLBACK_INPROGRESS') return dlqId;
      assert.ok(turn < 1_000, 'the callback is not refused');
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  private async put(path: string, body: object): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const { status } = await this.harness.call('PUT', `/v2/alerts/${path}`, { headers, body: JSON.stringify(body) });
    assert.equal(status, 200);
  }

  async alertDestination(): Promise<string> {
    const name = this.name();
    await this.put(`destinations/${name}`, { kind: 'webhook', url: 'http://w.test/ok' });
    return name;
  }

  async alertRule(): Promise<string> {
    const name = this.name();
    await this.put(`rules/${name}`, { condition: { kind: 'run-failed', label: 'none' }, destinations: [] });
    return name;
  }

  async lifecycleWebhook(): Promise<string> {
    const name = this.name();
    const body = { events: ['run.canceled'], label: 'none', destination: await this.alertDestination() };
    await this.put(`webhooks/${name}`, body);
    return name;
  }

  /** Creates a repair of two dead letters, which does not finish within the test. */
  async repair(state: 'planned' | 'running' | 'paused'): Promise<string> {
    const dlqIds = [await this.deadLetter(), await this.deadLetter()];
    const headers = { 'content-type': 'application/json' };
    const post = <Body>(path: string, body?: unknown) =>
      this.harness.call<Body>('POST', `/v2/workflows/repairs${path}`, {
        ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }),
      });
    const response = await post<{ repairId: string }>('', { action: 'resume', filter: { dlqIds } });
    assert.equal(response.status, 201);
    const { repairId } = response.body;
    if (state !== 'planned') assert.equal((await post(`/${repairId}/start`, { ratePerSecond: 0.001 })).status, 200);
    if (state === 'paused') assert.equal((await post(`/${repairId}/pause`)).status, 200);
    return repairId;
  }

  async deadLetterGroup(): Promise<string> {
    const dlqId = await this.deadLetter();
    const entry = await this.harness.call<{ fingerprint: string }>('GET', `/v2/workflows/dlq/${dlqId}`);
    return entry.body.fingerprint;
  }

  async groupNote(): Promise<{ readonly fingerprint: string; readonly noteId: string }> {
    const fingerprint = await this.deadLetterGroup();
    const path = `/v2/workflows/dlq/groups/${fingerprint}/notes`;
    const { body } = await this.harness.call<DeadLetterGroup>('POST', path, {
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ text: 'waits for the provider' })),
    });
    return { fingerprint, noteId: body.notes[0]?.noteId ?? '' };
  }

  async schedule(): Promise<string> {
    const headers = { 'svc-cron': '0 0 1 1 *', 'svc-schedule-id': this.name() };
    const response = await this.harness.call<{ scheduleId: string }>('POST', '/v2/schedules/http://w.test/ok', { headers });
    assert.equal(response.status, 200);
    return response.body.scheduleId;
  }

  async flowControlKey(): Promise<string> {
    const key = this.name();
    await this.run('hang', { 'svc-flow-control-key': key, 'svc-flow-control-value': 'parallelism=1' });
    return key;
  }

  /** Publishes a message and returns the response. */
  private async publish<Body>(method: 'POST', url: string, body?: unknown): Promise<Body> {
    const headers = { 'content-type': 'application/json', 'upstash-label': MARK };
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await this.harness.call<Body>(method, url, { headers, ...json });
    assert.equal(response.status, 200, JSON.stringify(response.body));
    return response.body;
  }

  /** Creates a pending message. */
  async message(): Promise<string> {
    return (await this.publish<{ messageId: string }>('POST', '/v2/publish/http://w.test/hang')).messageId;
  }

  async messageQueue(): Promise<string> {
    const queueName = this.name();
    await this.publish('POST', '/v2/queues', { queueName });
    return queueName;
  }

  async urlGroup(): Promise<string> {
    const name = this.name();
    await this.publish('POST', `/v2/topics/${name}/endpoints`, { endpoints: [{ name: 'first', url: 'http://w.test/ok' }] });
    return name;
  }

  /** Creates a queue instance of the team. */
  async queue(): Promise<string> {
    return (await this.queueRecord()).instanceId;
  }

  async queueRecord(): Promise<QueueInstance> {
    const request = { name: this.name(), region: REGION, teamId: this.people.teamId };
    return doneValue(await this.harness.accounts.createInstance(this.people.principals.owner, request)).instance;
  }

  /** Returns the secret of a login link of the owner. */
  loginSecret(): string {
    return this.loginLinks.create({ email: emailOf('owner'), apiKey: apiKeyOf('owner') });
  }

  async recoverySecret(): Promise<string> {
    const { id } = await this.user();
    return doneValue(await this.harness.accounts.createRecoveryLink(this.people.principals.operator, id)).secret;
  }

  /** Creates a token of a queue instance of the team. */
  async namedToken(): Promise<{ readonly id: string; readonly token_id: string }> {
    const id = await this.queue();
    const request = { instanceId: id, name: this.name(), scopes: ['read'], lifetimeMs: null } as const;
    const { view } = doneValue(await this.harness.accounts.createToken(this.people.principals.owner, request));
    return { id, token_id: view.tokenId };
  }

  /** Creates a search index of the team. */
  async searchIndex(): Promise<string> {
    const request = { name: this.name(), region: REGION, type: 'free', teamId: this.people.teamId } as const;
    return doneValue(await this.harness.search.create(this.people.principals.owner, request)).index.indexId;
  }

  /** Creates a search index of the team and returns its tokens. */
  async index(): Promise<IssuedSearchIndex> {
    const { people, harness } = this;
    const request = { name: this.name(), region: REGION, type: 'payg', teamId: people.teamId } as const;
    return doneValue(await harness.search.create(people.principals.owner, request));
  }

  /** Creates a team of `owner` with a member of each role and without resources. */
  async emptyTeam(): Promise<string> {
    const { accounts } = this.harness;
    const { owner } = this.people.principals;
    const { teamId } = doneValue(await accounts.createTeam(owner, this.name()));
    for (const role of ['admin', 'dev', 'finance'] as const)
      await addMember(accounts, owner, this.people.principals[role], { teamId, role });
    return teamId;
  }

  async apiKeyOfOwner(): Promise<string> {
    const { accounts } = this.harness;
    return doneValue(await accounts.createApiKey(this.people.principals.owner, this.name())).record.apiKeyId;
  }

  /** Returns the email of an additional member of the team. */
  async member(): Promise<string> {
    const email = `${this.name()}@w.test`;
    const { teamId, principals } = this.people;
    await addNewMember(this.harness.accounts, principals.owner, { teamId, email, role: 'dev' });
    return email;
  }

  /** Returns the id of an additional user with one API key, `key`. */
  async user(): Promise<{ readonly id: string; readonly key: string }> {
    const email = `${this.name()}@w.test`;
    const { owner } = this.people.principals;
    const { userId } = await addNewMember(this.harness.accounts, owner, { teamId: this.people.teamId, email, role: 'dev' });
    const [key] = await this.harness.store.accounts.listApiKeys({ userId });
    return { id: userId, key: key?.apiKeyId ?? '' };
  }

  /** Links an identity to a user and returns its id. */
  async identityOf(userId: string): Promise<string> {
    const { harness, people } = this;
    const identity = { issuer: 'https://id.test', subject: userId };
    await harness.store.accounts.linkIdentity({ identity, userId, at: 0 });
    const [linked] = doneValue(await harness.accounts.identitiesOf(people.principals.operator, userId));
    return linked?.identityId ?? '';
  }

  /** Creates a pending invitation to a new team of `owner`. */
  async invitation(email = `${this.name()}@w.test`): Promise<{ readonly id: string; readonly secret: string }> {
    const outcome = doneValue(
      await this.harness.accounts.putMember(this.people.principals.owner, { teamId: this.people.teamId, email, role: 'dev' }),
    );
    if (outcome.kind !== 'invited') throw new Error(`${email} is a member`);
    return { id: outcome.invitation.invitationId, secret: outcome.secret };
  }
}
