/** Finds the first difference between two JSON values. */

type JsonObject = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export interface JsonDifference {
  /** Path of the difference, in code notation such as `.items[0].price`; empty for the root. */
  readonly path: string;
  /** Undefined when the value is missing. */
  readonly left: unknown;
  readonly right: unknown;
}

const step = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);

/** Returns the first difference, or null when the values are equal. The order of names in objects does not matter. */
export function jsonDifference(left: unknown, right: unknown, path = ''): JsonDifference | null {
  if (Array.isArray(left) && Array.isArray(right)) {
    for (let at = 0; at < Math.max(left.length, right.length); at++) {
      const found = jsonDifference(left[at], right[at], `${path}[${at}]`);
      if (found) return found;
    }
    return null;
  }
  if (isObject(left) && isObject(right)) {
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      const [a, b] = [left, right].map((side) => (Object.hasOwn(side, name) ? side[name] : undefined));
      const found = jsonDifference(a, b, path + step(name));
      if (found) return found;
    }
    return null;
  }
  return Object.is(left, right) ? null : { path, left, right };
}
