/** Assesses the responses of servers: whether they run and are ready, their versions, clocks, certificates and addresses. */
import { duration, instant } from '../output.js';
import { type Finding, findingsOf } from './findings.js';
import type { Certificate, NoReply, Reply } from './server-probe.js';

const DAY_MS = 86_400_000;
const EXPIRES_SOON_MS = 14 * DAY_MS;
const SKEW_WARNING_MS = 2_000;
const SKEW_PROBLEM_MS = 30_000;

const stringField = (body: unknown, field: string): string | null => {
  if (typeof body !== 'object' || body === null) return null;
  const value = new Map<string, unknown>(Object.entries(body)).get(field);
  return typeof value === 'string' ? value : null;
};

/** Returns the version of the server that responded to `GET /health`; null if it was another program. */
export const versionIn = (reply: Reply | NoReply): string | null =>
  reply.kind === 'replied' && reply.status === 200 && stringField(reply.body, 'status') === 'ok'
    ? stringField(reply.body, 'version')
    : null;

export function assessServer(url: string, health: Reply | NoReply, ready: Reply | NoReply): Finding {
  const { ok, warning, problem } = findingsOf('service');
  if (health.kind === 'failed')
    return warning(
      `no server responds at ${url} (${health.error})`,
      'Start the server with everstep serve. The other checks examine its files.',
    );
  if (versionIn(health) === null)
    return problem(
      `another program responds at ${url} (status ${health.status})`,
      'Stop it, or set EVERSTEP_PORT to a free port.',
    );
  if (ready.kind === 'replied' && ready.status === 200) return ok(`the server at ${url} is running and ready`);
  const reason =
    ready.kind === 'failed'
      ? ready.error
      : (ready.notReadyReason ?? stringField(ready.body, 'reason') ?? `status ${ready.status}`);
  const error = ready.kind === 'failed' ? null : stringField(ready.body, 'error');
  return problem(
    `the server at ${url} is running but not ready: ${reason}${error === null ? '' : ` (${error})`}`,
    'See "Health checks" in docs/operations/running.md for each reason.',
  );
}

/** Compares the versions of this command and of the server. `server` is null if the server did not respond. */
export function assessVersions(ownVersion: string, serverVersion: string | null): Finding {
  const { ok, skipped, warning } = findingsOf('versions');
  if (serverVersion === null) return skipped('the version of the server is unknown, because the server does not respond');
  if (serverVersion === ownVersion) return ok(`the server and this command have version ${ownVersion}`);
  return warning(
    `the server has version ${serverVersion}, this command ${ownVersion}`,
    'Use the command of the same version as the server.',
  );
}

/** Compares a clock with that of this machine. `uncertaintyMs` is half of the time that reading the other clock took. */
export function assessClock(clockOwner: string, skewMs: number, uncertaintyMs: number): Finding {
  const { ok, warning, problem } = findingsOf('clock');
  const minSkewMs = Math.max(0, Math.abs(skewMs) - uncertaintyMs);
  if (minSkewMs < SKEW_WARNING_MS) return ok(`the clock of ${clockOwner} matches the clock of this machine`);
  const message = `the clock of ${clockOwner} is ${duration(minSkewMs)} ${skewMs > 0 ? 'ahead of' : 'behind'} the clock of this machine`;
  const fix =
    'Synchronize the clocks of all machines (chrony or systemd-timesyncd). Tokens, signatures and schedules depend on them.';
  return minSkewMs < SKEW_PROBLEM_MS ? warning(message, fix) : problem(message, fix);
}

/**
 * Assesses the clock of the server by the Date header of its response, which is rounded down to a second. Returns null without a
 * response or a date.
 */
export function assessServerClock(url: string, reply: Reply | NoReply): Finding | null {
  if (reply.kind === 'failed' || reply.date === null) return null;
  const readAt = reply.receivedAt - reply.roundTripMs / 2;
  return assessClock(`the server at ${url}`, reply.date + 500 - readAt, 500 + reply.roundTripMs / 2);
}

export function assessCertificate(location: string, { validFrom, validTo }: Certificate, now: number): Finding {
  const { ok, warning, problem } = findingsOf('tls');
  const expiryText = `${instant(validTo)} UTC`;
  const renewalFix = 'Renew it. Everstep reads changed certificate files without a restart.';
  if (now < validFrom)
    return problem(
      `the certificate of ${location} is valid only from ${instant(validFrom)} UTC`,
      'Check the clock of this machine.',
    );
  if (now >= validTo) return problem(`the certificate of ${location} expired on ${expiryText}`, renewalFix);
  if (validTo - now < EXPIRES_SOON_MS) return warning(`the certificate of ${location} expires on ${expiryText}`, renewalFix);
  return ok(`the certificate of ${location} is valid until ${expiryText}`);
}

/** Assesses an address at which apps, people or other nodes reach the server. `name` is the name of the setting. */
export function assessAddress(name: string, url: string, health: Reply | NoReply, ownVersion: string | null): Finding {
  const { ok, warning, problem } = findingsOf('addresses');
  if (health.kind === 'failed')
    return problem(
      `${name} (${url}) does not respond from here: ${health.error}`,
      'Check its DNS entry, proxy and firewall. Apps and workers use this URL.',
    );
  const version = versionIn(health);
  if (version === null)
    return problem(
      `${name} (${url}) is served by another program (status ${health.status})`,
      'Make the proxy forward all paths to Everstep.',
    );
  if (ownVersion !== null && version !== ownVersion)
    return warning(
      `${name} (${url}) is served by version ${version}, but this server has version ${ownVersion}`,
      'Finish the upgrade of all nodes, or correct the URL.',
    );
  return ok(`${name} (${url}) responds`);
}
