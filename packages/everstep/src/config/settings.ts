/**
 * All settings of the server: environment variable, flag, parser and description. `everstep dev --help` and
 * `everstep serve --help` are generated from this table.
 */

import { resolve } from 'node:path';
import { DAY_MS, parseAuditRetention, parseNodeLease, parseTimeout } from './duration-values.js';
import { INSIGHT_SETTINGS } from './insight-settings.js';
import { LIMITS } from './limits.js';
import { type ListenAddress, parseHost, parseListenAddress, parsePort } from './listen-values.js';
import { LOG_LEVELS, type LogLevel } from './log-levels.js';
import { MAIL_SETTINGS } from './mail/mail-settings.js';
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
import type { Setting, SettingContext } from './setting.js';
import { SIGN_IN_SETTINGS } from './sign-in-settings.js';
import { parseStore, type StoreSetting } from './store-setting.js';
import { METRICS_SETTINGS } from './telemetry/metrics-settings.js';

export type { ListenAddress } from './listen-values.js';
export type { StoreSetting } from './store-setting.js';

const oneOf =
  <Value extends string>(values: readonly Value[]) =>
  (text: string): Value => {
    const match = values.find((value) => value === text);
    if (match === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return match;
  };

/** Whether one database transaction may contain writes of several queue instances. */
export type CommitMode = 'together' | 'by-instance';

function parseCommitMode(text: string): CommitMode {
  if (text === 'together' || text === 'by-instance') return text;
  throw new Error('must be together or by-instance (for tables that are distributed by queue instance)');
}

function parseSwitch(text: string): boolean {
  if (['1', 'true', 'yes', 'on'].includes(text.toLowerCase())) return true;
  if (['0', 'false', 'no', 'off'].includes(text.toLowerCase())) return false;
  throw new Error('must be 1 or 0');
}

function parseVirtualClock(text: string, { mode }: SettingContext): boolean {
  const isVirtual = parseSwitch(text);
  if (isVirtual && mode === 'serve') throw new Error('is for tests and requires `everstep dev`');
  return isVirtual;
}

function parseEmail(text: string): string {
  if (/^[^\s@:]+@[^\s@:]+$/.test(text)) return text;
  throw new Error('must be an email address');
}

const parsePath = (text: string, { cwd }: SettingContext): string => resolve(cwd, text);

/** Declares a setting with the type of its value. */
const setting = <Value>(declaration: Setting<Value>): Setting<Value> => declaration;

export const SETTINGS = Object.freeze({
  port: setting({
    env: 'EVERSTEP_PORT',
    flag: '--port <number>',
    option: 'port',
    help: 'port to listen on; 0 uses a free port',
    defaultText: '8080',
    fallback: () => 8080,
    parse: parsePort,
  }),
  host: setting({
    env: 'EVERSTEP_HOST',
    flag: '--host <address>',
    option: 'host',
    help: 'address to listen on; use 0.0.0.0 to accept connections from other machines',
    defaultText: '127.0.0.1',
    fallback: () => '127.0.0.1',
    parse: parseHost,
  }),
  managementAddress: setting<ListenAddress | null>({
    env: 'EVERSTEP_MANAGEMENT_ADDRESS',
    flag: '--management-address <address>',
    option: 'managementAddress',
    help: 'separate port or address:port for the management API',
    defaultText: 'served with the runtime API',
    fallback: () => null,
    parse: parseListenAddress,
  }),
  tlsCert: setting<string | null>({
    env: 'EVERSTEP_TLS_CERT',
    flag: '--tls-cert <path>',
    option: 'tlsCert',
    help: 'PEM file with the certificate chain, to serve HTTPS; reloaded when it changes',
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
    help: 'URL at which clients reach the server; used in webhook URLs',
    defaultText: 'http://<host>:<port>, or https with a certificate',
    fallback: () => null,
    parse: parsePublicUrl,
  }),
  dashboardUrl: setting<string | null>({
    env: 'EVERSTEP_DASHBOARD_URL',
    flag: '--dashboard-url <url>',
    option: 'dashboardUrl',
    help: 'URL at which people reach the dashboard; used in the links of notices',
    defaultText: '--public-url; with a separate management API, the origin of --oidc-redirect-url or the address of that API',
    fallback: () => null,
    parse: parsePublicUrl,
  }),
  dataDir: setting({
    env: 'EVERSTEP_DATA_DIR',
    flag: '--data-dir <path>',
    option: 'dataDir',
    help: 'directory for the store and credentials',
    defaultText: './.everstep',
    fallback: ({ cwd }) => resolve(cwd, '.everstep'),
    parse: parsePath,
  }),
  store: setting<StoreSetting | null>({
    env: 'EVERSTEP_STORE',
    flag: '--store <path-or-url>',
    option: 'store',
    help: 'file of the embedded store, or postgres://user:password@host:port/database, which several nodes can share; with several hosts (host:port,host:port), the primary is used',
    defaultText: 'everstep.db in the data directory',
    fallback: () => null,
    parse: parseStore,
  }),
  secretsKey: setting<SecretKeys | null>({
    env: 'EVERSTEP_SECRETS_KEY',
    flag: '--secrets-key <keys>',
    option: 'secretsKey',
    help: 'key that encrypts the secrets in the store: 32 random bytes in Base64, optionally followed by a comma and earlier keys; prefer EVERSTEP_SECRETS_KEY_FILE',
    defaultText: 'secrets.key in the data directory, created for an embedded store',
    isSecret: true,
    fallback: () => null,
    parse: parseSecretKeys,
  }),
  acceptLoss: setting({
    env: 'EVERSTEP_ACCEPT_LOSS',
    flag: '--accept-loss',
    option: 'acceptLoss',
    help: 'open an embedded store that has lost acknowledged changes, after copying its damaged files',
    defaultText: 'refuse to start',
    fallback: () => false,
    parse: parseSwitch,
  }),
  nodeLease: setting<number>({
    env: 'EVERSTEP_NODE_LEASE',
    flag: '--node-lease <seconds>',
    option: 'nodeLease',
    help: 'time after which other nodes take over the work of a silent node, if several share a database',
    defaultText: '5 seconds',
    fallback: () => 5_000,
    parse: parseNodeLease,
  }),
  nodeUrl: setting<string | null>({
    env: 'EVERSTEP_NODE_URL',
    flag: '--node-url <url>',
    option: 'nodeUrl',
    help: 'URL at which workers reach this node directly, if several share a database',
    defaultText: 'workers reach it through the URL of the server',
    fallback: () => null,
    parse: parsePublicUrl,
  }),
  commits: setting<CommitMode | null>({
    env: 'EVERSTEP_COMMITS',
    flag: '--commits <mode>',
    option: 'commits',
    help: 'together, or by-instance: each database transaction contains writes of only one queue instance',
    defaultText: 'by-instance if the tables are distributed, otherwise together',
    fallback: () => null,
    parse: parseCommitMode,
  }),
  plansFile: setting<string | null>({
    env: 'EVERSTEP_PLANS_FILE',
    flag: '--plans-file <path>',
    option: 'plansFile',
    help: 'JSON file with the plans of queue instances',
    defaultText: 'the built-in plans, default and standard',
    fallback: () => null,
    parse: parsePath,
  }),
  newInstancePlan: setting<string | null>({
    env: 'EVERSTEP_NEW_INSTANCE_PLAN',
    flag: '--new-instance-plan <name>',
    option: 'newInstancePlan',
    help: 'plan of queue instances created by users other than the operator',
    defaultText: 'standard; default if the plans file has a default plan but no standard plan',
    fallback: () => null,
    parse: (text) => text,
  }),
  maxTimeout: setting({
    env: 'EVERSTEP_MAX_TIMEOUT',
    flag: '--max-timeout <duration>',
    option: 'maxTimeout',
    help: 'maximum timeout of one delivery, such as 30s, 15m or 12h; a plan can set a lower one',
    defaultText: '12h',
    fallback: () => LIMITS.maxDeliveryTimeoutMs,
    parse: parseTimeout,
  }),
  envFile: setting<string | null>({
    env: 'EVERSTEP_ENV_FILE',
    // Not --env-file: node interprets that option itself, anywhere on the command line.
    flag: '--write-env-file <path>',
    option: 'writeEnvFile',
    help: 'file to write the URL, tokens and keys to, as KEY=value lines, once the server is listening',
    defaultText: 'none',
    fallback: () => null,
    parse: parsePath,
  }),
  printCredentials: setting({
    env: 'EVERSTEP_PRINT_CREDENTIALS',
    flag: '--print-credentials',
    option: 'printCredentials',
    help: 'print new tokens and keys even if the output is not a terminal',
    defaultText: 'only to a terminal for serve, always for dev',
    fallback: ({ mode }) => mode === 'dev',
    parse: parseSwitch,
  }),
  demo: setting({
    env: 'EVERSTEP_DEMO',
    flag: '--no-demo',
    option: 'demo',
    help: 'dev only: start without the example order app',
    defaultText: 'with the example app',
    fallback: ({ mode }) => mode === 'dev',
    parse: parseSwitch,
  }),
  virtualClock: setting({
    env: 'EVERSTEP_VIRTUAL_CLOCK',
    flag: '--virtual-clock',
    option: 'virtualClock',
    help: 'dev only: use a clock for tests that advances only through POST /v2/clock/advance',
    defaultText: 'real time',
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
    help: 'log each request at level info: id, method, route, status, duration, address and caller',
    defaultText: 'at level debug, without address and caller',
    fallback: () => false,
    parse: parseSwitch,
  }),
  allowAddresses: setting<readonly string[]>({
    env: 'EVERSTEP_ALLOW_ADDRESSES',
    flag: '--allow-addresses <list>',
    option: 'allowAddresses',
    help: 'comma-separated private hosts, addresses or CIDRs that may be called, with or without a port (10.0.0.5:8080)',
    defaultText: 'none for serve, loopback for dev',
    fallback: () => Object.freeze([]),
    parse: parseAddresses,
  }),
  denyAddresses: setting<readonly string[]>({
    env: 'EVERSTEP_DENY_ADDRESSES',
    flag: '--deny-addresses <list>',
    option: 'denyAddresses',
    help: 'comma-separated hosts, addresses or CIDRs that are never called, with or without a port',
    defaultText: 'none',
    fallback: () => Object.freeze([]),
    parse: parseAddresses,
  }),
  allowPorts: setting<readonly number[]>({
    env: 'EVERSTEP_ALLOW_PORTS',
    flag: '--allow-ports <list>',
    option: 'allowPorts',
    help: 'comma-separated ports of well-known services other than HTTP that may be called',
    defaultText: 'none, so that ports such as 22, 25, 5432 and 6379 are blocked',
    fallback: () => Object.freeze([]),
    parse: parsePorts,
  }),
  nat64Prefixes: setting<readonly string[]>({
    env: 'EVERSTEP_NAT64_PREFIXES',
    flag: '--nat64-prefixes <list>',
    option: 'nat64Prefixes',
    help: 'comma-separated NAT64 prefixes of the network; addresses in them are checked by the IPv4 address they contain',
    defaultText: 'none, so that addresses in 64:ff9b::/96 are blocked',
    fallback: () => Object.freeze([]),
    parse: parseNat64Prefixes,
  }),
  egressProxy: setting<string | null>({
    env: 'EVERSTEP_EGRESS_PROXY',
    flag: '--egress-proxy <url>',
    option: 'egressProxy',
    help: 'HTTP proxy (CONNECT) for calls to all destinations except those in --allow-addresses, http://user:password@host:port',
    defaultText: 'none, direct connections',
    fallback: () => null,
    parse: parseEgressProxy,
  }),
  dnsServers: setting<NameSource>({
    env: 'EVERSTEP_DNS_SERVERS',
    flag: '--dns-servers <list>',
    option: 'dnsServers',
    help: 'comma-separated DNS servers for the names of endpoints; or system, to use the resolver of the operating system, which resolves only a few names at a time',
    defaultText: 'servers in /etc/resolv.conf',
    fallback: () => 'resolv.conf',
    parse: parseDnsServers,
  }),
  trustedProxies: setting<readonly string[]>({
    env: 'EVERSTEP_TRUSTED_PROXIES',
    flag: '--trusted-proxies <list>',
    option: 'trustedProxies',
    help: 'comma-separated addresses or CIDRs of trusted reverse proxies; their X-Forwarded-For header determines the client address',
    defaultText: 'none, the client address is that of the connection',
    fallback: () => Object.freeze([]),
    parse: parseProxies,
  }),
  queryTokens: setting({
    env: 'EVERSTEP_QUERY_TOKENS',
    flag: '--no-query-tokens',
    option: 'queryTokens',
    help: 'reject tokens in the query of a URL, which proxies often log',
    defaultText: 'accepted',
    fallback: () => true,
    parse: parseSwitch,
  }),
  auditRetention: setting<number | null>({
    env: 'EVERSTEP_AUDIT_RETENTION',
    flag: '--audit-retention <duration>',
    option: 'auditRetention',
    help: 'retention of audit log entries in days, such as 400d, or forever',
    defaultText: '400d',
    fallback: () => 400 * DAY_MS,
    parse: parseAuditRetention,
  }),
  auditWebhookUrl: setting<string | null>({
    env: 'EVERSTEP_AUDIT_WEBHOOK_URL',
    flag: '--audit-webhook-url <url>',
    option: 'auditWebhookUrl',
    help: 'http or https URL that receives new audit log entries',
    defaultText: 'none',
    fallback: () => null,
    parse: parseWebhookUrl,
  }),
  auditWebhookKey: setting<string | null>({
    env: 'EVERSTEP_AUDIT_WEBHOOK_KEY',
    flag: '--audit-webhook-key <key>',
    option: 'auditWebhookKey',
    help: 'key that signs requests to the audit webhook, at least 32 characters; required with a webhook URL',
    defaultText: 'none',
    fallback: () => null,
    // The length is checked in `parseConfig`, because a message about an invalid value would show the key.
    parse: (text) => text,
  }),
  ...INSIGHT_SETTINGS,
  ...METRICS_SETTINGS,
  ...MAIL_SETTINGS,
  region: setting<Region>({
    env: 'EVERSTEP_REGION',
    flag: '--region <region>',
    option: 'region',
    help: `region of the queue instance created at the first start: ${REGIONS.join(', ')}`,
    defaultText: DEFAULT_REGION,
    fallback: () => DEFAULT_REGION,
    parse: oneOf(REGIONS),
  }),
  adminEmail: setting({
    env: 'EVERSTEP_ADMIN_EMAIL',
    flag: '--admin-email <address>',
    option: 'adminEmail',
    help: 'email of the user created at the first start',
    defaultText: 'admin@localhost',
    fallback: () => 'admin@localhost',
    parse: parseEmail,
  }),
  ...SIGN_IN_SETTINGS,
});

/** Variables of the SDK, its client and the command line, which the server ignores. */
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
  'EVERSTEP_PAYLOAD_KEYS',
]);
