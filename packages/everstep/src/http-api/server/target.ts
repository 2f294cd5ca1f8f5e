/** Request target: the raw path and query. */

export interface Target {
  readonly path: string;
  /** Query without the question mark. */
  readonly query: string;
}

/** A URL follows these prefixes: the first two for all methods, the third only for POST. */
export const TRIGGER_PATH = '/v2/trigger/';
export const PUBLISH_PATH = '/v2/publish/';
export const SCHEDULE_PATH = '/v2/schedules/';
/** A name, a slash and a URL follow this prefix. */
export const ENQUEUE_PATH = '/v2/enqueue/';

/** An event id follows these prefixes. The published SDKs do not encode it. */
export const WAIT_PATH = '/v2/wait/';
const WAITERS_PATH = '/v2/waiters/';
/** An event id, or a run id, a slash and an event id, follow this prefix. */
const NOTIFY_PATH = '/v2/notify/';
/** A flow control key, which the published SDKs do not encode, and an action follow this prefix. */
const FLOW_CONTROL_PATH = '/v2/flowControl/';
const KEY_ACTION = /\/(?:pause|resume|pin|unpin|resetRate|waiting)$/;

const SLASHES_INSIDE = /\/(?!$)/g;
const encodeSlashes = (text: string): string => text.replace(SLASHES_INSIDE, '%2F');

/**
 * Encodes the slashes of event ids and flow control keys, so that each is one segment of the path. A slash at the end is
 * not encoded.
 */
export function encodeIds(path: string): string {
  // A wait for an id that ends with a slash is rejected instead of waiting for another id.
  if (path.startsWith(WAIT_PATH)) return WAIT_PATH + path.slice(WAIT_PATH.length).replaceAll('/', '%2F');
  if (path.startsWith(WAITERS_PATH)) return WAITERS_PATH + encodeSlashes(path.slice(WAITERS_PATH.length));
  if (path.startsWith(NOTIFY_PATH)) {
    const eventIdStart = path.indexOf('/', NOTIFY_PATH.length) + 1;
    return eventIdStart === 0 ? path : path.slice(0, eventIdStart) + encodeSlashes(path.slice(eventIdStart));
  }
  if (!path.startsWith(FLOW_CONTROL_PATH)) return path;
  const keyAndAction = path.slice(FLOW_CONTROL_PATH.length);
  const [action = ''] = KEY_ACTION.exec(keyAndAction) ?? [];
  return FLOW_CONTROL_PATH + encodeSlashes(keyAndAction.slice(0, keyAndAction.length - action.length)) + action;
}

/** Dashboard pages have this prefix in a GET request, with any number of segments. */
export const PAGES_PATH = '/q/';

const ORIGIN = /^https?:\/\/[^/?]*/i;

/** Splits a target, which includes the origin when a proxy sends it. */
export function splitTarget(url: string): Target {
  const originForm = url.startsWith('/') ? url : url.replace(ORIGIN, '');
  const queryStart = originForm.indexOf('?');
  return queryStart === -1
    ? { path: originForm, query: '' }
    : { path: originForm.slice(0, queryStart), query: originForm.slice(queryStart + 1) };
}

function parameterName(parameter: string): string {
  const name = parameter.split('=', 1)[0] ?? '';
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

export interface QueryToken {
  readonly token: string;
  /** The query without the token parameter. */
  readonly remainingQuery: string;
}

/**
 * Takes the token out of a query. If there are several, takes the last one, because a client appends its own to the query
 * of a URL. Returns null when there is none.
 */
export function takeToken(query: string, tokenParameter: string): QueryToken | null {
  if (!query.includes('=')) return null;
  const parameters = query.split('&');
  const index = parameters.findLastIndex((parameter) => parameterName(parameter) === tokenParameter);
  const parameter = parameters[index];
  if (parameter === undefined) return null;
  const encodedToken = parameter.slice(parameter.indexOf('=') + 1);
  let token = encodedToken;
  try {
    token = decodeURIComponent(encodedToken);
  } catch {
    // A value that cannot be decoded is not a token; the verification reports it.
  }
  return { token, remainingQuery: parameters.filter((_, otherIndex) => otherIndex !== index).join('&') };
}
