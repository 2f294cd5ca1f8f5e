/** Regions in the host of a base URL. */

/** What regions of clouds begin with: another label of that form, such as `my-app-1`, is a name that somebody chose. */
const REGION_LABEL = /^(queue-)?(?:us|eu|ap|sa|ca|me|af|il|mx|cn)(?:-[a-z]+)+-\d+$/;

/**
 * The base URL with `region` as the first label of its host, in place of any
 * region there. Throws RangeError when the host cannot carry one.
 */
export function withRegion(baseUrl: string, region: string): string {
  const url = new URL(baseUrl);
  const [first = '', ...rest] = url.hostname.split('.');
  const isAddress = url.hostname.startsWith('[') || /^[\d.]+$/.test(url.hostname);
  const present = REGION_LABEL.exec(first);
  if (present && rest.length > 0) url.hostname = [`${present[1] ?? ''}${region}`, ...rest].join('.');
  else if (!isAddress) url.hostname = `${region}.${url.hostname}`;
  else throw new RangeError(`a region is the first label of a host name, and ${url.hostname} is an address`);
  return url.toString();
}
