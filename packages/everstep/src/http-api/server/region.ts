/** Determines the region of a request from the first label of its host. */
import { isIP } from 'node:net';
import { DEFAULT_REGION, REGIONS, type Region } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';

/** Prefixes of cloud regions. Other labels of this form, such as `my-app-1`, are ordinary host names. */
const GEOGRAPHIES = 'us|eu|ap|sa|ca|me|af|il|mx|cn';
const REGION_LABEL = new RegExp(`^(?:queue-)?((?:${GEOGRAPHIES})(?:-[a-z]+)+-\\d+)$`);

const isRegion = (text: string): text is Region => REGIONS.some((region) => region === text);

/** Returns the region. `host` is the Host header, with or without a port. Throws ApiError `unknown-region`. */
export function regionOf(host: string | undefined, defaultRegion: Region = DEFAULT_REGION): Region {
  if (host === undefined || host.startsWith('[')) return defaultRegion;
  const name = host.replace(/:\d*$/, '').toLowerCase();
  if (isIP(name) !== 0) return defaultRegion;
  const label = name.split('.', 1)[0] ?? '';
  const region = REGION_LABEL.exec(label)?.[1];
  if (region === undefined) return defaultRegion;
  if (isRegion(region)) return region;
  throw new ApiError('unknown-region', `unknown region ${region}; use ${REGIONS.join(' or ')}`);
}
