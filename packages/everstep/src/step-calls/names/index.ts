/** Creates the resolver of host names from the settings of the installation. */
import { LIMITS } from '../../config/limits.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import { createDnsLookup, lookUpBySystem } from './dns-servers.js';
import { HOSTS_FILE, HostsFile } from './hosts-file.js';
import { NameResolver } from './name-resolver.js';

export { NameError, type NameResolution, type NameResolver } from './name-resolver.js';

/** Source of the addresses of names. `servers` are IP addresses of name servers, with or without a port. */
export type NameSource = 'resolv.conf' | 'system' | { readonly servers: readonly string[] };

export interface NamesOptions {
  readonly source?: NameSource;
  readonly owners?: InstanceOwners;
}

const elapsedMs = (): number => performance.now();

function setTimer(delayMs: number, fire: () => void): () => void {
  const timer = setTimeout(fire, delayMs);
  return () => clearTimeout(timer);
}

export function createNameResolver({ source = 'resolv.conf', owners = ONE_OWNER }: NamesOptions = {}): NameResolver {
  const usesSystem = source === 'system';
  const servers = typeof source === 'object' ? source.servers : null;
  return new NameResolver({
    lookUp: usesSystem ? lookUpBySystem : createDnsLookup({ servers, elapsedMs }),
    hosts: new HostsFile(HOSTS_FILE, elapsedMs),
    owners,
    limits: {
      maxLookups: usesSystem ? LIMITS.maxBlockingLookups : LIMITS.maxLookups,
      lookupTimeoutMs: LIMITS.lookupTimeoutMs,
      minFreshMs: LIMITS.minNameFreshMs,
      maxFreshMs: LIMITS.maxNameFreshMs,
      negativeFreshMs: LIMITS.negativeNameFreshMs,
      failureFreshMs: LIMITS.failedNameFreshMs,
      maxStaleMs: LIMITS.maxNameStaleMs,
      maxNames: LIMITS.maxKnownNames,
    },
    elapsedMs,
    setTimer,
  });
}
