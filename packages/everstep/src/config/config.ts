/** Configuration: parsed once from flags and environment variables, and frozen. A flag overrides its variable. */
import { join } from 'node:path';
import type { LogLevel } from './log-levels.js';
import { type MailSettings, readMail } from './mail/mail-settings.js';
import type { NameSource } from './network-values.js';
import type { Region } from './regions.js';
import { SECRET_FILE_VARIABLES } from './secret-files.js';
import type { SecretKeys } from './secret-keys.js';
import type { Mode, Setting } from './setting.js';
import { CLIENT_VARIABLES, type CommitMode, type ListenAddress, SETTINGS, type StoreSetting } from './settings.js';
import { readSignIn, type SignInSettings } from './sign-in-settings.js';
import { readTracing, type TracingSettings } from './telemetry/tracing-settings.js';

export interface Config {
  readonly mode: Mode;
  readonly host: string;
  /** 0 uses a free port. */
  readonly port: number;
  /** Separate address of the management API; null if it shares that of the runtime API. */
  readonly managementAddress: ListenAddress | null;
  /** Absolute paths of PEM files; null for plain HTTP. */
  readonly tls: TlsPaths | null;
  /** URL for clients, without a trailing slash; null if it is derived from the address. */
  readonly publicUrl: string | null;
  /** URL of the dashboard for people, without a trailing slash; null if it is derived from other settings. */
  readonly dashboardUrl: string | null;
  /** Absolute path of the data directory. */
  readonly dataDir: string;
  readonly store: StoreSetting;
  /** Keys that encrypt the secrets in the store; null for the key in the data directory, if it exists. */
  readonly secretsKeys: SecretKeys | null;
  /** Whether to open an embedded store that has lost acknowledged changes. */
  readonly acceptLoss: boolean;
  /** Time after which the work of a silent node is taken over, if several nodes share a database. */
  readonly nodeLeaseMs: number;
  /** URL at which workers reach this node directly; null if they cannot. */
  readonly nodeUrl: string | null;
  /** Whether one transaction may contain writes of several queue instances; null if this depends on the database. */
  readonly commits: CommitMode | null;
  /** Absolute path; null if only the built-in plans are used. */
  readonly plansFile: string | null;
  /** Plan of instances that users other than the operator create; null for the default of the plans. */
  readonly newInstancePlan: string | null;
  /** Maximum timeout of one delivery in ms. */
  readonly maxTimeoutMs: number;
  /** Absolute path; null if no env file is written. */
  readonly envFile: string | null;
  /** Whether credentials are printed if the output is not a terminal. */
  readonly printCredentials: boolean;
  readonly demo: boolean;
  /** Whether time advances only through the API. */
  readonly virtualClock: boolean;
  readonly logLevel: LogLevel;
  /** Whether each request is logged at `info`, with its caller. */
  readonly accessLog: boolean;
  /** Private destinations that may be called: hosts, addresses and CIDRs, with or without a port. */
  readonly allowAddresses: readonly string[];
  readonly allowLoopback: boolean;
  /** Destinations that are never called. */
  readonly denyAddresses: readonly string[];
  /** Ports of well-known services other than HTTP that may be called. */
  readonly allowPorts: readonly number[];
  /** URL, which may contain a password; null for direct connections. */
  readonly egressProxy: string | null;
  /** NAT64 prefixes of the network. */
  readonly nat64Prefixes: readonly string[];
  /** How host names are resolved. */
  readonly nameSource: NameSource;
  /** Addresses and CIDRs of proxies whose X-Forwarded-For header is trusted. */
  readonly trustedProxies: readonly string[];
  /** Whether tokens in the query of a URL are accepted. */
  readonly queryTokens: boolean;
  /** Retention of audit log entries in ms; null if they are kept forever. */
  readonly auditRetentionMs: number | null;
  /** Retention of the counters of insights. */
  readonly insightRetention: { readonly minutesMs: number; readonly hoursMs: number };
  /** URL that receives new audit log entries; null if there is none. */
  readonly auditWebhookUrl: string | null;
  /** Key that signs requests to the audit webhook; null without a webhook. */
  readonly auditWebhookKey: string | null;
  /** Separate address that serves the metrics without a token; null if there is none. */
  readonly metricsAddress: ListenAddress | null;
  /** Token for the metrics on the port of the API; null if they are not served there. */
  readonly metricsToken: string | null;
  /** Maximum number of workflows, flow control keys, queues and apps with their own time series. */
  readonly metricsNames: number;
  readonly region: Region;
  readonly adminEmail: string;
  /** SMTP server for email about alerts; null if no email is sent. */
  readonly mail: MailSettings | null;
  /** Export of traces; null if traces are not exported. */
  readonly tracing: TracingSettings | null;
  /** Single sign-on; null if users log in with API keys only. */
  readonly signIn: SignInSettings | null;
}

export interface TlsPaths {
  /** The certificate with its chain. */
  readonly cert: string;
  readonly key: string;
}

export type ParsedConfig =
  | { readonly ok: true; readonly config: Config }
  /** Sentences that name the variable or flag, the given value and the allowed values. */
  | { readonly ok: false; readonly problems: readonly string[] };

export interface ConfigSources {
  readonly mode: Mode;
  /** Options from the command line; undefined if an option was not given. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

const PREFIX = 'EVERSTEP_';
const CLIENT_PATTERNS = [/^EVERSTEP_[A-Z0-9_]*_SIGNING_KEY$/, /^EVERSTEP_ADMIN_/];
const SERVER_VARIABLES = Object.values(SETTINGS).map(({ env }) => env);
/** Matches the variables that Kubernetes adds to pods for each Service whose name starts with `everstep`. */
const SERVICE_LINK = /^EVERSTEP_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$/;
const SERVICE_LINK_URL = /^(tcp|udp|sctp):\/\//;
const MAX_SHOWN_LENGTH = 80;
const MIN_KEY_LENGTH = 32;

const isKnownVariable = (name: string): boolean =>
  SERVER_VARIABLES.includes(name) ||
  CLIENT_VARIABLES.includes(name) ||
  SECRET_FILE_VARIABLES.includes(name) ||
  CLIENT_PATTERNS.some((pattern) => pattern.test(name));

/** Returns the edit distance (insert, delete, replace) between two texts. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [i, character] of [...a].entries()) {
    const nextRow = [i + 1];
    for (let j = 1; j <= b.length; j++) {
      const replacementEdits = (row[j - 1] ?? 0) + (character === b[j - 1] ? 0 : 1);
      nextRow.push(Math.min(replacementEdits, (row[j] ?? 0) + 1, (nextRow[j - 1] ?? 0) + 1));
    }
    row = nextRow;
  }
  return row[b.length] ?? 0;
}

function nearestVariable(name: string): string | null {
  const rankedCandidates = [...SERVER_VARIABLES, ...CLIENT_VARIABLES]
    .map((candidate) => ({ candidate, edits: editDistance(name.slice(PREFIX.length), candidate.slice(PREFIX.length)) }))
    .sort((a, b) => a.edits - b.edits);
  const nearest = rankedCandidates[0];
  return nearest && nearest.edits <= Math.max(2, Math.floor((name.length - PREFIX.length) / 3)) ? nearest.candidate : null;
}

function unknownVariables(env: ConfigSources['env']): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !isKnownVariable(name))
    .sort()
    .map((name) => {
      const suggestion = nearestVariable(name);
      const hint = suggestion ? `did you mean ${suggestion}?` : `known settings: ${SERVER_VARIABLES.join(', ')}`;
      return `${name} is not a setting of Everstep; ${hint}`;
    });
}

/** Separates the service links of Kubernetes from the settings. `problems` names one of them, because they have the same cause. */
function separateServiceLinks(env: ConfigSources['env']): Pick<ConfigSources, 'env'> & { readonly problems: string[] } {
  const links = Object.entries(env).filter(([name]) => SERVICE_LINK.test(name));
  const example = links.find(([, value]) => SERVICE_LINK_URL.test(value ?? ''));
  if (!example) return { env, problems: [] };
  const isLink = (name: string, value = ''): boolean =>
    SERVICE_LINK.test(name) && (!isKnownVariable(name) || SERVICE_LINK_URL.test(value));
  const [name, value] = example;
  return {
    env: Object.fromEntries(Object.entries(env).filter((variable) => !isLink(...variable))),
    problems: [
      `${name}=${value} is a service link of Kubernetes, not a setting of Everstep; set enableServiceLinks: false in the pod spec`,
    ],
  };
}

/** Hides credentials in a URL, and shortens it for a message. */
function redactUrl(url: string): string {
  const text = url.replace(/:\/\/[^/?#]*@/, '://...@');
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}...` : text;
}
const flagName = (flag: string): string => flag.split(' ')[0] ?? flag;

/** Parses flags and environment variables. Never throws. */
export function parseConfig(sources: ConfigSources): ParsedConfig {
  const { mode, flags, cwd } = sources;
  const { env, problems } = separateServiceLinks(sources.env);
  problems.push(...unknownVariables(env));

  function read<Value>(setting: Setting<Value>): Value {
    const context = { mode, cwd };
    const flag = flags[setting.option];
    const source =
      flag !== undefined
        ? { text: String(flag), name: flagName(setting.flag) }
        : { text: env[setting.env]?.trim() ?? '', name: setting.env };
    // An empty variable counts as unset; an empty flag is an error.
    if (source.text === '' && flag === undefined) return setting.fallback(context);
    try {
      if (source.text === '') throw new Error('requires a value');
      return setting.parse(source.text, context);
    } catch (error) {
      const receivedText = setting.isSecret ? '' : `; got "${redactUrl(source.text)}"`;
      problems.push(`${source.name} ${error instanceof Error ? error.message : String(error)}${receivedText}`);
      return setting.fallback(context);
    }
  }

  const dataDir = read(SETTINGS.dataDir);
  const [cert, key] = [read(SETTINGS.tlsCert), read(SETTINGS.tlsKey)];
  if ((cert === null) !== (key === null)) problems.push('EVERSTEP_TLS_CERT and EVERSTEP_TLS_KEY require each other; set both');
  const config: Config = Object.freeze({
    mode,
    host: read(SETTINGS.host),
    port: read(SETTINGS.port),
    managementAddress: read(SETTINGS.managementAddress),
    tls: cert !== null && key !== null ? { cert, key } : null,
    publicUrl: read(SETTINGS.publicUrl),
    dashboardUrl: read(SETTINGS.dashboardUrl),
    dataDir,
    store: read(SETTINGS.store) ?? ({ kind: 'file', file: join(dataDir, 'everstep.db') } as const),
    secretsKeys: read(SETTINGS.secretsKey),
    acceptLoss: read(SETTINGS.acceptLoss),
    nodeLeaseMs: read(SETTINGS.nodeLease),
    nodeUrl: read(SETTINGS.nodeUrl),
    commits: read(SETTINGS.commits),
    plansFile: read(SETTINGS.plansFile),
    newInstancePlan: read(SETTINGS.newInstancePlan),
    maxTimeoutMs: read(SETTINGS.maxTimeout),
    envFile: read(SETTINGS.envFile),
    printCredentials: read(SETTINGS.printCredentials),
    demo: read(SETTINGS.demo) && mode === 'dev',
    virtualClock: read(SETTINGS.virtualClock),
    logLevel: read(SETTINGS.logLevel),
    accessLog: read(SETTINGS.accessLog),
    allowAddresses: read(SETTINGS.allowAddresses),
    allowLoopback: mode === 'dev',
    denyAddresses: read(SETTINGS.denyAddresses),
    allowPorts: read(SETTINGS.allowPorts),
    egressProxy: read(SETTINGS.egressProxy),
    nat64Prefixes: read(SETTINGS.nat64Prefixes),
    nameSource: read(SETTINGS.dnsServers),
    trustedProxies: read(SETTINGS.trustedProxies),
    queryTokens: read(SETTINGS.queryTokens),
    auditRetentionMs: read(SETTINGS.auditRetention),
    insightRetention: { minutesMs: read(SETTINGS.insightMinutes), hoursMs: read(SETTINGS.insightHours) },
    auditWebhookUrl: read(SETTINGS.auditWebhookUrl),
    auditWebhookKey: read(SETTINGS.auditWebhookKey),
    metricsAddress: read(SETTINGS.metricsAddress),
    metricsToken: read(SETTINGS.metricsToken),
    metricsNames: read(SETTINGS.metricsNames),
    region: read(SETTINGS.region),
    adminEmail: read(SETTINGS.adminEmail),
    mail: readMail(read, (sentence) => problems.push(sentence)),
    tracing: readTracing(env, (sentence) => problems.push(sentence)),
    signIn: readSignIn(read, (sentence) => problems.push(sentence)),
  });
  if (config.auditWebhookUrl !== null && (config.auditWebhookKey ?? '').length < MIN_KEY_LENGTH)
    problems.push(
      `EVERSTEP_AUDIT_WEBHOOK_URL requires EVERSTEP_AUDIT_WEBHOOK_KEY, a signing key of at least ${MIN_KEY_LENGTH} characters`,
    );
  return problems.length === 0 ? { ok: true, config } : { ok: false, problems };
}
