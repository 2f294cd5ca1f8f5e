/**
 * Every setting of the service: its environment variable, its flag, how it is
 * read, and what it is for. `everstep dev --help` and `everstep serve --help`
 * are made from this table.
 */

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { DAY_MS, parseAuditRetention, parseNodeLease, parseTimeout } from './duration-values.js';
import { LIMITS } from './limits.js';
import {
  type NameSource,
  parseAddresses,
  parseDnsServers,
  parseEgressProxy,
  parseNat64Prefixes,
  parsePorts,
  parseProxies,
  parsePublicUrl,
  parseWebhookUrl,
} from './network-values.js';
import { DEFAULT_REGION, REGIONS, type Region } from './regions.js';
import { parseSecretKeys, type SecretKeys } from './secret-keys.js';
import { SIGN_IN_SETTINGS } from './sign-in-settings.js';
import { parseStore, type StoreSetting } from './store-setting.js';

export type { StoreSetting } from './store-setting.js';

export type Mode = 'dev' | 'serve';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Surroundings {
  readonly mode: Mode;
  /** Relative paths start here. */
  readonly cwd: string;
}

export interface Setting<Value> {
  readonly env: string;
  /** As commander writes it; `--no-x` for switches that are on by default. */
  readonly flag: string;
  /** Name of the flag among the parsed options. */
  readonly option: string;
  readonly help: string;
  /** In words, for the help. */
  readonly defaultText: string;
  /** Whether a value that is invalid is left out of the message about it. */
  readonly isSecret?: true;
  readonly fallback: (surroundings: Surroundings) => Value;
  /** Throws an Error that says what is allowed. */
  readonly parse: (text: string, surroundings: Surroundings) => Value;
}

const oneOf =
  <Value extends string>(values: readonly Value[]) =>
  (text: string): Value => {
    const found = values.find((value) => value === text);
    if (found === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return found;
  };

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new Error('must be a whole number from 0 to 65535 (0 takes a free port)');
  return port;
}

function parseHost(text: string): string {
  if (isIP(text) || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text)) return text;
  throw new Error('must be an IP address or a host name, without a port');
}

/** Where to listen. */
export interface ListenAddress {
  /** Null: the host that everything listens on. */
  readonly host: string | null;
  readonly port: number;
}

function parseListenAddress(text: string): ListenAddress {
  const found = /^(?:(?:\[([^\]]+)\]|([^:]+)):)?(\d{1,5})$/.exec(text);
  if (!found) throw new Error('must be a port, or an address and a port such as 127.0.0.1:8081 or [::1]:8081');
  const [, inBrackets, name, port = ''] = found;
  const host = inBrackets ?? name ?? null;
  return { host: host === null ? null : parseHost(host), port: parsePort(port) };
}

/** Whether a transaction on a database may have writes of several queue instances. */
export type Commits = 'together' | 'by-instance';

function parseCommits(text: string): Commits {
  if (text === 'together' || text === 'by-instance') return text;
  throw new Error('must be together, or by-instance where the tables are spread over servers by the queue instance');
}

function parseSwitch(text: string): boolean {
  if (['1', 'true', 'yes', 'on'].includes(text.toLowerCase())) return true;
  if (['0', 'false', 'no', 'off'].includes(text.toLowerCase())) return false;
  throw new Error('must be 1 or 0');
}

function parseVirtualClock(text: string, { mode }: Surroundings): boolean {
  const wanted = parseSwitch(text);
  if (wanted && mode === 'serve') throw new Error('is for tests, and only `everstep dev` takes it: others rely on the time');
  return wanted;
}

function parseEmail(text: string): string {
  if (/^[^\s@:]+@[^\s@:]+$/.test(text)) return text;
  throw new Error('must be an e-mail address');
}

const parsePath = (text: string, { cwd }: Surroundings): string => resolve(cwd, text);

/** Keeps each row's own value type; the table below is typed by its rows. */
const setting = <Value>(row: Setting<Value>): Setting<Value> => row;

export const SETTINGS = Object.freeze({
  port: setting({
    env: 'EVERSTEP_PORT',
    flag: '--port <number>',
    option: 'port',
    help: 'port to listen on; 0 takes a free one',
    defaultText: '8080',
    fallback: () => 8080,
    parse: parsePort,
  }),
  host: setting({
    env: 'EVERSTEP_HOST',
    flag: '--host <address>',
    option: 'host',
    help: 'address to listen on; 0.0.0.0 to be reached from other machines',
    defaultText: '127.0.0.1',
    fallback: () => '127.0.0.1',
    parse: parseHost,
  }),
  managementAddress: setting<ListenAddress | null>({
    env: 'EVERSTEP_MANAGEMENT_ADDRESS',
    flag: '--management-address <address>',
    option: 'managementAddress',
    help: 'a port, or address:port, on which the management API alone listens',
    defaultText: 'it is served together with the runtime API',
    fallback: () => null,
    parse: parseListenAddress,
  }),
  tlsCert: setting<string | null>({
    env: 'EVERSTEP_TLS_CERT',
    flag: '--tls-cert <path>',
    option: 'tlsCert',
    help: 'PEM file with the certificate and its chain: the service speaks HTTPS; read again when it changes',
    defaultText: 'plain HTTP',
    fallback: () => null,
    parse: parsePath,
  }),
  tlsKey: setting<string | null>({
    env: 'EVERSTEP_TLS_KEY',
    flag: '--tls-key <path>',
    option: 'tlsKey',
    help: 'PEM file with the private key of the certificate',
    defaultText: 'plain HTTP',
    fallback: () => null,
    parse: parsePath,
  }),
  publicUrl: setting<string | null>({
    env: 'EVERSTEP_PUBLIC_URL',
    flag: '--public-url <url>',
    option: 'publicUrl',
    help: 'where others reach the service; webhook URLs begin with it',
    defaultText: 'http://<host>:<port>, or https with a certificate',
    fallback: () => null,
    parse: parsePublicUrl,
  }),
  dataDir: setting({
    env: 'EVERSTEP_DATA_DIR',
    flag: '--data-dir <path>',
    option: 'dataDir',
    help: 'where runs and credentials are kept',
    defaultText: './.everstep',
    fallback: ({ cwd }) => resolve(cwd, '.everstep'),
    parse: parsePath,
  }),
  store: setting<StoreSetting | null>({
    env: 'EVERSTEP_STORE',
    flag: '--store <path-or-url>',
    option: 'store',
    help: 'file of the embedded store, or postgres://user:password@host:port/database, which several nodes may share; of several hosts (host:port,host:port) the primary is used',
    defaultText: 'everstep.db in the data directory',
    fallback: () => null,
    parse: parseStore,
  }),
  secretsKey: setting<SecretKeys | null>({
    env: 'EVERSTEP_SECRETS_KEY',
    flag: '--secrets-key <keys>',
    option: 'secretsKey',
    help: 'encrypts the secrets in the store: 32 random bytes in Base64; after a comma, earlier keys. Give it in EVERSTEP_SECRETS_KEY_FILE',
    defaultText: 'secrets.key in the data directory, which is made for an embedded store',
    isSecret: true,
    fallback: () => null,
    parse: parseSecretKeys,
  }),
  acceptLoss: setting({
    env: 'EVERSTEP_ACCEPT_LOSS',
    flag: '--accept-loss',
    option: 'acceptLoss',
    help: 'start though the embedded store has lost acknowledged changes; its damaged files are copied first',
    defaultText: 'refuse to start',
    fallback: () => false,
    parse: parseSwitch,
  }),
  nodeLease: setting<number>({
    env: 'EVERSTEP_NODE_LEASE',
    flag: '--node-lease <seconds>',
    option: 'nodeLease',
    help: 'how long a node that is silent keeps what it has, where several share a database',
    defaultText: '5 seconds',
    fallback: () => 5_000,
    parse: parseNodeLease,
  }),
  commits: setting<Commits>({
    env: 'EVERSTEP_COMMITS',
    flag: '--commits <how>',
    option: 'commits',
    help: 'together, or by-instance: a transaction on the database has writes of one queue instance alone',
    defaultText: 'together',
    fallback: () => 'together',
    parse: parseCommits,
  }),
  plansFile: setting<string | null>({
    env: 'EVERSTEP_PLANS_FILE',
    flag: '--plans-file <path>',
    option: 'plansFile',
    help: 'JSON file with the plans that queue instances may have',
    defaultText: 'the built-in plans, default and standard',
    fallback: () => null,
    parse: parsePath,
  }),
  newInstancePlan: setting<string | null>({
    env: 'EVERSTEP_NEW_INSTANCE_PLAN',
    flag: '--new-instance-plan <name>',
    option: 'newInstancePlan',
    help: 'plan of queue instances that users other than the operator create',
    defaultText: 'standard, or default if the plans file has a default plan and no standard plan',
    fallback: () => null,
    parse: (text) => text,
  }),
  maxTimeout: setting({
    env: 'EVERSTEP_MAX_TIMEOUT',
    flag: '--max-timeout <duration>',
    option: 'maxTimeout',
    help: 'the longest that one delivery may take, such as 30s, 15m or 12h; a plan may allow less',
    defaultText: '12h',
    fallback: () => LIMITS.maxDeliveryTimeoutMs,
    parse: parseTimeout,
  }),
  envFile: setting<string | null>({
    env: 'EVERSTEP_ENV_FILE',
    // Not --env-file: node takes that one for itself, wherever it stands on the command line.
    flag: '--write-env-file <path>',
    option: 'writeEnvFile',
    help: 'write the URL, tokens and keys there as KEY=value lines once the service listens',
    defaultText: 'none',
    fallback: () => null,
    parse: parsePath,
  }),
  printCredentials: setting({
    env: 'EVERSTEP_PRINT_CREDENTIALS',
    flag: '--print-credentials',
    option: 'printCredentials',
    help: 'print tokens and keys that the start makes, also where the output is not a terminal',
    defaultText: 'only to a terminal for serve, always for dev',
    fallback: ({ mode }) => mode === 'dev',
    parse: parseSwitch,
  }),
  demo: setting({
    env: 'EVERSTEP_DEMO',
    flag: '--no-demo',
    option: 'demo',
    help: 'dev only: start without the example order app',
    defaultText: 'with it',
    fallback: ({ mode }) => mode === 'dev',
    parse: parseSwitch,
  }),
  virtualClock: setting({
    env: 'EVERSTEP_VIRTUAL_CLOCK',
    flag: '--virtual-clock',
    option: 'virtualClock',
    help: 'dev only: for tests, a clock that POST /v2/clock/advance moves on',
    defaultText: 'the real time',
    fallback: () => false,
    parse: parseVirtualClock,
  }),
  logLevel: setting<LogLevel>({
    env: 'EVERSTEP_LOG_LEVEL',
    flag: '--log-level <level>',
    option: 'logLevel',
    help: LOG_LEVELS.join(', '),
    defaultText: 'warn for dev, info for serve',
    fallback: ({ mode }) => (mode === 'dev' ? 'warn' : 'info'),
    parse: oneOf(LOG_LEVELS),
  }),
  accessLog: setting({
    env: 'EVERSTEP_ACCESS_LOG',
    flag: '--access-log',
    option: 'accessLog',
    help: 'log each request at the level info: id, method, route, status, duration, address and caller',
    defaultText: 'at the level debug, without address and caller',
    fallback: () => false,
    parse: parseSwitch,
  }),
  allowAddresses: setting<readonly string[]>({
    env: 'EVERSTEP_ALLOW_ADDRESSES',
    flag: '--allow-addresses <list>',
    option: 'allowAddresses',
    help: 'private hosts, addresses or CIDRs that may be called, with or without a port (10.0.0.5:8080), separated by commas',
    defaultText: 'none for serve, loopback for dev',
    fallback: () => Object.freeze([]),
    parse: parseAddresses,
  }),
  denyAddresses: setting<readonly string[]>({
    env: 'EVERSTEP_DENY_ADDRESSES',
    flag: '--deny-addresses <list>',
    option: 'denyAddresses',
    help: 'hosts, addresses or CIDRs that are never called, with or without a port, separated by commas',
    defaultText: 'none',
    fallback: () => Object.freeze([]),
    parse: parseAddresses,
  }),
  allowPorts: setting<readonly number[]>({
    env: 'EVERSTEP_ALLOW_PORTS',
    flag: '--allow-ports <list>',
    option: 'allowPorts',
    help: 'ports of well-known services other than HTTP that may be called, separated by commas',
    defaultText: 'none, so that ports such as 22, 25, 5432 and 6379 are refused',
    fallback: () => Object.freeze([]),
    parse: parsePorts,
  }),
  nat64Prefixes: setting<readonly string[]>({
    env: 'EVERSTEP_NAT64_PREFIXES',
    flag: '--nat64-prefixes <list>',
    option: 'nat64Prefixes',
    help: 'prefixes of the NAT64 of the network; addresses in them are judged by the IPv4 address that they contain',
    defaultText: 'none, so that addresses in 64:ff9b::/96 are refused',
    fallback: () => Object.freeze([]),
    parse: parseNat64Prefixes,
  }),
  egressProxy: setting<string | null>({
    env: 'EVERSTEP_EGRESS_PROXY',
    flag: '--egress-proxy <url>',
    option: 'egressProxy',
    help: 'HTTP proxy (CONNECT) for calls to all destinations but those in --allow-addresses, http://user:password@host:port',
    defaultText: 'none: destinations are connected to directly',
    fallback: () => null,
    parse: parseEgressProxy,
  }),
  dnsServers: setting<NameSource>({
    env: 'EVERSTEP_DNS_SERVERS',
    flag: '--dns-servers <list>',
    option: 'dnsServers',
    help: 'DNS servers that look up the names of endpoints, separated by commas; or system, to ask the operating system, which looks up only a few names at a time',
    defaultText: 'those of /etc/resolv.conf',
    fallback: () => 'resolv.conf',
    parse: parseDnsServers,
  }),
  trustedProxies: setting<readonly string[]>({
    env: 'EVERSTEP_TRUSTED_PROXIES',
    flag: '--trusted-proxies <list>',
    option: 'trustedProxies',
    help: 'addresses or CIDRs of the proxies in front, whose X-Forwarded-For says who calls, separated by commas',
    defaultText: 'none: whoever connects is who calls',
    fallback: () => Object.freeze([]),
    parse: parseProxies,
  }),
  queryTokens: setting({
    env: 'EVERSTEP_QUERY_TOKENS',
    flag: '--no-query-tokens',
    option: 'queryTokens',
    help: 'refuse tokens in the query of a URL, which logs on the way often keep',
    defaultText: 'they are taken',
    fallback: () => true,
    parse: parseSwitch,
  }),
  auditRetention: setting<number | null>({
    env: 'EVERSTEP_AUDIT_RETENTION',
    flag: '--audit-retention <duration>',
    option: 'auditRetention',
    help: 'how long entries of the audit log are kept, in days such as 400d, or forever',
    defaultText: '400d',
    fallback: () => 400 * DAY_MS,
    parse: parseAuditRetention,
  }),
  auditWebhookUrl: setting<string | null>({
    env: 'EVERSTEP_AUDIT_WEBHOOK_URL',
    flag: '--audit-webhook-url <url>',
    option: 'auditWebhookUrl',
    help: 'http or https URL that new entries of the audit log are sent to',
    defaultText: 'none: they are not sent',
    fallback: () => null,
    parse: parseWebhookUrl,
  }),
  auditWebhookKey: setting<string | null>({
    env: 'EVERSTEP_AUDIT_WEBHOOK_KEY',
    flag: '--audit-webhook-key <key>',
    option: 'auditWebhookKey',
    help: 'key that signs what is sent to the audit webhook, at least 32 characters; its URL requires it',
    defaultText: 'none',
    fallback: () => null,
    // Nothing that is wrong with it is said here: it would be shown.
    parse: (text) => text,
  }),
  region: setting<Region>({
    env: 'EVERSTEP_REGION',
    flag: '--region <region>',
    option: 'region',
    help: `region of the queue instance made at the first start: ${REGIONS.join(', ')}`,
    defaultText: DEFAULT_REGION,
    fallback: () => DEFAULT_REGION,
    parse: oneOf(REGIONS),
  }),
  adminEmail: setting({
    env: 'EVERSTEP_ADMIN_EMAIL',
    flag: '--admin-email <address>',
    option: 'adminEmail',
    help: 'e-mail of the user made at the first start',
    defaultText: 'admin@localhost',
    fallback: () => 'admin@localhost',
    parse: parseEmail,
  }),
  ...SIGN_IN_SETTINGS,
});

/** Variables that the SDK, its client and the command line read; the service leaves them alone. */
export const CLIENT_VARIABLES: readonly string[] = Object.freeze([
  'EVERSTEP_URL',
  'EVERSTEP_MANAGEMENT_URL',
  'EVERSTEP_TOKEN',
  'EVERSTEP_READONLY_TOKEN',
  'EVERSTEP_CURRENT_SIGNING_KEY',
  'EVERSTEP_NEXT_SIGNING_KEY',
  'EVERSTEP_JWKS_URL',
  'EVERSTEP_ADMIN_API_KEY',
  'EVERSTEP_SEARCH_URL',
  'EVERSTEP_SEARCH_TOKEN',
]);
