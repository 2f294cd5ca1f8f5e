/** Origins of URLs, cached. A worker URL is its own origin: each workflow of a worker is a destination. */
import { isWorkerUrl } from '../../ports/workers.js';

const MAIL_ORIGIN = 'mailto:';
const MAX_CACHED_ORIGINS = 1_000;
/** Keyed by URL. There are few URLs, and each is looked up often. */
const origins = new Map<string, string>();

/**
 * Returns the normalized scheme, host and port of a URL: `http://app.test` for `HTTP://App.test:80/x`. The origin of email is
 * `mailto:`, because all email goes to one server.
 */
export function originOf(url: string): string {
  if (isWorkerUrl(url)) return url;
  const cachedOrigin = origins.get(url);
  if (cachedOrigin !== undefined) return cachedOrigin;
  const parsedUrl = URL.canParse(url) ? new URL(url) : null;
  const origin = parsedUrl?.protocol === MAIL_ORIGIN ? MAIL_ORIGIN : (parsedUrl?.origin ?? url);
  if (origins.size >= MAX_CACHED_ORIGINS) origins.clear();
  origins.set(url, origin);
  return origin;
}
