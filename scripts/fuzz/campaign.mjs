/** Sends the requests, monitors the server, and collects findings. */
import { openEndpoint } from './endpoint.mjs';
import { bytesOf, damagedRequest, sendBytes } from './raw-http.mjs';
import { operationsOf, requestOf } from './requests.mjs';
import { startServer } from './server.mjs';
import { operatorOf, sendJson, Tenant } from './tenants.mjs';

const CONCURRENCY = 16;
const RESTORE_EVERY_REQUESTS = 250;
const TIMEOUT_MS = 15_000;
/** Operations whose requests set how long the server waits before it responds. */
const WAITING_OPERATIONS = new Set([
  'streamHints',
  'getRunResult',
  'triggerRun',
  'checkRun',
  'checkDeadLetters',
  'startWorkflow',
  'settleClock',
]);
const WAITING_TIMEOUT_MS = 1_500;
/** A stall counts if the server itself worked for at least this long during it. */
const STALL_CPU_MS = 200;
const MAX_FINDINGS_PER_KIND = 20;
/** Memory in addition to the heap: buffers, code and the database. */
const RSS_BEYOND_HEAP_MB = 450;
const OTHER_TENANT_SHARE = 0.15;
/** Operations sent with operator credentials, which can see everything. They only read, or change the object with an id. */
const OPERATOR_OPERATIONS = new Set([
  'listUsers',
  'exportAuditLog',
  'verifyAuditLog',
  'listAuditLogs',
  'setInstancePlan',
  'setAllowedDestinations',
  'listUserApiKeys',
]);

export class Campaign {
  constructor({ requests, seed, from = 0, heapMb = 256, print = () => {} }) {
    Object.assign(this, { requests, seed, from, heapMb, print });
    this.findings = [];
    this.counts = new Map();
    this.statuses = new Map();
    this.kinds = new Map();
    this.recent = [];
    // The startup of the server also blocks its event loop.
    this.isSending = false;
    this.durationMs = 0;
  }

  /** Resolves with the findings. */
  async run() {
    this.endpoint = await openEndpoint(this.seed);
    this.server = await startServer({
      heapMb: this.heapMb,
      endpointPort: this.endpoint.port,
      onStall: (stall) => this.reportStall(stall),
    });
    try {
      await this.prepare();
      this.isSending = true;
      const startedAt = performance.now();
      await this.sendAll();
      this.durationMs = performance.now() - startedAt;
      this.isSending = false;
      await this.checkVictim();
      await this.checkAudit();
    } finally {
      await this.server.stop().catch(() => {});
      this.endpoint.close();
    }
    this.checkMemory();
    return this.findings;
  }

  async prepare() {
    const { port, credentials } = this.server;
    this.base = `http://127.0.0.1:${port}`;
    this.target = `http://127.0.0.1:${this.endpoint.port}`;
    this.operator = operatorOf(credentials);
    this.own = await (await Tenant.create(this.base, this.operator, 'own')).fill(this.target);
    this.victim = await (await Tenant.create(this.base, this.operator, 'victim')).fill(this.target);
    this.secrets = this.victim.secrets();
    const { cursor } = await this.victim.asToken('GET', '/v2/workflows/logs?count=1');
    this.victim.ids.cursor = cursor ? [cursor] : [];
    this.before = await this.victim.fingerprint();
    const documents = {};
    for (const [api, path] of [
      ['runtime', '/openapi.json'],
      ['management', '/openapi-management.json'],
      ['search', '/openapi-search.json'],
      ['upstash', '/openapi-upstash.json'],
    ])
      documents[api] = await sendJson(this.base, null, 'GET', path);
    this.operations = operationsOf(documents);
  }

  /** Returns the functions through which requests depend on the state of the campaign; see `requestOf`. */
  createHarness() {
    return {
      credentialOf: ({ api, operation: { operationId, security = [] } }, random) => {
        const { user, token, readOnly, indexToken, session } = this.own;
        const acceptsScheme = (scheme) => security.some((requirement) => scheme in requirement);
        if (session && (acceptsScheme('session') || random.chance(0.15)) && random.chance(0.9)) return session;
        const asOperator = OPERATOR_OPERATIONS.has(operationId) && random.chance(0.5);
        if (api === 'management' || acceptsScheme('basic')) return [['authorization', asOperator ? this.operator : user]];
        const bearer = api === 'search' ? indexToken : random.chance(0.9) ? token : readOnly;
        return [['authorization', `Bearer ${bearer}`]];
      },
      nameOf: (name, random, operationId) => {
        // The operator may change objects of others by id.
        const usesVictim = random.chance(OTHER_TENANT_SHARE) && !OPERATOR_OPERATIONS.has(operationId);
        const ids = (usesVictim ? this.victim : this.own).ids[name];
        const id = ids && ids.length > 0 ? random.pick(ids) : undefined;
        return name === 'cursor' && id !== undefined && random.chance(0.3) ? alterCharacter(id, random) : id;
      },
    };
  }

  async sendAll() {
    let nextNumber = this.from;
    const end = this.from + this.requests;
    let restorePromise = Promise.resolve();
    const worker = async () => {
      while (nextNumber < end && !this.server.exit) {
        const n = nextNumber++;
        if (n % RESTORE_EVERY_REQUESTS === 0)
          restorePromise = this.own.restore(this.operator, this.target).then(
            (tenant) => {
              this.own = tenant;
            },
            (error) => this.addFinding('setup', null, `the tenant could not be repaired: ${error.message}`),
          );
        await restorePromise;
        if (n > this.from && n % 5_000 === 0)
          this.print(
            `${n - this.from} requests, ${this.findings.length} findings, RSS ${Math.round(this.server.memory.rss / 2 ** 20)} MiB`,
          );
        await this.sendOne(requestOf(this.operations, this.seed, n, this.createHarness()));
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
    if (this.server.exit)
      this.addFinding(
        'exit',
        this.recent.at(-1),
        `the server ended: ${JSON.stringify(this.server.exit)} ${this.server.faults.slice(-3).join(' | ')}`,
      );
  }

  async sendOne(generatedRequest) {
    const clientAddress = `10.${(generatedRequest.n >> 16) & 255}.${(generatedRequest.n >> 8) & 255}.${generatedRequest.n & 255}`;
    const headers = [...generatedRequest.headers, ['x-forwarded-for', clientAddress]];
    const validBytes = bytesOf({ ...generatedRequest, headers }, `127.0.0.1:${this.server.port}`);
    const bytes = generatedRequest.damage === null ? validBytes : damagedRequest(validBytes, generatedRequest.damage);
    const request = { ...generatedRequest, bytes };
    this.recent.push(request);
    if (this.recent.length > 4 * CONCURRENCY) this.recent.shift();
    const mayWait = WAITING_OPERATIONS.has(request.operationId);
    const response = await sendBytes(bytes, {
      port: this.server.port,
      timeoutMs: mayWait ? WAITING_TIMEOUT_MS : TIMEOUT_MS,
      // A truncated request waits for its remainder.
      endAfterMs: request.kind === 'raw' ? 200 : null,
    });
    request.status = response.status;
    this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1);
    this.kinds.set(request.kind, (this.kinds.get(request.kind) ?? 0) + 1);
    const cursor = /"cursor":"([^"]{20,})"/.exec(response.text)?.[1];
    if (cursor) this.own.ids.cursor = [cursor, ...(this.own.ids.cursor ?? []).slice(0, 9)];
    this.checkResponse(request, response, mayWait);
  }

  checkResponse(request, { status, text, outcome }, mayWait) {
    if (status >= 500 && status !== 503) this.addFinding(`status ${status}`, request, text.slice(-400));
    if (status === 503) this.addFinding('status 503', request, text.slice(-400));
    if (outcome === 'late' && !mayWait) this.addFinding('no response', request, `no complete response within ${TIMEOUT_MS} ms`);
    if (request.kind !== 'raw' && outcome === 'closed' && status === 0)
      this.addFinding('closed', request, 'the connection was closed without a response');
    const requestText = request.bytes.toString('utf8') + decodeURIComponentSafely(request.target);
    // A secret that a request has contained may be stored and returned later.
    this.secrets = this.secrets.filter((secret) => !requestText.includes(secret));
    const leakedSecrets = this.secrets.filter((secret) => text.includes(secret));
    // An operator may see all tenants.
    if (leakedSecrets.length > 0 && !requestText.includes(this.operator))
      this.addFinding(
        'leak',
        request,
        `the response contains ${leakedSecrets.join(', ')} of the other tenant: ${text.slice(-400)}`,
      );
  }

  reportStall({ stallMs, cpuMs }) {
    if (!this.isSending || cpuMs < STALL_CPU_MS) return;
    const lastRequests = this.recent.slice(-CONCURRENCY).map(({ n, operationId }) => `${n} ${operationId}`);
    this.addFinding(
      'stall',
      this.recent.at(-1),
      `the event loop was blocked for ${Math.round(stallMs)} ms (${Math.round(cpuMs)} ms of work) around: ${lastRequests.join(', ')}`,
    );
  }

  async checkVictim() {
    if (this.server.exit) return;
    const after = await this.victim.fingerprint().catch((error) => ({ hash: '', parts: [error.message] }));
    if (after.hash === this.before.hash) return;
    const differences = after.parts.flatMap((part, index) =>
      JSON.stringify(part) === JSON.stringify(this.before.parts[index])
        ? []
        : [
            `part ${index}: ${JSON.stringify(this.before.parts[index]).slice(0, 600)} became ${JSON.stringify(part).slice(0, 600)}`,
          ],
    );
    this.addFinding('other tenant', null, `the other tenant has changed: ${differences.join('\n')}`);
  }

  /** Verifies that the audit log is intact after the requests. */
  async checkAudit() {
    if (this.server.exit) return;
    let after = 0;
    while (after !== null) {
      const { faults, next } = await sendJson(this.base, this.operator, 'GET', `/v2/audit/verify?after=${after}`);
      if (faults.length > 0) this.addFinding('audit chain', null, JSON.stringify(faults.slice(0, 5)));
      after = next;
    }
  }

  checkMemory() {
    const maxRssMb = Math.round(this.server.memory.maxRss / 2 ** 20);
    if (maxRssMb > this.heapMb + RSS_BEYOND_HEAP_MB)
      this.addFinding('memory', null, `the server used up to ${maxRssMb} MiB, with a heap of ${this.heapMb} MiB`);
  }

  addFinding(kind, request, message) {
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    if (count > MAX_FINDINGS_PER_KIND) return;
    const cause = request
      ? { n: request.n, operationId: request.operationId, damage: request.kind, bytes: reproducibleText(request.bytes) }
      : null;
    this.findings.push({ kind, message, request: cause });
    // The finding is printed now, because a campaign can take an hour and be stopped before its summary.
    this.print(`finding: ${kind} at request ${cause?.n ?? '-'}: ${message.slice(0, 1_000)}`);
  }

  summary() {
    const formatCounts = (counts) =>
      [...counts]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, count]) => `${name}: ${count}`)
        .join(', ');
    return [
      `${this.operations?.length ?? 0} operations; requests by damage: ${formatCounts(this.kinds)}`,
      `responses by status (0: none): ${formatCounts(this.statuses)}`,
      `responses of the endpoint: ${this.endpoint.count}; maximum memory: ${Math.round(this.server.memory.maxRss / 2 ** 20)} MiB`,
      `${Math.round(this.durationMs / 1000)} s; secrets of the other tenant absent from all requests: ${this.secrets.length}`,
      `findings: ${formatCounts(this.counts) || 'none'}`,
      ...this.server.faults.slice(0, 10).map((line) => `log: ${line}`),
    ];
  }
}

/** Returns the text with one character changed. */
function alterCharacter(text, random) {
  const index = random.below(text.length);
  return `${text.slice(0, index)}${text[index] === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`;
}

const MAX_SHOWN_BYTES = 1_500;

/** Returns the bytes as a JSON string, or in base64 if they are long or not text. */
function reproducibleText(bytes) {
  const text = bytes.toString('latin1');
  const isText = !/[^!-~]/.test(text.replace(/\s/g, ''));
  if (bytes.length <= MAX_SHOWN_BYTES && isText) return JSON.stringify(text);
  return `${bytes.length} bytes, base64: ${bytes.subarray(0, MAX_SHOWN_BYTES).toString('base64')}${bytes.length > MAX_SHOWN_BYTES ? '...' : ''}`;
}

function decodeURIComponentSafely(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
