/**
 * Decides which origins receive plain messages signed with the signing keys. A receiver could forward such a message
 * to a workflow endpoint, and endpoints of the published SDK cannot distinguish it from a step. So only origins that
 * belong to the queue instance receive them. Messages to all other origins are signed with the message key.
 * Keeps invariant 41.
 */
import type { QueueInstance } from '../../ports/stores/account-store.js';

const EVERYWHERE = '*';
const ORIGIN = /^(https?:\/\/)(\*\.)?([^/?#@*\s]+)\/?$/i;

/**
 * Normalizes an origin such as `https://app.example.com`, a pattern for all subdomains (`https://*.example.com`), or
 * `*` for all origins. Returns null for any other text.
 */
export function readSignedOrigin(text: string): string | null {
  if (text === EVERYWHERE) return text;
  const [, scheme = '', anySubdomain = '', host = ''] = ORIGIN.exec(text) ?? [];
  if (!URL.canParse(scheme + host)) return null;
  const { protocol, host: normalizedHost } = new URL(scheme + host);
  return normalizedHost === '' ? null : `${protocol}//${anySubdomain}${normalizedHost}`;
}

interface OriginSet {
  readonly includesAll: boolean;
  readonly origins: ReadonlySet<string>;
  /** Scheme and host of origins that belong to the owner on every port. */
  readonly hosts: ReadonlySet<string>;
}

/** Returns an origin without its port. All loopback addresses count as one host. */
function hostOf(origin: string): string {
  const { protocol, hostname } = new URL(origin);
  const isLoopback = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return `${protocol}//${isLoopback ? 'localhost' : hostname}`;
}

const originSets = new WeakMap<QueueInstance, OriginSet>();

function originSetOf(instance: QueueInstance): OriginSet {
  const cachedSet = originSets.get(instance);
  if (cachedSet) return cachedSet;
  const { signedOrigins, workflowOrigins = [] } = instance;
  const origins = new Set([...(signedOrigins ?? []), ...workflowOrigins]);
  // Without a workflow there is no endpoint to protect, and receivers with the published SDK expect the signing keys.
  const isUnrestricted = signedOrigins === undefined && workflowOrigins.length === 0;
  // A host that runs workflows belongs to the owner on every port, unless the owner has set origins.
  const hosts = new Set(signedOrigins === undefined ? workflowOrigins.map(hostOf) : []);
  const originSet = { includesAll: isUnrestricted || origins.has(EVERYWHERE), origins, hosts };
  originSets.set(instance, originSet);
  return originSet;
}

/** Yields the subdomain patterns that match an origin. */
function* patternsOf(origin: string): Generator<string> {
  const [scheme = '', host = ''] = origin.split('//');
  for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) yield `${scheme}//*${host.slice(dot)}`;
}

/** Returns whether plain messages to `origin`, in `URL.origin` format, are signed with the signing keys. */
export function isSignedOrigin(instance: QueueInstance, origin: string): boolean {
  const { includesAll, origins, hosts } = originSetOf(instance);
  if (includesAll || origins.has(origin) || (hosts.size > 0 && hosts.has(hostOf(origin)))) return true;
  for (const pattern of patternsOf(origin)) if (origins.has(pattern)) return true;
  return false;
}
