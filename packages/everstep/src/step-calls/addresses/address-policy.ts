/**
 * Decides which destinations the server may call. Addresses that only this machine or its network can reach are
 * blocked. Otherwise anyone who can trigger a run could read cloud metadata or reach internal databases.
 *
 * There are two checks. `check` examines the URL itself. The socket uses `lookupAt`, so that the checked address is
 * the one that is connected to, whatever DNS returns later.
 */
import { isIP, type LookupFunction } from 'node:net';
import { bareHost, parseDestinationRules } from '../../config/destination-rules.js';
import type { OutboundRules } from '../../ports/stores/account-store.js';
import { createNameResolver, type NameResolution, type NameResolver } from '../names/index.js';
import { AddressSet, privateReason, removeZone } from './address-set.js';
import { BLOCKED_PORTS } from './blocked-ports.js';
import { DestinationList, type Match } from './destination-list.js';
import { isInternalName, isLocalhost, isMetadataName } from './internal-names.js';
import { Nat64 } from './nat64.js';

export interface BlockedAddress {
  readonly ok: false;
  /** Text for the caller. It does not reveal the network or the settings of the server. */
  readonly message: string;
  /** Text for the operator, for the server log. */
  readonly detail: string;
}

export type AddressVerdict = { readonly ok: true } | BlockedAddress;

export interface AddressPolicy {
  /** Unique for each policy. A connection made under one policy is not used under another. */
  readonly scope: string;
  /** Checks the URL itself: scheme, credentials, port, literal addresses, and names that are never public. */
  check(url: string | URL): AddressVerdict;
  /** Checks an address before connecting. `hostname` is the name that resolved to it. */
  checkAddress(address: string, hostname: string, port: number): AddressVerdict;
  /** Returns whether an allow list contains the host. Such hosts are called directly instead of through a proxy. */
  isListed(url: string): boolean;
  /** Resolves like `dns.lookup`, but omits blocked addresses. Fails with BlockedAddressError if no address remains. */
  lookupAt(port: number): LookupFunction;
  /** Looks up a name for an instance, so that `lookupAt` finds it in the cache. Does not check the addresses. */
  resolve(hostname: string, instanceId: string): Promise<NameResolution> | NameResolution;
}

/** Addresses and port on which this server listens. */
export interface OwnListener {
  readonly addresses: readonly string[];
  readonly port: number;
}

export interface AddressPolicyOptions {
  readonly allowLoopback: boolean;
  /** Private destinations that may be called. An entry with a port also allows a blocked port. */
  readonly allow: readonly string[];
  /** Destinations that are never called. Overrides all other settings. */
  readonly deny?: readonly string[];
  /** Blocked ports that may be called. */
  readonly allowPorts?: readonly number[];
  /** NAT64 prefixes of the network. Addresses in them are checked by their embedded IPv4 address. */
  readonly nat64Prefixes?: readonly string[];
  readonly ownListeners?: () => readonly OwnListener[];
  /**
   * Whether names are resolved here; false if an egress proxy resolves them. Names are then checked without their addresses,
   * and ranges do not cover names.
   */
  readonly resolvesNames?: boolean;
  /** Whether messages include settings, because the caller is also the operator. */
  readonly explain?: boolean;
  /** Rules of a queue instance. */
  readonly rules?: OutboundRules;
  /** Resolves names. Default: a resolver with the settings of the operating system. */
  readonly names?: Pick<NameResolver, 'find'>;
}

/** Id for lookups that belong to no instance: the connection is already being made, but the cached name has expired. */
const NO_INSTANCE = '';

export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code = 'EVERSTEP_BLOCKED_ADDRESS';
  readonly detail: string;

  constructor({ message, detail }: Pick<BlockedAddress, 'message' | 'detail'>) {
    super(message);
    this.detail = detail;
  }
}

const ALLOWED: AddressVerdict = Object.freeze({ ok: true });
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** Returns the host and port for an http or https URL. */
export function destinationOf({ protocol, hostname, port }: URL): { readonly host: string; readonly port: number } {
  return { host: bareHost(hostname), port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port) };
}

const LOOPBACK = new AddressSet();
LOOPBACK.add('127.0.0.0', 8);
LOOPBACK.add('::1', 128);

const listOf = (entries: readonly string[]): DestinationList => new DestinationList(parseDestinationRules(entries));

const ALLOW_REMEDY = 'add its host or range to EVERSTEP_ALLOW_ADDRESSES';

const plainRefusal = (message: string): BlockedAddress => ({ ok: false, message, detail: message });

/** Returns the problem with the form of a URL, whatever its destination is; null if its form is valid. */
function formProblem(url: string | URL): string | null {
  if (typeof url === 'string' && !URL.canParse(url)) return `"${url.slice(0, 200)}" is not an absolute URL`;
  const { protocol, username, password } = new URL(url);
  if (!(protocol in DEFAULT_PORTS)) return `only http and https URLs are supported, not ${protocol.slice(0, -1)}`;
  const hasCredentials = username !== '' || password !== '';
  return hasCredentials ? 'a URL must not contain a user name or password; send credentials in a header' : null;
}

/** Returns the lookup of a connection, which checks every address of the name. */
const lookupAt =
  (names: Pick<NameResolver, 'find'>, checkAddress: AddressPolicy['checkAddress'], port: number): LookupFunction =>
  (hostname, lookupOptions, callback) => {
    const finish = (resolution: NameResolution): void => {
      if (resolution.kind === 'failed') {
        callback(resolution.error, [], 0);
        return;
      }
      let refusal: BlockedAddress = plainRefusal('the name has no address');
      const allowedAddresses = resolution.addresses.filter(({ address }) => {
        const verdict = checkAddress(address, hostname, port);
        if (!verdict.ok) refusal = verdict;
        return verdict.ok;
      });
      const firstAddress = allowedAddresses[0];
      if (!firstAddress) callback(new BlockedAddressError(refusal), [], 0);
      else if (lookupOptions.all === true) callback(null, allowedAddresses);
      else callback(null, firstAddress.address, firstAddress.family);
    };
    const resolution = names.find(hostname.toLowerCase(), NO_INSTANCE);
    // A socket expects the callback asynchronously.
    if (resolution instanceof Promise) void resolution.then(finish);
    else queueMicrotask(() => finish(resolution));
  };

const instanceRefusal = (host: string): BlockedAddress =>
  plainRefusal(`${host} is denied by the outbound policy of this queue instance`);

let policyCount = 0;

/** Creates an address policy. Throws if a list entry is invalid. */
export function createAddressPolicy(options: AddressPolicyOptions): AddressPolicy {
  const { allowLoopback, explain = false, resolvesNames = true, rules } = options;
  const allow = listOf([...options.allow, ...(rules?.allow ?? [])]);
  const deny = listOf(options.deny ?? []);
  const instanceRules = { deny: listOf(rules?.deny ?? []), only: rules?.only ? listOf(rules.only) : null };
  const allowPorts = new Set(options.allowPorts);
  const nat64 = new Nat64(options.nat64Prefixes ?? []);
  const names = options.names ?? createNameResolver();

  /** Returns a refusal that is based on the URL itself. `remedy` is shown only to the operator. */
  const detailedRefusal = (host: string, problem: string, remedy: string = ALLOW_REMEDY): BlockedAddress => {
    const detail = `${host} ${problem}`;
    const hint = explain ? `; to allow it, ${remedy}` : '';
    return { ok: false, message: `${detail}, so Everstep does not call it${hint}`, detail };
  };
  const genericRefusal = (host: string, problem: string, remedy?: string): BlockedAddress =>
    explain
      ? detailedRefusal(host, problem, remedy)
      : { ok: false, message: `Everstep does not call the address ${host}`, detail: `${host} ${problem}` };
  const operatorRefusal = (host: string): BlockedAddress =>
    genericRefusal(host, 'is denied by EVERSTEP_DENY_ADDRESSES', 'remove it from that list');
  const blockedPortRefusal = (host: string, port: number): BlockedAddress =>
    detailedRefusal(`${host}:${port}`, 'uses a port of a service that does not use HTTP', `add ${port} to EVERSTEP_ALLOW_PORTS`);

  const isBlockedPort = (port: number): boolean => BLOCKED_PORTS.has(port) && !allowPorts.has(port);

  const isOwnListener = (address: string, port: number): boolean =>
    options.ownListeners?.().some((listener) => listener.port === port && listener.addresses.includes(address)) ?? false;

  function checkAddress(rawAddress: string, hostname: string, port: number): AddressVerdict {
    const host = bareHost(hostname);
    const connectedAddress = removeZone(rawAddress);
    const address = nat64.embeddedAddress(connectedAddress) ?? connectedAddress;
    const match: Match = allow.match(host, address, port);
    if (deny.match(host, address, port) !== 'none') return operatorRefusal(host);
    const isLocal = allowLoopback && LOOPBACK.has(address);
    const reason = match === 'none' && !isLocal ? privateReason(address) : null;
    if (reason !== null)
      return host === rawAddress
        ? detailedRefusal(host, `is ${reason}`)
        : genericRefusal(host, `resolves to ${rawAddress}, ${reason}`);
    if (match !== 'port' && isOwnListener(address, port))
      return genericRefusal(host, `is this server itself (${rawAddress}:${port})`);
    if (isBlockedPort(port) && match !== 'port' && !isLocal) return blockedPortRefusal(host, port);
    if (instanceRules.deny.match(host, address, port) !== 'none') return instanceRefusal(host);
    if (instanceRules.only && instanceRules.only.match(host, address, port) === 'none') return instanceRefusal(host);
    return ALLOWED;
  }

  /** Checks a name before it is resolved: only rules that no address of it can change. */
  function checkName(host: string, port: number): AddressVerdict {
    if (deny.matchHost(host, port) !== 'none') return operatorRefusal(host);
    const match = allow.matchHost(host, port);
    if (match === 'none' && isMetadataName(host)) return detailedRefusal(host, 'is a name of a cloud metadata service');
    if (match === 'none' && isLocalhost(host) && !allowLoopback) return detailedRefusal(host, 'is a name of this machine');
    // Resolving the name would reveal whether it exists.
    if (match === 'none' && isInternalName(host) && !(resolvesNames && (allow.hasRanges || allowLoopback)))
      return genericRefusal(host, 'is a name of a private network');
    const mayBeOpen = resolvesNames ? allow.hasPort(port) || allowLoopback : match === 'port' || isLocalhost(host);
    if (isBlockedPort(port) && !mayBeOpen) return blockedPortRefusal(host, port);
    if (instanceRules.deny.matchHost(host, port) !== 'none') return instanceRefusal(host);
    const { only } = instanceRules;
    if (only && !(resolvesNames && only.hasRanges) && only.matchHost(host, port) === 'none') return instanceRefusal(host);
    return ALLOWED;
  }

  function check(url: string | URL): AddressVerdict {
    const problem = formProblem(url);
    if (problem !== null) return plainRefusal(problem);
    const { host, port } = destinationOf(new URL(url));
    return isIP(host) === 0 ? checkName(host, port) : checkAddress(host, host, port);
  }

  function isListed(url: string): boolean {
    const { host, port } = destinationOf(new URL(url));
    if (isIP(host) === 0) return allow.matchHost(host, port) !== 'none' || (allowLoopback && isLocalhost(host));
    return allow.matchAddress(host, port) !== 'none' || (allowLoopback && LOOPBACK.has(host));
  }

  return {
    scope: String(++policyCount),
    check,
    checkAddress,
    isListed,
    lookupAt: (port) => lookupAt(names, checkAddress, port),
    resolve: (hostname, instanceId) => names.find(hostname.toLowerCase(), instanceId),
  };
}
