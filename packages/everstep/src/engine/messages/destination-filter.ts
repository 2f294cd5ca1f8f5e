/** Filter of messages by the host and path of their destination. No index of the store supports it. */
export interface DestinationFilter {
  /** Hosts, with the port if the URL has one. */
  readonly hosts?: readonly string[];
  /** Paths, without the query. */
  readonly paths?: readonly string[];
}

/** Returns whether the filter has a condition. */
export const hasDestination = ({ hosts, paths }: DestinationFilter): boolean => hosts !== undefined || paths !== undefined;

/** Returns whether a URL matches the filter. */
export function matchesDestination(url: string, { hosts, paths }: DestinationFilter): boolean {
  const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '', pathname: '' };
  return (hosts?.includes(host) ?? true) && (paths?.includes(pathname) ?? true);
}
