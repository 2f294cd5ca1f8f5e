/** Origins of URLs, cached. */

const MAX_KNOWN_ORIGINS = 1_000;
/** By URL: there are few, and each is requested often. */
const origins = new Map<string, string>();

/** Returns the normalized scheme, host and port of a URL: `http://app.test` for `HTTP://App.test:80/x`. */
export function originOf(url: string): string {
  const known = origins.get(url);
  if (known !== undefined) return known;
  const origin = URL.canParse(url) ? new URL(url).origin : url;
  if (origins.size >= MAX_KNOWN_ORIGINS) origins.clear();
  origins.set(url, origin);
  return origin;
}
