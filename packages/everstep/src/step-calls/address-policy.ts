/**
 * Which destinations the service may call. Everything that only this machine
 * or its network can reach is refused: otherwise whoever may trigger a run may
 * read the cloud's metadata or talk to the database next door.
 *
 * Decided twice. `check` sees what a URL shows by itself. `lookupAt` is given to
 * the socket, so that the address that was judged is the one that is connected
 * to, whatever DNS answers the next time.
 */
import { isIP, type LookupFunction } from 'node:net';
import { bareHost, parseDestinationRules } from '../config/destination-rules.js';
import type { OutboundRules } from '../ports/account-store.js';
import { AddressSet, privateReason, withoutZone } from './addresses/address-set.js';
import { BLOCKED_PORTS } from './addresses/blocked-ports.js';
import { DestinationList, type Match } from './addresses/destination-list.js';
import { isInternalName, isLocalhost, isMetadataName } from './addresses/internal-names.js';
import { Nat64 } from './addresses/nat64.js';
import { createNameResolver, type NameResolver, type Resolved } from './names/index.js';

export interface Blocked {
  readonly ok: false;
  /** For whoever asked for the call: nothing about the network of the service, or its settings. */
  readonly message: string;
  /** For the operator, in the log of the service. */
  readonly detail: string;
}

export type AddressVerdict = { readonly ok: true } | Blocked;

export interface AddressPolicy {
  /** Differs between policies: a connection that was made under one is not used under another. */
  readonly scope: string;
  /** Judges what is visible in the URL: scheme, credentials, port, literal addresses, names that are never public. */
  check(url: string | URL): AddressVerdict;
  /** Judges an address to connect to; `hostname` is the name that it was found under. */
  checkAddress(address: string, hostname: string, port: number): AddressVerdict;
  /** Whether an allow list names the host of the URL, so that it is called directly where others are called through a proxy. */
  isListed(url: string): boolean;
  /** Resolves like `dns.lookup`, without the addresses that are refused; fails with BlockedAddressError if none is left. */
  lookupAt(port: number): LookupFunction;
  /** Looks the name up on behalf of an instance, so that `lookupAt` knows it when a connection is made. Judges nothing. */
  resolve(hostname: string, instanceId: string): Promise<Resolved> | Resolved;
}

/** Where this service itself listens. */
export interface OwnListener {
  readonly addresses: readonly string[];
  readonly port: number;
}

export interface AddressPolicyOptions {
  readonly allowLoopback: boolean;
  /** Destinations that may be called although they are private. One with a port may be called at a blocked port, too. */
  readonly allow: readonly string[];
  /** Destinations that are not called, whatever else allows them. */
  readonly deny?: readonly string[];
  /** Blocked ports that may be called all the same. */
  readonly allowPorts?: readonly number[];
  /** Prefixes of the network's NAT64; addresses in them are judged by the IPv4 address that they lead to. */
  readonly nat64Prefixes?: readonly string[];
  readonly ownListeners?: () => readonly OwnListener[];
  /** False where an egress proxy resolves names: one is then judged by itself, and an entry with a range does not cover it. */
  readonly resolvesNames?: boolean;
  /** Tells the caller what the operator may set: the caller is the operator. */
  readonly explain?: boolean;
  /** What a queue instance has of its own. */
  readonly rules?: OutboundRules;
  /** Looks names up; one with the settings of the operating system when absent. */
  readonly names?: Pick<NameResolver, 'find'>;
}

/** Whose lookups count for no instance: a connection is made, and what its delivery looked up is not known any more. */
const NO_INSTANCE = '';

export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code = 'EVERSTEP_BLOCKED_ADDRESS';
  readonly detail: string;

  constructor({ message, detail }: Pick<Blocked, 'message' | 'detail'>) {
    super(message);
    this.detail = detail;
  }
}

const ALLOWED: AddressVerdict = Object.freeze({ ok: true });
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** Where a connection for an http or https URL leads. */
export function destinationOf({ protocol, hostname, port }: URL): { readonly host: string; readonly port: number } {
  return { host: bareHost(hostname), port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port) };
}

const LOOPBACK = new AddressSet();
LOOPBACK.add('127.0.0.0', 8);
LOOPBACK.add('::1', 128);

const listOf = (entries: readonly string[]): DestinationList => new DestinationList(parseDestinationRules(entries));

const invalid = (message: string): Blocked => ({ ok: false, message, detail: message });

let policies = 0;

/** Throws when an entry of a list is invalid. */
export function createAddressPolicy(options: AddressPolicyOptions): AddressPolicy {
  const { allowLoopback, explain = false, resolvesNames = true, rules } = options;
  const allow = listOf([...options.allow, ...(rules?.allow ?? [])]);
  const deny = listOf(options.deny ?? []);
  const own = { deny: listOf(rules?.deny ?? []), only: rules?.only ? listOf(rules.only) : null };
  const allowPorts = new Set(options.allowPorts);
  const nat64 = new Nat64(options.nat64Prefixes ?? []);

  /** What the URL shows may be told. `setting` helps only those who start the service. */
  const shown = (host: string, what: string, setting: string): Blocked => {
    const detail = `${host} ${what}`;
    const hint = explain ? `; to allow it, start the service with ${setting}` : '';
    return { ok: false, message: `${detail}, which this service does not call${hint}`, detail };
  };
  const SETTING = 'its host or range in EVERSTEP_ALLOW_ADDRESSES';
  const hidden = (host: string, what: string, setting: string = SETTING): Blocked =>
    explain
      ? shown(host, what, setting)
      : { ok: false, message: `${host} is not an address that this service calls`, detail: `${host} ${what}` };
  const deniedByOperator = (host: string): Blocked => hidden(host, 'is denied by EVERSTEP_DENY_ADDRESSES', 'another list');
  const blockedPort = (host: string, port: number): Blocked =>
    shown(`${host}:${port}`, 'has a port of a service that does not speak HTTP', `${port} in EVERSTEP_ALLOW_PORTS`);
  const deniedByInstance = (host: string): Blocked => invalid(`${host} is denied by the outbound policy of this queue instance`);

  const isBlockedPort = (port: number): boolean => BLOCKED_PORTS.has(port) && !allowPorts.has(port);

  const isOwnListener = (address: string, port: number): boolean =>
    options.ownListeners?.().some((listener) => listener.port === port && listener.addresses.includes(address)) ?? false;

  function checkAddress(given: string, hostname: string, port: number): AddressVerdict {
    const host = bareHost(hostname);
    const connected = withoutZone(given);
    const address = nat64.embedded(connected) ?? connected;
    const allowed: Match = allow.match(host, address, port);
    if (deny.match(host, address, port) !== 'none') return deniedByOperator(host);
    const isLocal = allowLoopback && LOOPBACK.has(address);
    const reason = allowed === 'none' && !isLocal ? privateReason(address) : null;
    if (reason !== null)
      return host === given ? shown(host, `is ${reason}`, SETTING) : hidden(host, `resolves to ${given}, ${reason}`);
    if (allowed !== 'port' && isOwnListener(address, port)) return hidden(host, `is this service itself (${given}:${port})`);
    if (isBlockedPort(port) && allowed !== 'port' && !isLocal) return blockedPort(host, port);
    if (own.deny.match(host, address, port) !== 'none') return deniedByInstance(host);
    if (own.only && own.only.match(host, address, port) === 'none') return deniedByInstance(host);
    return ALLOWED;
  }

  /** Of a name that is not resolved yet: what no address of it can change. */
  function checkName(host: string, port: number): AddressVerdict {
    if (deny.matchHost(host, port) !== 'none') return deniedByOperator(host);
    const allowed = allow.matchHost(host, port);
    if (allowed === 'none' && isMetadataName(host)) return shown(host, 'is a name of cloud metadata', SETTING);
    if (allowed === 'none' && isLocalhost(host) && !allowLoopback) return shown(host, 'is a name of this machine', SETTING);
    // Resolving it would tell whether it exists.
    if (allowed === 'none' && isInternalName(host) && !(resolvesNames && (allow.hasRanges || allowLoopback)))
      return hidden(host, 'is a name of a private network');
    const mayBeOpen = resolvesNames ? allow.namesPort(port) || allowLoopback : allowed === 'port' || isLocalhost(host);
    if (isBlockedPort(port) && !mayBeOpen) return blockedPort(host, port);
    if (own.deny.matchHost(host, port) !== 'none') return deniedByInstance(host);
    if (own.only && !(resolvesNames && own.only.hasRanges) && own.only.matchHost(host, port) === 'none')
      return deniedByInstance(host);
    return ALLOWED;
  }

  function check(url: string | URL): AddressVerdict {
    if (typeof url === 'string' && !URL.canParse(url)) return invalid(`"${url.slice(0, 200)}" is not an absolute URL`);
    const parsed = new URL(url);
    const { protocol, username, password } = parsed;
    if (!(protocol in DEFAULT_PORTS)) return invalid(`only http and https URLs are called, not ${protocol.slice(0, -1)}`);
    if (username !== '' || password !== '')
      return invalid('a URL with a user name or password in it is not called; send credentials in a header');
    const { host, port } = destinationOf(parsed);
    return isIP(host) === 0 ? checkName(host, port) : checkAddress(host, host, port);
  }

  function isListed(url: string): boolean {
    const { host, port } = destinationOf(new URL(url));
    if (isIP(host) === 0) return allow.matchHost(host, port) !== 'none' || (allowLoopback && isLocalhost(host));
    return allow.matchAddress(host, port) !== 'none' || (allowLoopback && LOOPBACK.has(host));
  }

  const names = options.names ?? createNameResolver();

  const lookupAt =
    (port: number): LookupFunction =>
    (hostname, lookupOptions, callback) => {
      const take = (resolved: Resolved): void => {
        if (resolved.kind === 'failed') {
          callback(resolved.error, [], 0);
          return;
        }
        let refusal: Blocked = invalid('it has no address');
        const usable = resolved.addresses.filter(({ address }) => {
          const verdict = checkAddress(address, hostname, port);
          if (!verdict.ok) refusal = verdict;
          return verdict.ok;
        });
        const first = usable[0];
        if (!first) callback(new BlockedAddressError(refusal), [], 0);
        else if (lookupOptions.all === true) callback(null, usable);
        else callback(null, first.address, first.family);
      };
      const resolved = names.find(hostname.toLowerCase(), NO_INSTANCE);
      // A socket expects its answer later, never at once.
      if (resolved instanceof Promise) void resolved.then(take);
      else queueMicrotask(() => take(resolved));
    };

  return {
    scope: String(++policies),
    check,
    checkAddress,
    isListed,
    lookupAt,
    resolve: (hostname, instanceId) => names.find(hostname.toLowerCase(), instanceId),
  };
}
