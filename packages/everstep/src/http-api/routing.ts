/** Paths as OpenAPI writes them, as the router takes them, and as expressions to match. */
import type { Operation } from './operation.js';
import { TRIGGER_PATH } from './operations/trigger.js';
import { splitTarget } from './target.js';

/** Stands for every workflow URL in the router, which could not read most of them as a path. */
const ANY_WORKFLOW = '-';

export const pathsOf = (operation: Operation): readonly string[] => [operation.path, ...(operation.otherPaths ?? [])];

export const routerPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

/** What the router is to look at: never a workflow URL, whose slashes, percents and query are its own. */
export function routedUrl(url: string): string {
  const { path, query } = splitTarget(url);
  if (path.startsWith(TRIGGER_PATH) && path.length > TRIGGER_PATH.length) return TRIGGER_PATH + ANY_WORKFLOW;
  return url.startsWith('/') ? url : `${path}${query === '' ? '' : `?${query}`}`;
}

function expressionOf(path: string): RegExp {
  const escaped = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/\{\w+\}/g, path.startsWith(TRIGGER_PATH) ? '.*' : '[^/]*')}$`);
}

/** Finds operations by path, whatever the method. */
export class PathTable {
  private readonly entries: readonly { readonly expression: RegExp; readonly path: string; readonly operation: Operation }[];

  constructor(operations: readonly Operation[]) {
    this.entries = operations.flatMap((operation) =>
      pathsOf(operation).map((path) => ({ expression: expressionOf(path), path, operation })),
    );
  }

  /** Those that fit, those without parameters first. */
  at(path: string): readonly { readonly path: string; readonly operation: Operation }[] {
    const found = this.entries.filter(({ expression }) => expression.test(path));
    return found.sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')));
  }

  /** Methods that the path takes, for an `Allow` header; none when there is no such path. */
  methodsAt(path: string): readonly string[] {
    const methods = new Set<string>(this.at(path).map(({ operation }) => operation.method));
    if (methods.has('GET')) methods.add('HEAD');
    return [...methods].sort();
  }
}
