/** Regions in the host of a base URL. */

/** Prefixes of cloud regions. Another label of this form, such as `my-app-1`, is an ordinary name. */
const REGION_LABEL = /^(queue-)?(?:us|eu|ap|sa|ca|me|af|il|mx|cn)(?:-[a-z]+)+-\d+$/;

/**
 * Returns the base URL with `region` as the first label of its host, replacing any region there.
 *
 * @throws {RangeError} If the host is an IP address.
 */
export function withRegion(baseUrl: string, region: string): string {
  const url = new URL(baseUrl);
  const [first = '', ...rest] = url.hostname.split('.');
  const isAddress = url.hostname.startsWith('[') || /^[\d.]+$/.test(url.hostname);
  const present = REGION_LABEL.exec(first);
  if (present && rest.length > 0) url.hostname = [`${present[1] ?? ''}${region}`, ...rest].join('.');
  else if (!isAddress) url.hostname = `${region}.${url.hostname}`;
  else throw new RangeError(`a region must be the first label of a host name, but ${url.hostname} is an IP address`);
  return url.toString();
}
