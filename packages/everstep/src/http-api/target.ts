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

/** An event ID follows these. The published SDKs do not encode it. */
export const WAIT_PATH = '/v2/wait/';
const WAITERS_PATH = '/v2/waiters/';
/** An event ID follows this, or a run ID, a slash and an event ID. */
const NOTIFY_PATH = '/v2/notify/';
/** A flow control key follows this, which the published SDKs do not encode, and the name of what is done with it. */
const FLOW_CONTROL_PATH = '/v2/flowControl/';
const OF_ONE_KEY = /\/(?:pause|resume|pin|unpin|resetRate|waiting)$/;

const SLASHES_INSIDE = /\/(?!$)/g;
const encodeSlashes = (text: string): string => text.replace(SLASHES_INSIDE, '%2F');

/** The path with the slashes of event IDs and flow control keys encoded, so that each is one part of it. One at the end is no part. */
export function withWholeIds(path: string): string {
  // A wait for an ID that ends with a slash is refused, and not taken for another one.
  if (path.startsWith(WAIT_PATH)) return WAIT_PATH + path.slice(WAIT_PATH.length).replaceAll('/', '%2F');
  if (path.startsWith(WAITERS_PATH)) return WAITERS_PATH + encodeSlashes(path.slice(WAITERS_PATH.length));
  if (path.startsWith(NOTIFY_PATH)) {
    const second = path.indexOf('/', NOTIFY_PATH.length) + 1;
    return second === 0 ? path : path.slice(0, second) + encodeSlashes(path.slice(second));
  }
  if (!path.startsWith(FLOW_CONTROL_PATH)) return path;
  const rest = path.slice(FLOW_CONTROL_PATH.length);
  const [verb = ''] = OF_ONE_KEY.exec(rest) ?? [];
  return FLOW_CONTROL_PATH + encodeSlashes(rest.slice(0, rest.length - verb.length)) + verb;
}

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
