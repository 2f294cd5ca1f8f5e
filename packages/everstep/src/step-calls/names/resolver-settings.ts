/** Parses the search settings of `/etc/resolv.conf`, which expand short names. */

const MAX_SEARCH_DOMAINS = 6;
const MAX_NDOTS = 15;

export interface ResolverSettings {
  readonly search: readonly string[];
  /** Minimum number of dots of a name that is first tried without the search domains. */
  readonly ndots: number;
}

/** Parses the settings. Like glibc, it uses the last `search` or `domain` line. */
export function parseResolverSettings(text: string): ResolverSettings {
  let search: readonly string[] = [];
  let ndots = 1;
  for (const line of text.split('\n')) {
    const [keyword = '', ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'search') search = values.slice(0, MAX_SEARCH_DOMAINS);
    else if (keyword === 'domain') search = values.slice(0, 1);
    else if (keyword === 'options') {
      const ndotsText = values.map((value) => /^ndots:(\d+)$/.exec(value)?.[1]).findLast((value) => value !== undefined);
      if (ndotsText !== undefined) ndots = Math.min(Number(ndotsText), MAX_NDOTS);
    }
  }
  const domains = search.map((domain) => domain.toLowerCase().replace(/\.+$/, '')).filter((domain) => domain !== '');
  return { search: domains, ndots };
}

/** Returns the names to query, in order. A name that ends with a dot is queried unchanged. */
export function candidatesFor(name: string, { search, ndots }: ResolverSettings): readonly string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const expandedNames = search.map((domain) => `${name}.${domain}`);
  const dots = name.split('.').length - 1;
  return dots >= ndots ? [name, ...expandedNames] : [...expandedNames, name];
}
