/** The request target: path and query as they came. */

export interface Target {
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

/** A URL stands behind these: behind the first two whatever the method, behind the third in a POST. */
export const TRIGGER_PATH = '/v2/trigger/';
export const PUBLISH_PATH = '/v2/publish/';
export const SCHEDULE_PATH = '/v2/schedules/';
/** Behind this a name, a slash and then a URL. */
export const ENQUEUE_PATH = '/v2/enqueue/';

/** Behind this stands the ID of an event, as it is: the published SDK encodes none. */
export const WAIT_PATH = '/v2/wait/';

/** Pages of the dashboard stand behind this in a GET, however many parts their path has. */
export const PAGES_PATH = '/q/';

const ORIGIN = /^https?:\/\/[^/?]*/i;

/** A target may come with the origin in front (as proxies send it). */
export function splitTarget(url: string): Target {
  const local = url.startsWith('/') ? url : url.replace(ORIGIN, '');
  const mark = local.indexOf('?');
  return mark === -1 ? { path: local, query: '' } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
}

function nameOf(part: string): string {
  const name = part.split('=', 1)[0] ?? '';
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

export interface QueryToken {
  readonly token: string;
  /** The query without the parameter that was taken. */
  readonly rest: string;
}

/**
 * Takes the token out of a query; the last one when there are several, because a client puts its own behind what the URL
 * had. Null when there is none.
 */
export function takeToken(query: string, tokenParameter: string): QueryToken | null {
  if (!query.includes('=')) return null;
  const parts = query.split('&');
  const index = parts.findLastIndex((part) => nameOf(part) === tokenParameter);
  const part = parts[index];
  if (part === undefined) return null;
  const value = part.slice(part.indexOf('=') + 1);
  let token = value;
  try {
    token = decodeURIComponent(value);
  } catch {
    // What cannot be decoded is no token; verifying it says so.
  }
  return { token, rest: parts.filter((_, at) => at !== index).join('&') };
}
