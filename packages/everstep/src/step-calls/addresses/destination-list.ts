/** A list of destinations that the operator or a queue instance allows or denies. */
import type { DestinationRule } from '../../config/destination-rules.js';
import { AddressSet } from './address-set.js';

/** Whether a list contains a destination, and whether the matching entry specifies the port. */
export type Match = 'none' | 'any-port' | 'port';

interface HostEntry {
  readonly matchesSubdomains: boolean;
  readonly port: number | null;
}

export class DestinationList {
  /** Entries by name. Entries with `matchesSubdomains` are stored under the text after `*.`. */
  private readonly hosts = new Map<string, HostEntry[]>();
  /** Address ranges by port; null for every port. */
  private readonly ranges = new Map<number | null, AddressSet>();

  constructor(rules: readonly DestinationRule[]) {
    for (const rule of rules) {
      if (rule.kind === 'host') {
        this.hosts.set(rule.host, [...(this.hosts.get(rule.host) ?? []), rule]);
        continue;
      }
      const set = this.ranges.get(rule.port) ?? new AddressSet();
      set.add(rule.address, rule.prefix);
      this.ranges.set(rule.port, set);
    }
  }

  get hasRanges(): boolean {
    return this.ranges.size > 0;
  }

  /** Returns whether an entry has this port. */
  hasPort(port: number): boolean {
    return this.ranges.has(port) || [...this.hosts.values()].some((entries) => entries.some((entry) => entry.port === port));
  }

  matchHost(host: string, port: number): Match {
    const matchingEntries = this.entriesOf(host).filter((entry) => entry.port === null || entry.port === port);
    return matchingEntries.some((entry) => entry.port === port) ? 'port' : matchingEntries.length > 0 ? 'any-port' : 'none';
  }

  matchAddress(address: string, port: number): Match {
    if (this.ranges.get(port)?.has(address)) return 'port';
    return this.ranges.get(null)?.has(address) ? 'any-port' : 'none';
  }

  /** Returns how the list matches a destination. An entry for a host covers all its addresses. */
  match(host: string, address: string, port: number): Match {
    const matches = [this.matchHost(host, port), this.matchAddress(address, port)];
    return matches.includes('port') ? 'port' : matches.includes('any-port') ? 'any-port' : 'none';
  }

  private entriesOf(host: string): readonly HostEntry[] {
    const entries = (this.hosts.get(host) ?? []).filter(({ matchesSubdomains }) => !matchesSubdomains);
    for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1))
      entries.push(...(this.hosts.get(host.slice(dot + 1)) ?? []).filter(({ matchesSubdomains }) => matchesSubdomains));
    return entries;
  }
}
