/** Finds settings that are risky in production. */
import { isIP } from 'node:net';
import { lacksTrustedProxy } from '../../bootstrap/listeners.js';
import type { Config } from '../../config/config.js';
import { type Finding, findingsOf } from './findings.js';

const SHORT_LEASE_MS = 5_000;

/** Matches an IPv4 range of /8 or larger, or an IPv6 range of /32 or larger. */
const WIDE_RANGE = /^[\d.]+\/[0-8]$|:[\da-f:]*\/([0-9]|[12]\d|3[0-2])$/i;

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

interface Risk {
  readonly applies: boolean;
  readonly message: string;
  readonly fix: string;
}

function risksOf(config: Config): readonly Risk[] {
  const { host, tls, publicUrl, store, metricsAddress } = config;
  const isExposed = !isLoopback(host);
  return [
    {
      applies: config.acceptLoss,
      message: 'EVERSTEP_ACCEPT_LOSS is set: a start accepts that acknowledged changes are missing',
      fix: 'Remove it. Use it only once, for a store whose loss you have examined.',
    },
    {
      applies: config.allowAddresses.some((entry) => WIDE_RANGE.test(entry)),
      message: 'EVERSTEP_ALLOW_ADDRESSES contains a range of millions of addresses: runs may call services that are not apps',
      fix: 'List the hosts and ports of your apps instead, such as app.internal:3000.',
    },
    {
      applies: isExposed && tls === null && publicUrl?.startsWith('https:') !== true,
      message: `the server listens on ${host} without TLS, and EVERSTEP_PUBLIC_URL is not https: tokens are sent in plain text`,
      fix: 'Set EVERSTEP_TLS_CERT and EVERSTEP_TLS_KEY, or use a proxy with TLS and set EVERSTEP_PUBLIC_URL to its https URL.',
    },
    {
      applies: lacksTrustedProxy(config),
      message: 'the public URL is https without a trusted proxy: all clients appear with the address of the proxy',
      fix: 'Set EVERSTEP_TRUSTED_PROXIES to the address of the proxy.',
    },
    {
      applies: store.kind === 'postgres' && config.secretsKeys === null,
      message: 'secrets in the database are not encrypted',
      fix: 'Set EVERSTEP_SECRETS_KEY_FILE on every node; see docs/operations/secrets.md.',
    },
    {
      applies: store.kind === 'postgres' && config.nodeLeaseMs < SHORT_LEASE_MS,
      message: `the lease of a node is ${config.nodeLeaseMs} ms: a short pause of the database makes other nodes repeat its work`,
      fix: 'Set EVERSTEP_NODE_LEASE to at least 5s.',
    },
    {
      applies: metricsAddress !== null && !isLoopback(metricsAddress.host ?? host),
      message: 'metrics are served without a token on an address that is not loopback',
      fix: 'Make sure that only your monitoring reaches the port of EVERSTEP_METRICS_ADDRESS, or use EVERSTEP_METRICS_TOKEN.',
    },
    {
      applies: config.mail?.tls === 'if-offered',
      message:
        'EVERSTEP_SMTP_TLS is "optional": the password and email are sent in plain text if the SMTP server does not support TLS',
      fix: 'Remove it, unless the SMTP server is in a trusted network and has no TLS.',
    },
    {
      applies: config.queryTokens && isExposed,
      message: 'tokens are accepted in the query of a URL, where proxies log them',
      fix: 'Set EVERSTEP_QUERY_TOKENS=0 unless a client needs this.',
    },
    {
      applies: config.logLevel === 'debug' || config.logLevel === 'silent',
      message: `EVERSTEP_LOG_LEVEL is ${config.logLevel}`,
      fix: 'Use info or warn. everstep admin log-level set changes the level of a running server for a while.',
    },
  ];
}

export function assessSettings(config: Config): readonly Finding[] {
  const { ok, warning } = findingsOf('settings');
  const risks = risksOf(config).filter(({ applies }) => applies);
  if (risks.length === 0) return [ok('no risky settings found')];
  return risks.map(({ message, fix }) => warning(message, fix));
}
