/** Converts paths of operations between OpenAPI, the router and regular expressions. Keeps invariant 40. */
import { DEFAULT_DIALECT, DIALECTS, type Dialect, type DialectClues, identifiedDialect } from '../../dialects/index.js';
import type { Operation } from '../operation.js';
import { ENQUEUE_PATH, encodeIds, PAGES_PATH, PUBLISH_PATH, SCHEDULE_PATH, splitTarget, TRIGGER_PATH } from './target.js';

/** Placeholder for workflow URLs and dashboard pages in routed paths, because the router cannot parse most of them. */
const URL_PLACEHOLDER = '-';

/** Path of an operation on one schedule. The id is in the position of a URL, but is not a URL. */
const SCHEDULE_ACTION_PATH = new RegExp(`^${SCHEDULE_PATH}(?!https?:|worker:)[^/]+/(?:pause|resume|run)$`, 'i');

export const pathsOf = (operation: Operation): readonly string[] => [operation.path, ...(operation.otherPaths ?? [])];

/** Operations with the same method and path, one for each dialect. */
export interface OperationRoute {
  readonly method: Operation['method'];
  readonly path: string;
  readonly operations: readonly Operation[];
}

/**
 * Groups operations into routes. Throws if two operations with the same method and path have the same dialect, or name the
 * path parameters differently.
 */
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
      const hasConflict = route.path !== path || route.operations.some(({ dialect }) => dialect === operation.dialect);
      if (hasConflict) throw new Error(`${operation.operationId} has the same method and path as another operation: ${key}`);
      route.operations.push(operation);
    }
  }
  return [...routes.values()].map(({ path, operations: routeOperations }) => {
    const [first] = routeOperations;
    if (!first) throw new Error(`${path} has no operation`);
    return { method: first.method, path, operations: routeOperations };
  });
}

/** Returns the dialect of a request to one of these operations, which have the same method and path. */
function requestDialectOf(operations: readonly Operation[], clues: DialectClues): Dialect {
  const identified = identifiedDialect(clues);
  if (identified) return identified;
  const names = (clues.query ?? '').split('&').map((parameter) => parameter.split('=', 1)[0] ?? '');
  const owner = operations.find(({ ownParameters = [] }) => ownParameters.some((name) => names.includes(name)));
  return owner?.dialect ? DIALECTS[owner.dialect] : DEFAULT_DIALECT;
}

/** Returns the one of these operations, which have the same method and path, that handles a request, and the dialect of the request. */
export function selectOperation<Selected extends Operation>(
  operations: readonly Selected[],
  clues: DialectClues,
): { readonly operation: Selected; readonly dialect: Dialect } {
  const requestDialect = requestDialectOf(operations, clues);
  const operation =
    operations.find(({ dialect }) => dialect === requestDialect.name) ??
    operations.find(({ dialect }) => !dialect) ??
    operations[0];
  if (!operation) throw new Error('a route has no operation');
  return { operation, dialect: operation.dialect ? DIALECTS[operation.dialect] : requestDialect };
}

export const routerPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

/**
 * Returns the URL for the router. `resolvePath` resolves the path. Workflow URLs and dashboard pages are replaced by a
 * placeholder, because they can contain slashes and percent signs.
 */
export function routedUrl(method: string, url: string, resolvePath: (path: string) => string = (path) => path): string {
  const { path, query } = splitTarget(url);
  const hasUrlAfter = (prefix: string): boolean => path.startsWith(prefix) && path.length > prefix.length;
  if (hasUrlAfter(TRIGGER_PATH)) return TRIGGER_PATH + URL_PLACEHOLDER;
  if (hasUrlAfter(PUBLISH_PATH)) return PUBLISH_PATH + URL_PLACEHOLDER;
  if (hasUrlAfter(ENQUEUE_PATH)) {
    const nameEnd = path.indexOf('/', ENQUEUE_PATH.length);
    if (nameEnd !== -1 && nameEnd < path.length - 1) return path.slice(0, nameEnd + 1) + URL_PLACEHOLDER;
  }
  if ((method === 'GET' || method === 'HEAD') && hasUrlAfter(PAGES_PATH)) return PAGES_PATH + URL_PLACEHOLDER;
  if (method === 'POST' && hasUrlAfter(SCHEDULE_PATH) && !SCHEDULE_ACTION_PATH.test(path)) return SCHEDULE_PATH + URL_PLACEHOLDER;
  const routedPath = encodeIds(resolvePath(path));
  return url.startsWith('/') && routedPath === path ? url : `${routedPath}${query === '' ? '' : `?${query}`}`;
}

function expressionOf(path: string, { unknownQuery }: Operation): RegExp {
  const escaped = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/\{\w+\}/g, unknownQuery === 'part-of-path' ? '.*' : '[^/]*')}$`);
}

/** Finds operations by path, for all methods. */
export class PathTable {
  private readonly entries: readonly { readonly expression: RegExp; readonly path: string; readonly operation: Operation }[];

  constructor(operations: readonly Operation[]) {
    this.entries = operations.flatMap((operation) =>
      pathsOf(operation).map((path) => ({ expression: expressionOf(path, operation), path, operation })),
    );
  }

  /** Returns the matching operations: first those without path parameters, last those whose path ends with any text. */
  operationsAt(path: string): readonly { readonly path: string; readonly operation: Operation }[] {
    const encodedPath = encodeIds(path);
    const matching = this.entries.filter(({ expression }) => expression.test(encodedPath));
    const rank = ({ path: entryPath, operation }: (typeof matching)[number]): number =>
      operation.unknownQuery === 'part-of-path' ? 2 : Number(entryPath.includes('{'));
    return matching.sort((a, b) => rank(a) - rank(b));
  }

  /**
   * Removes a superfluous trailing slash from a path. The slash stays if the path with it exists, or if a parameter after it is
   * missing: an operation on all objects must not run because an id was empty.
   */
  resolve(path: string): string {
    if (!path.endsWith('/') || this.operationsAt(path).length > 0) return path;
    const shorterPath = path.slice(0, -1);
    return this.operationsAt(shorterPath).length > 0 ? shorterPath : path;
  }

  /** Returns the methods of a path for the `Allow` header; empty when the path does not exist. */
  methodsAt(path: string): readonly string[] {
    const operations = this.operationsAt(path).map(({ operation }) => operation);
    const methods = new Set<string>(operations.map(({ method }) => method));
    if (operations.some(({ method, head }) => method === 'GET' && head !== false)) methods.add('HEAD');
    return [...methods].sort();
  }
}
