/** Regions in the host of a base URL. */

/** A label that is a cloud region. A label with another prefix, such as `my-app-1`, is an ordinary name. */
const REGION_LABEL = /^(queue-)?(?:us|eu|ap|sa|ca|me|af|il|mx|cn)(?:-[a-z]+)+-\d+$/;

/**
 * Returns the base URL with `region` as the first label of its host, replacing any region there.
 *
 * @throws {RangeError} If the host is an IP address.
 */
export function withRegion(baseUrl: string, region: string): string {
  const url = new URL(baseUrl);
  const [firstLabel = '', ...otherLabels] = url.hostname.split('.');
  const isIpAddress = url.hostname.startsWith('[') || /^[\d.]+$/.test(url.hostname);
  const regionMatch = REGION_LABEL.exec(firstLabel);
  if (regionMatch && otherLabels.length > 0) url.hostname = [`${regionMatch[1] ?? ''}${region}`, ...otherLabels].join('.');
  else if (!isIpAddress) url.hostname = `${region}.${url.hostname}`;
  else throw new RangeError(`a region must be the first label of a host name, but ${url.hostname} is an IP address`);
  return url.toString();
}
