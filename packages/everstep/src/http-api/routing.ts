/** Paths as OpenAPI writes them, as the router takes them, and as expressions to match. */
import type { Operation } from './operation.js';
import { ENQUEUE_PATH, PAGES_PATH, PUBLISH_PATH, SCHEDULE_PATH, splitTarget, TRIGGER_PATH, withWholeIds } from './target.js';

/** Stands for every workflow URL, and for every path of a page, in the router, which could not read most of them as a path. */
const ANY_WORKFLOW = '-';

/** No URL, though it comes where one may stand. */
const OF_ONE_SCHEDULE = new RegExp(`^${SCHEDULE_PATH}(?!https?:)[^/]+/(?:pause|resume|run)$`, 'i');

export const pathsOf = (operation: Operation): readonly string[] => [operation.path, ...(operation.otherPaths ?? [])];

/** Operations of which one is taken: they have the same method and path, and differ in the dialect for which they are. */
export interface OperationRoute {
  readonly method: Operation['method'];
  readonly path: string;
  readonly operations: readonly Operation[];
}

/** Throws when two operations of one dialect have the same method and path, or name its parameters differently. */
export function routesOf(operations: readonly Operation[]): readonly OperationRoute[] {
  const routes = new Map<string, { readonly path: string; readonly operations: Operation[] }>();
  for (const operation of operations) {
    for (const path of pathsOf(operation)) {
      const key = `${operation.method} ${path.replace(/\{\w+\}/g, '{}')}`;
      const route = routes.get(key);
      if (!route) {
        routes.set(key, { path, operations: [operation] });
        continue;
      }
      const clash = route.path !== path || route.operations.some(({ dialect }) => dialect === operation.dialect);
      if (clash) throw new Error(`${operation.operationId} has the path of another operation: ${key}`);
      route.operations.push(operation);
    }
  }
  return [...routes.values()].map(({ path, operations: all }) => {
    const [first] = all;
    if (!first) throw new Error(`${path} has no operation`);
    return { method: first.method, path, operations: all };
  });
}

export const routerPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

/** What the router is to look at, given what a path means: never a page of the dashboard, and never a workflow URL, whose slashes, percents and query are its own. */
export function routedUrl(method: string, url: string, meant: (path: string) => string = (path) => path): string {
  const { path, query } = splitTarget(url);
  const isUrl = (before: string): boolean => path.startsWith(before) && path.length > before.length;
  if (isUrl(TRIGGER_PATH)) return TRIGGER_PATH + ANY_WORKFLOW;
  if (isUrl(PUBLISH_PATH)) return PUBLISH_PATH + ANY_WORKFLOW;
  if (isUrl(ENQUEUE_PATH)) {
    const end = path.indexOf('/', ENQUEUE_PATH.length);
    if (end !== -1 && end < path.length - 1) return path.slice(0, end + 1) + ANY_WORKFLOW;
  }
  if ((method === 'GET' || method === 'HEAD') && isUrl(PAGES_PATH)) return PAGES_PATH + ANY_WORKFLOW;
  if (method === 'POST' && isUrl(SCHEDULE_PATH) && !OF_ONE_SCHEDULE.test(path)) return SCHEDULE_PATH + ANY_WORKFLOW;
  const taken = withWholeIds(meant(path));
  return url.startsWith('/') && taken === path ? url : `${taken}${query === '' ? '' : `?${query}`}`;
}

function expressionOf(path: string, { unknownQuery }: Operation): RegExp {
  const escaped = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/\{\w+\}/g, unknownQuery === 'part-of-path' ? '.*' : '[^/]*')}$`);
}

/** Finds operations by path, whatever the method. */
export class PathTable {
  private readonly entries: readonly { readonly expression: RegExp; readonly path: string; readonly operation: Operation }[];

  constructor(operations: readonly Operation[]) {
    this.entries = operations.flatMap((operation) =>
      pathsOf(operation).map((path) => ({ expression: expressionOf(path, operation), path, operation })),
    );
  }

  /** Those that fit, those without parameters first, and last those that take whatever follows. */
  at(path: string): readonly { readonly path: string; readonly operation: Operation }[] {
    const whole = withWholeIds(path);
    const found = this.entries.filter(({ expression }) => expression.test(whole));
    const rank = ({ path: of, operation }: (typeof found)[number]): number =>
      operation.unknownQuery === 'part-of-path' ? 2 : Number(of.includes('{'));
    return found.sort((a, b) => rank(a) - rank(b));
  }

  /**
   * The path that is meant: one with a slash too many at its end is taken without, unless it is of its own or the slash stands
   * before a part that is missing. So nothing is done to all of something because the name of the one was empty.
   */
  meant(path: string): string {
    if (!path.endsWith('/') || this.at(path).length > 0) return path;
    const shorter = path.slice(0, -1);
    return this.at(shorter).length > 0 ? shorter : path;
  }

  /** Methods that the path takes, for an `Allow` header; none when there is no such path. */
  methodsAt(path: string): readonly string[] {
    const found = this.at(path).map(({ operation }) => operation);
    const methods = new Set<string>(found.map(({ method }) => method));
    if (found.some(({ method, head }) => method === 'GET' && head !== false)) methods.add('HEAD');
    return [...methods].sort();
  }
}
