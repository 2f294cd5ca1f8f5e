import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Config, type ConfigSources, parseConfig } from './config.js';
import { assertLimits, LIMITS } from './limits.js';

const parse = (sources: Partial<ConfigSources>) => parseConfig({ mode: 'dev', flags: {}, env: {}, cwd: '/srv/app', ...sources });

function parsed(sources: Partial<ConfigSources>): Config {
  const result = parse(sources);
  assert.ok(result.ok, result.ok ? '' : result.problems.join('\n'));
  return result.config;
}

function problemsOf(sources: Partial<ConfigSources>): string {
  const result = parse(sources);
  assert.ok(!result.ok, 'the configuration must be refused');
  return result.problems.join('\n');
}

test('by default, dev listens on 127.0.0.1:8080 and stores its data in ./.everstep', () => {
  assert.deepEqual(parsed({}), {
    mode: 'dev',
    host: '127.0.0.1',
    port: 8080,
    managementAddress: null,
    publicUrl: null,
    dashboardUrl: null,
    dataDir: '/srv/app/.everstep',
    store: { kind: 'file', file: '/srv/app/.everstep/everstep.db' },
    secretsKeys: null,
    tls: null,
    acceptLoss: false,
    nodeLeaseMs: 5_000,
    nodeUrl: null,
    commits: null,
    plansFile: null,
    newInstancePlan: null,
    maxTimeoutMs: LIMITS.maxDeliveryTimeoutMs,
    metricsAddress: null,
    metricsNames: 50,
    metricsToken: null,
    mail: null,
    tracing: null,
    envFile: null,
    printCredentials: true,
    demo: true,
    virtualClock: false,
    logLevel: 'warn',
    accessLog: false,
    allowAddresses: [],
    allowLoopback: true,
    denyAddresses: [],
    allowPorts: [],
    nat64Prefixes: [],
    egressProxy: null,
    nameSource: 'resolv.conf',
    trustedProxies: [],
    queryTokens: true,
    auditRetentionMs: 400 * 86_400_000,
    insightRetention: { minutesMs: 48 * 3_600_000, hoursMs: 90 * 86_400_000 },
    auditWebhookUrl: null,
    auditWebhookKey: null,
    region: 'eu-central-1',
    adminEmail: 'admin@localhost',
    signIn: null,
  });
});

test('serve has no demo, refuses loopback destinations and logs at info', () => {
  const config = parsed({ mode: 'serve', env: { EVERSTEP_DEMO: '1' } });
  assert.deepEqual([config.demo, config.allowLoopback, config.logLevel], [false, false, 'info']);
  assert.equal(config.printCredentials, false);
});

test('the configuration is frozen', () => {
  assert.ok(Object.isFrozen(parsed({})));
  assert.ok(Object.isFrozen(parsed({ env: { EVERSTEP_ALLOW_ADDRESSES: '10.0.0.0/8' } }).allowAddresses));
});

const GOOD: readonly [string, Partial<ConfigSources>, Partial<Config>][] = [
  ['the system resolver', { env: { EVERSTEP_DNS_SERVERS: 'system' } }, { nameSource: 'system' }],
  [
    'DNS servers',
    { env: { EVERSTEP_DNS_SERVERS: '10.0.0.2, 10.0.0.3:5353,fd00::2,[fd00::3]:53' } },
    { nameSource: { servers: ['10.0.0.2', '10.0.0.3:5353', 'fd00::2', '[fd00::3]:53'] } },
  ],
  [
    'an address for metrics',
    { env: { EVERSTEP_METRICS_ADDRESS: '127.0.0.1:9464' } },
    { metricsAddress: { host: '127.0.0.1', port: 9464 } },
  ],
  ['a token for metrics', { env: { EVERSTEP_METRICS_TOKEN: 'm'.repeat(32) } }, { metricsToken: 'm'.repeat(32) }],
  [
    'an endpoint for traces',
    { env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces', OTEL_TRACES_SAMPLER: 'always_on' } },
    {
      tracing: {
        ...{ url: 'http://collector:4318/v1/traces', headers: {}, timeoutMs: 10_000, isCompressed: false },
        ...{ resource: { 'service.name': 'everstep' }, sampler: 'always_on', ratio: 1 },
        ...{ maxQueuedSpans: 2_048, maxBatchSpans: 512, delayMs: 5_000 },
      },
    },
  ],
  ['a number of names in metrics', { flags: { metricsNames: '0' } }, { metricsNames: 0 }],
  ['a maximum timeout', { env: { EVERSTEP_MAX_TIMEOUT: '90m' } }, { maxTimeoutMs: 5_400_000 }],
  ['a maximum timeout in seconds', { flags: { maxTimeout: '30' } }, { maxTimeoutMs: 30_000 }],
  ['a plan for new instances', { env: { EVERSTEP_NEW_INSTANCE_PLAN: 'free' } }, { newInstancePlan: 'free' }],
  ['a port', { env: { EVERSTEP_PORT: '0' } }, { port: 0 }],
  ['a flag over a variable', { flags: { port: '9000' }, env: { EVERSTEP_PORT: '1' } }, { port: 9000 }],
  [
    'a port of the management API',
    { env: { EVERSTEP_MANAGEMENT_ADDRESS: '8081' } },
    { managementAddress: { host: null, port: 8081 } },
  ],
  [
    'an address of the management API',
    { flags: { managementAddress: '10.0.0.1:0' } },
    { managementAddress: { host: '10.0.0.1', port: 0 } },
  ],
  [
    'an IPv6 address of the management API',
    { flags: { managementAddress: '[::1]:8081' } },
    { managementAddress: { host: '::1', port: 8081 } },
  ],
  ['an empty variable as unset', { env: { EVERSTEP_PORT: '' } }, { port: 8080 }],
  ['an IPv6 host', { env: { EVERSTEP_HOST: '::1' } }, { host: '::1' }],
  [
    'a public URL, without its trailing slash',
    { env: { EVERSTEP_PUBLIC_URL: 'https://a.example/e/' } },
    { publicUrl: 'https://a.example/e' },
  ],
  ['a dashboard URL', { env: { EVERSTEP_DASHBOARD_URL: 'https://d.example/' } }, { dashboardUrl: 'https://d.example' }],
  ['a host name', { flags: { host: 'localhost' } }, { host: 'localhost' }],
  [
    'a relative data directory',
    { env: { EVERSTEP_DATA_DIR: 'd' } },
    { dataDir: '/srv/app/d', store: { kind: 'file', file: '/srv/app/d/everstep.db' } },
  ],
  [
    'a store outside of the data directory',
    { env: { EVERSTEP_STORE: '/x/y.db' } },
    { store: { kind: 'file', file: '/x/y.db' }, dataDir: '/srv/app/.everstep' },
  ],
  [
    'a database',
    { env: { EVERSTEP_STORE: 'postgres://u:p@h:5/db' } },
    { store: { kind: 'postgres', url: 'postgres://u:p@h:5/db' } },
  ],
  [
    'a database on several hosts',
    { env: { EVERSTEP_STORE: 'postgres://u:p@h1:5432,[::1]:5433,h3/db?target_session_attrs=read-write' } },
    { store: { kind: 'postgres', url: 'postgres://u:p@h1:5432,[::1]:5433,h3/db?target_session_attrs=read-write' } },
  ],
  ['the URL of a node', { env: { EVERSTEP_NODE_URL: 'http://10.0.0.7:8080/' } }, { nodeUrl: 'http://10.0.0.7:8080' }],
  ['a lease', { env: { EVERSTEP_NODE_LEASE: '2.5' } }, { nodeLeaseMs: 2_500 }],
  ['commits by instance', { flags: { commits: 'by-instance' } }, { commits: 'by-instance' }],
  ['an env file', { env: { EVERSTEP_ENV_FILE: 'e.env' } }, { envFile: '/srv/app/e.env' }],
  ['EVERSTEP_DEMO=0', { env: { EVERSTEP_DEMO: '0' } }, { demo: false }],
  ['EVERSTEP_DEMO=false', { env: { EVERSTEP_DEMO: 'False' } }, { demo: false }],
  ['--no-demo', { flags: { demo: false }, env: { EVERSTEP_DEMO: '1' } }, { demo: false }],
  ['EVERSTEP_VIRTUAL_CLOCK=1', { env: { EVERSTEP_VIRTUAL_CLOCK: '1' } }, { virtualClock: true }],
  ['--virtual-clock', { flags: { virtualClock: true }, env: { EVERSTEP_VIRTUAL_CLOCK: '0' } }, { virtualClock: true }],
  ['--accept-loss', { flags: { acceptLoss: true } }, { acceptLoss: true }],
  ['EVERSTEP_ACCEPT_LOSS', { env: { EVERSTEP_ACCEPT_LOSS: '1' } }, { acceptLoss: true }],
  ['serve without a virtual clock', { mode: 'serve', env: { EVERSTEP_VIRTUAL_CLOCK: '0' } }, { virtualClock: false }],
  ['a log level', { env: { EVERSTEP_LOG_LEVEL: 'debug' } }, { logLevel: 'debug' }],
  [
    'hosts, addresses and CIDRs',
    { env: { EVERSTEP_ALLOW_ADDRESSES: 'app.internal, 10.0.0.0/8,fd00::/8 ,127.0.0.1' } },
    { allowAddresses: ['app.internal', '10.0.0.0/8', 'fd00::/8', '127.0.0.1'] },
  ],
  [
    'destinations with ports',
    {
      env: { EVERSTEP_ALLOW_ADDRESSES: '10.0.0.5:8080,[fd00::1]:80', EVERSTEP_DENY_ADDRESSES: '*.corp.example,10.96.0.0/12:443' },
    },
    { allowAddresses: ['10.0.0.5:8080', '[fd00::1]:80'], denyAddresses: ['*.corp.example', '10.96.0.0/12:443'] },
  ],
  ['an egress proxy', { env: { EVERSTEP_EGRESS_PROXY: 'http://u:p@proxy:3128' } }, { egressProxy: 'http://u:p@proxy:3128/' }],
  ['ports', { env: { EVERSTEP_ALLOW_PORTS: '25, 6379' } }, { allowPorts: [25, 6379] }],
  [
    'NAT64 prefixes',
    { env: { EVERSTEP_NAT64_PREFIXES: '64:ff9b::/96,2001:db8:64::/48' } },
    { nat64Prefixes: ['64:ff9b::/96', '2001:db8:64::/48'] },
  ],
  ['proxies', { env: { EVERSTEP_TRUSTED_PROXIES: '10.0.0.0/8, ::1' } }, { trustedProxies: ['10.0.0.0/8', '::1'] }],
  ['an access log', { env: { EVERSTEP_ACCESS_LOG: '1' } }, { accessLog: true }],
  ['refused query tokens', { flags: { queryTokens: false } }, { queryTokens: false }],
  ['a region', { env: { EVERSTEP_REGION: 'us-east-1' } }, { region: 'us-east-1' }],
  ['the first user', { env: { EVERSTEP_ADMIN_EMAIL: 'me@example.com' } }, { adminEmail: 'me@example.com' }],
  [
    'variables that clients read',
    {
      env: {
        EVERSTEP_URL: 'x',
        EVERSTEP_MANAGEMENT_URL: 'x',
        EVERSTEP_TOKEN: 'x',
        EVERSTEP_READONLY_TOKEN: 'x',
        EVERSTEP_CURRENT_SIGNING_KEY: 'x',
        EVERSTEP_NEXT_SIGNING_KEY: 'x',
        EVERSTEP_ADMIN_API_KEY: 'x',
      },
    },
    { port: 8080 },
  ],
  ['unrelated variables', { env: { PORT: 'x', EVERSTEPPER: 'x' } }, { port: 8080 }],
];
for (const [name, sources, expected] of GOOD) {
  test(`accepts ${name}`, () => {
    const config = parsed(sources);
    for (const [key, value] of Object.entries(expected)) assert.deepEqual(config[key as keyof Config], value, key);
  });
}

const BAD: readonly [string, Partial<ConfigSources>, RegExp][] = [
  ['a port that is not a number', { env: { EVERSTEP_PORT: '80a' } }, /EVERSTEP_PORT must be .* 0 to 65535.*"80a"/],
  [
    'a proxy given by its name',
    { env: { EVERSTEP_TRUSTED_PROXIES: 'proxy.internal' } },
    /EVERSTEP_TRUSTED_PROXIES must be IP addresses or CIDRs/,
  ],
  ['a port out of range', { flags: { port: '65536' } }, /--port must be/],
  ['a port with a sign', { env: { EVERSTEP_PORT: '-1' } }, /EVERSTEP_PORT/],
  ['a fractional port', { env: { EVERSTEP_PORT: '8080.5' } }, /EVERSTEP_PORT/],
  ['a management address without a port', { env: { EVERSTEP_MANAGEMENT_ADDRESS: 'localhost' } }, /must be a port, or an address/],
  [
    'an IPv6 management address without brackets',
    { flags: { managementAddress: '::1:8081' } },
    /--management-address must be a port/,
  ],
  ['a management port out of range', { flags: { managementAddress: 'localhost:99999' } }, /0 to 65535/],
  ['a host with a port', { env: { EVERSTEP_HOST: 'localhost:80' } }, /EVERSTEP_HOST .* without a port/],
  [
    'a database URL without a database name',
    { env: { EVERSTEP_STORE: 'postgres://u:secret@h' } },
    /must include a database name.*got "postgres:\/\/\.\.\.@h"/,
  ],
  [
    'a database URL with a missing host',
    { env: { EVERSTEP_STORE: 'postgres://u:secret@h1:5432,/db' } },
    /must list hosts.*got "postgres:\/\/\.\.\.@h1:5432,\/db"/,
  ],
  [
    'a database URL that selects a replica',
    { env: { EVERSTEP_STORE: 'postgres://u:secret@h1,h2/db?target_session_attrs=standby' } },
    /EVERSTEP_STORE must not set this target_session_attrs/,
  ],
  [
    'a store with another URL scheme',
    { env: { EVERSTEP_STORE: 'mysql://h/db' } },
    /must be a file path or a URL that starts with postgres/,
  ],
  ['a lease that is too short', { env: { EVERSTEP_NODE_LEASE: '0.5' } }, /from 1 to 300/],
  [
    'a timeout without a number',
    { env: { EVERSTEP_MAX_TIMEOUT: 'long' } },
    /EVERSTEP_MAX_TIMEOUT must be a duration from 1s to 12h/,
  ],
  ['a timeout over the limit', { env: { EVERSTEP_MAX_TIMEOUT: '13h' } }, /from 1s to 12h/],
  [
    'a DNS server given by its name',
    { env: { EVERSTEP_DNS_SERVERS: 'dns.internal' } },
    /EVERSTEP_DNS_SERVERS must be "system", or IP/,
  ],
  ['a DNS server with an invalid port', { env: { EVERSTEP_DNS_SERVERS: '10.0.0.2:99999' } }, /EVERSTEP_DNS_SERVERS must be/],
  [
    'an empty list of DNS servers',
    { env: { EVERSTEP_DNS_SERVERS: ',' } },
    /EVERSTEP_DNS_SERVERS must contain at least one server/,
  ],
  ['a store in memory', { env: { EVERSTEP_STORE: ':memory:' } }, /is not durable/],
  [
    'a retention without a unit',
    { env: { EVERSTEP_AUDIT_RETENTION: '400' } },
    /EVERSTEP_AUDIT_RETENTION must be a number of days/,
  ],
  [
    'an audit webhook without a key',
    { env: { EVERSTEP_AUDIT_WEBHOOK_URL: 'https://siem.test/in', EVERSTEP_AUDIT_WEBHOOK_KEY: 'short' } },
    /EVERSTEP_AUDIT_WEBHOOK_URL requires EVERSTEP_AUDIT_WEBHOOK_KEY, a signing key of at least 32 characters/,
  ],
  ['an invalid demo switch', { env: { EVERSTEP_DEMO: 'maybe' } }, /EVERSTEP_DEMO must be 1 or 0/],
  ['an invalid virtual clock switch', { env: { EVERSTEP_VIRTUAL_CLOCK: '7d' } }, /EVERSTEP_VIRTUAL_CLOCK must be 1 or 0.*"7d"/],
  [
    'a virtual clock for serve',
    { mode: 'serve', env: { EVERSTEP_VIRTUAL_CLOCK: '1' } },
    /EVERSTEP_VIRTUAL_CLOCK is for tests and requires `everstep dev`/,
  ],
  [
    'a virtual clock for serve with its flag',
    { mode: 'serve', flags: { virtualClock: true } },
    /--virtual-clock is for tests and requires `everstep dev`/,
  ],
  ['an unknown log level', { env: { EVERSTEP_LOG_LEVEL: 'loud' } }, /EVERSTEP_LOG_LEVEL must be one of debug, info/],
  ['a CIDR with too many bits', { env: { EVERSTEP_ALLOW_ADDRESSES: '10.0.0.0/33' } }, /"10\.0\.0\.0\/33" is invalid/],
  ['an invalid denied port', { flags: { denyAddresses: 'a:0' } }, /--deny-addresses must be host names.*"a:0" is invalid/],
  [
    'an egress proxy of another kind',
    { env: { EVERSTEP_EGRESS_PROXY: 'socks5://u:secret@proxy:1080' } },
    /EVERSTEP_EGRESS_PROXY must be an http or https URL.*got "socks5:\/\/\.\.\.@proxy:1080"/,
  ],
  ['an invalid port', { env: { EVERSTEP_ALLOW_PORTS: '25,smtp' } }, /EVERSTEP_ALLOW_PORTS must be ports from 1 to 65535/],
  ['a NAT64 prefix of another length', { env: { EVERSTEP_NAT64_PREFIXES: '64:ff9b::/90' } }, /must be IPv6 prefixes of 32/],
  ['an address with a scheme', { env: { EVERSTEP_ALLOW_ADDRESSES: 'http://a' } }, /EVERSTEP_ALLOW_ADDRESSES/],
  ['an unknown region', { env: { EVERSTEP_REGION: 'mars-1' } }, /us-east-1, eu-central-1/],
  ['an admin email with a colon', { env: { EVERSTEP_ADMIN_EMAIL: 'a:b@c' } }, /EVERSTEP_ADMIN_EMAIL/],
  ['an empty flag', { flags: { dataDir: '' } }, /--data-dir requires a value/],
  [
    'a misspelled variable',
    { env: { EVERSTEP_PROT: '1' } },
    /EVERSTEP_PROT is not a setting of Everstep; did you mean EVERSTEP_PORT\?/,
  ],
  ['another misspelled variable', { env: { EVERSTEP_DATADIR: 'x' } }, /did you mean EVERSTEP_DATA_DIR\?/],
  [
    'an unknown variable',
    { env: { EVERSTEP_BANANA_SPLIT: 'x' } },
    /EVERSTEP_BANANA_SPLIT is not .*known settings: EVERSTEP_PORT/,
  ],
];
test('the service links of Kubernetes are refused with the setting that turns them off, and other problems are still reported', () => {
  const links = {
    EVERSTEP_SERVICE_HOST: '10.96.3.4',
    EVERSTEP_SERVICE_PORT_HTTP: '80',
    EVERSTEP_PORT: 'tcp://10.96.3.4:80',
    EVERSTEP_PORT_80_TCP: 'tcp://10.96.3.4:80',
    EVERSTEP_PORT_80_TCP_ADDR: '10.96.3.4',
    EVERSTEP_MANAGEMENT_PORT: 'tcp://10.96.3.5:80',
  };
  const refusal =
    'EVERSTEP_PORT=tcp://10.96.3.4:80 is a service link of Kubernetes, not a setting of Everstep; set enableServiceLinks: false in the pod spec';
  assert.equal(problemsOf({ env: links }), refusal);
  const [first, second, ...rest] = problemsOf({ env: { ...links, EVERSTEP_PORT: 'http', EVERSTEP_HOTS: 'x' } }).split('\n');
  assert.match(first ?? '', /^EVERSTEP_PORT_80_TCP=.* is a service link/);
  assert.match(second ?? '', /^EVERSTEP_HOTS is not a setting/);
  assert.match(rest.join('\n'), /^EVERSTEP_PORT must be a whole number.*got "http"$/);
});

for (const [name, sources, expected] of BAD) {
  test(`refuses ${name}`, () => {
    assert.match(problemsOf(sources), expected);
  });
}

test('all problems are reported at once', () => {
  const problems = problemsOf({ env: { EVERSTEP_PORT: 'x', EVERSTEP_REGION: 'y', EVERSTEP_NOPE: 'z' } });
  assert.equal(problems.split('\n').length, 3);
});

test('contradictory limits fail the start', () => {
  assert.doesNotThrow(() => assertLimits());
  assert.throws(() => assertLimits({ ...LIMITS, maxRetries: 2 }), /defaultRetries <= maxRetries must hold/);
});

test('single sign-on requires a complete configuration', () => {
  const of = (env: Readonly<Record<string, string>>) => parseConfig({ mode: 'serve', flags: {}, env, cwd: '/' });
  const [issuer, client] = [{ EVERSTEP_OIDC_ISSUER: 'https://id.test/realm' }, { EVERSTEP_OIDC_CLIENT_ID: 'everstep' }];
  const roles = { EVERSTEP_OIDC_ROLE_CLAIM: 'groups', EVERSTEP_OIDC_ROLES: 'ops=operator,devs=team_01A:dev' };
  const parsed = of({
    ...issuer,
    ...client,
    ...roles,
    EVERSTEP_OIDC_DOMAINS: 'Corp.test, b.test',
    EVERSTEP_OIDC_CREATE_USERS: 'true',
  });
  assert.ok(parsed.ok);
  const { signIn } = parsed.config;
  assert.deepEqual(
    [signIn?.issuer, signIn?.scopes, signIn?.createUsers],
    ['https://id.test/realm', 'openid email profile', true],
  );
  assert.deepEqual(signIn?.domains, ['corp.test', 'b.test']);
  assert.deepEqual(signIn?.grants, [
    { value: 'ops', grants: 'operator' },
    { value: 'devs', grants: 'dev', teamId: 'team_01A' },
  ]);
  for (const bad of [
    issuer,
    client,
    { ...issuer, ...client, EVERSTEP_OIDC_ROLES: 'ops=operator' },
    { ...issuer, ...client, ...roles, EVERSTEP_OIDC_ROLES: 'ops=root' },
    { ...issuer, ...client, ...roles, EVERSTEP_OIDC_ROLES: 'ops=team_01A:root' },
    { ...client, EVERSTEP_OIDC_ISSUER: 'http://id.test' },
    { ...issuer, ...client, EVERSTEP_OIDC_DOMAINS: 'corp' },
    { ...issuer, ...client, EVERSTEP_OIDC_LINK_BY_EMAIL: 'maybe' },
  ])
    assert.equal(of(bad).ok, false, JSON.stringify(bad));
});
