/** Two tenants: one whose credentials the requests use, and one that must neither change nor be visible. */
import { createHash, randomUUID } from 'node:crypto';

const REGION = 'eu-central-1';
const CLOSED_URL = 'http://127.0.0.1:1/closed';

const basic = (email, key) => `Basic ${Buffer.from(`${email}:${key}`).toString('base64')}`;
const UPSTASH_HEADERS = { 'upstash-telemetry-sdk': 'fuzz' };

/** Sends JSON. Resolves with the parsed response. Rejects with an Error if it is not successful. */
async function sendJson(base, authorization, method, path, { body, headers = {} } = {}) {
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(authorization ? { authorization } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
  return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text;
}

export class Tenant {
  constructor(base, parts) {
    this.base = base;
    Object.assign(this, parts);
  }

  /** Creates a user without operator rights, with a team and a queue instance. */
  static async create(base, operator, name) {
    const email = `${name}-${randomUUID()}@fuzz.test`;
    const entryTeam = await sendJson(base, operator, 'POST', '/v2/team', { body: { team_name: 'door' } });
    const invitation = { team_id: entryTeam.team_id ?? entryTeam.id, member_email: email, member_role: 'finance' };
    const { invitation_secret: secret } = await sendJson(base, operator, 'POST', '/v2/teams/member', { body: invitation });
    const { api_key: apiKey } = await sendJson(base, null, 'POST', '/v2/invitations/accept', { body: { secret } });
    const user = basic(email, apiKey);
    // A user can be in 100 teams, and a long campaign creates more tenants.
    await sendJson(base, operator, 'DELETE', `/v2/team/${invitation.team_id}`);
    const { id: userId } = await sendJson(base, user, 'GET', '/v2/account');
    const team = await sendJson(base, user, 'POST', '/v2/team', { body: { team_name: `team of ${name}` } });
    const teamId = team.team_id ?? team.id;
    const tenant = new Tenant(base, { email, apiKey, user, userId, teamId });
    await tenant.createInstance();
    // The plan has no limits, because requests that exceed a limit would test nothing.
    await sendJson(base, operator, 'POST', `/v2/queue/set-plan/${tenant.instanceId}`, { body: { plan_name: 'default' } });
    return tenant;
  }

  async createInstance() {
    const body = { name: 'fuzzed', region: REGION, team_id: this.teamId };
    const { id, token, read_only_token: readOnly } = await sendJson(this.base, this.user, 'POST', '/v2/queue/users', { body });
    const index = await sendJson(this.base, this.user, 'POST', '/v2/search', {
      body: { name: `i-${randomUUID()}`, region: REGION, type: 'free', team_id: this.teamId },
    });
    Object.assign(this, { instanceId: id, token, readOnly, indexId: index.id, indexToken: index.token });
  }

  asToken(method, path, options) {
    return sendJson(this.base, `Bearer ${this.token}`, method, path, options);
  }

  /** Logs the user in, and keeps the headers that a page sends with the session. */
  async logIn() {
    const response = await fetch(`${this.base}/v2/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: this.email, api_key: this.apiKey }),
    });
    const { csrf_token: csrfToken } = await response.json();
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';', 1);
    this.session = [
      ['cookie', cookie],
      ['x-everstep-csrf', csrfToken],
      ['x-everstep-queue', this.instanceId],
    ];
  }

  /** Keeps deliveries to the endpoint enabled regardless of failures. */
  async enableDeliveries(endpoint) {
    await this.asToken('PUT', '/v2/settings', { body: { breaker: { enabled: false } } });
    await this.asToken('POST', '/v2/destinations/release', { body: { origin: endpoint } }).catch(() => {});
  }

  /** Creates an object of each kind. */
  async fill(endpoint) {
    await this.enableDeliveries(endpoint);
    const mark = `${this.email.split('@')[0]}-mark`;
    // This text is only in stored content, and not in ids that requests contain.
    const secretText = `hush-${randomUUID()}`;
    const keys = await this.asToken('GET', '/v2/keys');
    this.secretValues = [secretText, ...Object.values(keys)];
    const trigger = (url, headers) => this.asToken('POST', `/v2/trigger/${url}`, { body: { secret: secretText }, headers });
    const waitingRun = await trigger(`${endpoint}/waiting`, {
      'svc-delay': '30d',
      'svc-label': mark,
      'svc-flow-control-key': mark,
      'svc-flow-control-value': 'parallelism=1',
    });
    const failingRun = await trigger(CLOSED_URL, { 'svc-retries': '0', 'svc-label': mark });
    const schedule = await this.asToken('POST', `/v2/schedules/${endpoint}/tick`, {
      headers: { 'svc-cron': '0 0 1 1 *', 'svc-label': mark },
    });
    await this.asToken('POST', '/v2/queues', { body: { queueName: `${mark}-queue`, parallelism: 1 }, headers: UPSTASH_HEADERS });
    await this.asToken('POST', `/v2/topics/${mark}-group/endpoints`, {
      body: { endpoints: [{ url: `${endpoint}/member`, name: 'first' }] },
      headers: UPSTASH_HEADERS,
    });
    await this.asToken('POST', '/v2/destinations/hold', { body: { origin: `http://${mark}.test`, reason: secretText } });
    const message = await this.asToken('POST', `/v2/publish/${endpoint}/later`, {
      body: { secret: secretText },
      headers: { ...UPSTASH_HEADERS, 'upstash-delay': '30d' },
    });
    const documents = [{ id: 'd', content: { text: secretText } }];
    await sendJson(this.base, `Bearer ${this.indexToken}`, 'POST', `/search/${this.indexId}/upsert-data/ns`, { body: documents });
    const token = await sendJson(this.base, this.user, 'POST', `/v2/queue/tokens/${this.instanceId}`, {
      body: { name: mark, scopes: ['read'] },
    });
    let entries = [];
    for (let attempts = 0; entries.length === 0 && attempts < 100; attempts++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      entries = (await this.asToken('GET', '/v2/workflows/dlq')).messages ?? [];
    }
    const repair = await this.asToken('POST', '/v2/workflows/repairs', { body: { action: 'resume', filter: { label: [mark] } } });
    this.ids = {
      workflowRunId: [waitingRun.workflowRunId, failingRun.workflowRunId],
      dlqId: entries.map(({ dlqId }) => dlqId),
      dlqIds: entries.map(({ dlqId }) => dlqId),
      workflowRunIds: [waitingRun.workflowRunId],
      scheduleId: [schedule.scheduleId],
      queueName: [`${mark}-queue`],
      urlGroupName: [`${mark}-group`],
      flowControlKey: [mark],
      messageId: [message.messageId],
      messageIds: [message.messageId],
      repairId: [repair.repairId],
      origin: [`http://${mark}.test`],
      label: [mark],
      eventId: ['e'],
      indexId: [this.indexId],
      namespace: ['ns', ''],
      team_id: [this.teamId],
      queue_id: [this.instanceId],
      target_account: [this.teamId],
      target_team_id: [this.teamId],
      member_email: [this.email],
      token_id: [token.id],
      userId: [this.instanceId],
      id: [this.instanceId, this.indexId, this.teamId],
      with: [failingRun.workflowRunId],
      destination: [`${endpoint}/d`, `${mark}-group`],
      workflowUrl: [`${endpoint}/w`],
      url: [`${endpoint}/u`],
    };
    return this;
  }

  /** Returns values that no response may contain unless its request does. */
  secrets() {
    const { token, readOnly, apiKey, email, instanceId, teamId, userId, indexId, indexToken, ids } = this;
    const objectIds = [ids.workflowRunId, ids.dlqId, ids.scheduleId, ids.messageId, ids.repairId, ids.label, ids.token_id].flat();
    return [
      ...this.secretValues,
      token,
      readOnly,
      apiKey,
      email,
      instanceId,
      teamId,
      userId,
      indexId,
      indexToken,
      ...objectIds,
    ].filter((value) => typeof value === 'string');
  }

  /** Returns a hash of all data of the tenant that only its own requests may change, and the hashed parts. */
  async fingerprint() {
    const paths = [
      ...[
        '/v2/workflows/logs?count=10',
        '/v2/workflows/dlq',
        '/v2/schedules',
        '/v2/settings',
        '/v2/keys',
        '/v2/flowControl/',
        '/v2/destinations',
      ],
      ...['/v2/waiters', '/v2/workflows/repairs', '/v2/signatures'],
    ];
    const parts = [];
    for (const path of paths) parts.push(await this.asToken('GET', path));
    for (const path of ['/v2/queues', '/v2/topics', '/v2/logs'])
      parts.push(await this.asToken('GET', path, { headers: UPSTASH_HEADERS }));
    for (const path of [
      `/v2/queue/user/${this.instanceId}`,
      '/v2/teams',
      `/v2/teams/${this.teamId}`,
      '/v2/apikeys',
      `/v2/search/${this.indexId}`,
    ])
      parts.push(await sendJson(this.base, this.user, 'GET', path));
    const range = { cursor: '', limit: 10, includeData: true, includeMetadata: true };
    parts.push(
      await sendJson(this.base, `Bearer ${this.indexToken}`, 'POST', `/search/${this.indexId}/range/ns`, { body: range }),
    );
    return { hash: createHash('sha256').update(JSON.stringify(parts)).digest('hex'), parts };
  }

  /** Undoes changes of earlier requests, such as rotated tokens. Resolves with a new tenant if this is not possible. */
  async restore(operator, endpoint) {
    try {
      const { token, read_only_token: readOnly } = await sendJson(
        this.base,
        this.user,
        'GET',
        `/v2/queue/user/${this.instanceId}`,
      );
      if (!token) throw new Error('no token');
      Object.assign(this, { token, readOnly });
      const index = await sendJson(this.base, this.user, 'GET', `/v2/search/${this.indexId}`);
      this.indexToken = index.token;
      await this.enableDeliveries(endpoint);
      await this.logIn();
      return this;
    } catch {
      const newTenant = await Tenant.create(this.base, operator, 'again');
      return newTenant.fill(endpoint);
    }
  }
}

export const operatorOf = ({ adminEmail, adminApiKey }) => basic(adminEmail, adminApiKey);
export { sendJson };
