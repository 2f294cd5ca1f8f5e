/** Sends the requests, monitors the server, and collects findings. */
import { openEndpoint } from './endpoint.mjs';
import { bytesOf, damagedRequest, sendBytes } from './raw-http.mjs';
import { operationsOf, requestOf } from './requests.mjs';
import { startService } from './service.mjs';
import { ask, operatorOf, Tenant } from './tenants.mjs';

const AT_ONCE = 16;
const MEND_EVERY = 250;
const TIMEOUT_MS = 15_000;
/** Operations that may respond as late as the client requests. */
const MAY_WAIT = new Set([
  'streamHints',
  'getRunResult',
  'triggerRun',
  'checkRun',
  'checkDeadLetters',
  'startWorkflow',
  'settleClock',
]);
const WAITS_MS = 1_500;
/** A stall counts if the server itself worked for at least this long during it. */
const STALL_CPU_MS = 200;
const MAX_PER_KIND = 20;
/** Memory in addition to the heap: buffers, code and the database. */
const RSS_BEYOND_HEAP_MB = 450;
const OF_ANOTHER_TENANT = 0.15;
/** Operations sent with operator credentials, which can see everything. They only read, or change objects given by id. */
const OF_OPERATOR = new Set([
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
    this.tookMs = 0;
  }

  /** Resolves with the findings. */
  async run() {
    this.endpoint = await openEndpoint(this.seed);
    this.service = await startService({
      heapMb: this.heapMb,
      endpointPort: this.endpoint.port,
      onStall: (stall) => this.stalled(stall),
    });
    try {
      await this.prepare();
      this.isSending = true;
      const since = performance.now();
      await this.sendAll();
      this.tookMs = performance.now() - since;
      this.isSending = false;
      await this.checkVictim();
      await this.checkAudit();
    } finally {
      await this.service.stop().catch(() => {});
      this.endpoint.close();
    }
    this.checkMemory();
    return this.findings;
  }

  async prepare() {
    const { port, credentials } = this.service;
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
      documents[api] = await ask(this.base, null, 'GET', path);
    this.operations = operationsOf(documents);
  }

  /** State that requests depend on; see `requestOf`. */
  harness() {
    return {
      credentialOf: ({ api, operation: { operationId, security = [] } }, random) => {
        const { user, token, readOnly, indexToken, session } = this.own;
        const takes = (scheme) => security.some((each) => scheme in each);
        if (session && (takes('session') || random.chance(0.15)) && random.chance(0.9)) return session;
        const asOperator = OF_OPERATOR.has(operationId) && random.chance(0.5);
        if (api === 'management' || takes('basic')) return [['authorization', asOperator ? this.operator : user]];
        const bearer = api === 'search' ? indexToken : random.chance(0.9) ? token : readOnly;
        return [['authorization', `Bearer ${bearer}`]];
      },
      nameOf: (name, random, operationId) => {
        // The operator may change objects of others by id.
        const theirs = random.chance(OF_ANOTHER_TENANT) && !OF_OPERATOR.has(operationId);
        const known = (theirs ? this.victim : this.own).ids[name];
        const id = known && known.length > 0 ? random.pick(known) : undefined;
        return name === 'cursor' && id !== undefined && random.chance(0.3) ? turned(id, random) : id;
      },
    };
  }

  async sendAll() {
    let next = this.from;
    const end = this.from + this.requests;
    let mending = Promise.resolve();
    const worker = async () => {
      while (next < end && !this.service.exit) {
        const n = next++;
        if (n % MEND_EVERY === 0)
          mending = this.own.mend(this.operator, this.target).then(
            (tenant) => {
              this.own = tenant;
            },
            (error) => this.find('setup', null, `the tenant could not be repaired: ${error.message}`),
          );
        await mending;
        if (n > this.from && n % 5_000 === 0)
          this.print(
            `${n - this.from} requests, ${this.findings.length} findings, RSS ${Math.round(this.service.memory.rss / 2 ** 20)} MiB`,
          );
        await this.sendOne(requestOf(this.operations, this.seed, n, this.harness()));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (this.service.exit)
      this.find(
        'exit',
        this.recent.at(-1),
        `the server ended: ${JSON.stringify(this.service.exit)} ${this.service.faults.slice(-3).join(' | ')}`,
      );
  }

  async sendOne(request) {
    const from = `10.${(request.n >> 16) & 255}.${(request.n >> 8) & 255}.${request.n & 255}`;
    const headers = [...request.headers, ['x-forwarded-for', from]];
    const whole = bytesOf({ ...request, headers }, `127.0.0.1:${this.service.port}`);
    const bytes = request.damage === null ? whole : damagedRequest(whole, request.damage);
    const sent = { ...request, bytes };
    this.recent.push(sent);
    if (this.recent.length > 4 * AT_ONCE) this.recent.shift();
    const mayWait = MAY_WAIT.has(request.operationId);
    const response = await sendBytes(bytes, {
      port: this.service.port,
      timeoutMs: mayWait ? WAITS_MS : TIMEOUT_MS,
      // A truncated request waits for its remainder.
      endAfterMs: request.kind === 'raw' ? 200 : null,
    });
    sent.status = response.status;
    this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1);
    this.kinds.set(request.kind, (this.kinds.get(request.kind) ?? 0) + 1);
    const cursor = /"cursor":"([^"]{20,})"/.exec(response.text)?.[1];
    if (cursor) this.own.ids.cursor = [cursor, ...(this.own.ids.cursor ?? []).slice(0, 9)];
    this.judge(sent, response, mayWait);
  }

  judge(sent, { status, text, how }, mayWait) {
    if (status >= 500 && status !== 503) this.find(`status ${status}`, sent, text.slice(-400));
    if (status === 503) this.find('status 503', sent, text.slice(-400));
    if (how === 'late' && !mayWait) this.find('unanswered', sent, `no complete response within ${TIMEOUT_MS} ms`);
    if (sent.kind !== 'raw' && how === 'closed' && status === 0)
      this.find('closed', sent, 'the connection was closed without a response');
    const given = sent.bytes.toString('utf8') + decodeURIComponentSafely(sent.target);
    // A value sent once may be stored and returned later.
    this.secrets = this.secrets.filter((secret) => !given.includes(secret));
    const seen = this.secrets.filter((secret) => text.includes(secret));
    // An operator may see all tenants.
    if (seen.length > 0 && !given.includes(this.operator))
      this.find('leak', sent, `the response contains ${seen.join(', ')} of the other tenant: ${text.slice(-400)}`);
  }

  stalled({ stallMs, cpuMs }) {
    if (!this.isSending || cpuMs < STALL_CPU_MS) return;
    const last = this.recent.slice(-AT_ONCE).map(({ n, operationId }) => `${n} ${operationId}`);
    this.find(
      'stall',
      this.recent.at(-1),
      `the event loop was blocked for ${Math.round(stallMs)} ms (${Math.round(cpuMs)} ms of work) around: ${last.join(', ')}`,
    );
  }

  async checkVictim() {
    if (this.service.exit) return;
    const after = await this.victim.fingerprint().catch((error) => ({ hash: '', parts: [error.message] }));
    if (after.hash === this.before.hash) return;
    const differing = after.parts.flatMap((part, index) =>
      JSON.stringify(part) === JSON.stringify(this.before.parts[index])
        ? []
        : [
            `part ${index}: ${JSON.stringify(this.before.parts[index]).slice(0, 600)} became ${JSON.stringify(part).slice(0, 600)}`,
          ],
    );
    this.find('other tenant', null, `the other tenant has changed: ${differing.join('\n')}`);
  }

  /** Verifies that the audit log is intact afterwards. */
  async checkAudit() {
    if (this.service.exit) return;
    let after = 0;
    while (after !== null) {
      const { faults, next } = await ask(this.base, this.operator, 'GET', `/v2/audit/verify?after=${after}`);
      if (faults.length > 0) this.find('audit chain', null, JSON.stringify(faults.slice(0, 5)));
      after = next;
    }
  }

  checkMemory() {
    const most = Math.round(this.service.memory.most / 2 ** 20);
    if (most > this.heapMb + RSS_BEYOND_HEAP_MB)
      this.find('memory', null, `the server used up to ${most} MiB, with a heap of ${this.heapMb} MiB`);
  }

  find(kind, sent, message) {
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    if (count > MAX_PER_KIND) return;
    const request = sent ? { n: sent.n, operationId: sent.operationId, damage: sent.kind, bytes: shown(sent.bytes) } : null;
    this.findings.push({ kind, message, request });
    // A campaign can take an hour, and can be stopped before its summary.
    this.print(`finding: ${kind} at request ${request?.n ?? '-'}: ${message.slice(0, 1_000)}`);
  }

  summary() {
    const list = (counts) =>
      [...counts]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, count]) => `${name}: ${count}`)
        .join(', ');
    return [
      `${this.operations?.length ?? 0} operations; requests by damage: ${list(this.kinds)}`,
      `responses by status (0: none): ${list(this.statuses)}`,
      `responses of the endpoint: ${this.endpoint.count}; maximum memory: ${Math.round(this.service.memory.most / 2 ** 20)} MiB`,
      `${Math.round(this.tookMs / 1000)} s; secrets of the other tenant absent from all requests: ${this.secrets.length}`,
      `findings: ${list(this.counts) || 'none'}`,
      ...this.service.faults.slice(0, 10).map((line) => `log: ${line}`),
    ];
  }
}

/** Returns the text with one letter changed. */
function turned(text, random) {
  const at = random.below(text.length);
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
}

const SHOWN_BYTES = 1_500;

/** Returns a command that sends the same bytes again. */
function shown(bytes) {
  const text = bytes.toString('latin1');
  const isText = !/[^!-~]/.test(text.replace(/\s/g, ''));
  if (bytes.length <= SHOWN_BYTES && isText) return JSON.stringify(text);
  return `${bytes.length} bytes, base64: ${bytes.subarray(0, SHOWN_BYTES).toString('base64')}${bytes.length > SHOWN_BYTES ? '...' : ''}`;
}

function decodeURIComponentSafely(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
