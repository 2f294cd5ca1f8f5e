/** Header names in responses and callbacks. */

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * Returns the canonical form of a header name, such as `X-Request-Id` and `Etag`. The first letter and every letter
 * after a hyphen are uppercase, and all other letters are lowercase. A text that is not a valid header name is returned
 * unchanged.
 */
export const canonicalHeaderName = (name: string): string =>
  TOKEN.test(name) ? name.toLowerCase().replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase()) : name;

/** Returns the headers under their canonical names. Of two names that differ only in case, the later one wins. */
export const canonicalHeaders = (
  headers: Readonly<Record<string, readonly string[]>>,
): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(Object.entries(headers).map(([name, values]) => [canonicalHeaderName(name), values]));
