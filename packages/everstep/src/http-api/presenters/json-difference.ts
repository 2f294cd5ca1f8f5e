/** Finds the first difference between two JSON values. */

type JsonObject = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export interface JsonDifference {
  /** Path of the difference, in code notation such as `.items[0].price`; empty for the root. */
  readonly path: string;
  /** Undefined when the value is missing. */
  readonly left: unknown;
  readonly right: unknown;
  /** Whether only ids differ, which is usual for two runs of a workflow. */
  readonly onlyIds: boolean;
}

const step = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);

/** Whether a field contains an id, such as `id`, `uuid`, `orderId` and `order_id`. */
const isIdName = (name: string): boolean => /^(?:id|ID|Id|uuid)$|[a-z\d](?:Id|ID)$|_(?:id|ID)$/.test(name);

type Found = Omit<JsonDifference, 'onlyIds'>;

function firstOf(left: unknown, right: unknown, path: string, isCompared: (name: string) => boolean): Found | null {
  if (Array.isArray(left) && Array.isArray(right)) {
    for (let at = 0; at < Math.max(left.length, right.length); at++) {
      const found = firstOf(left[at], right[at], `${path}[${at}]`, isCompared);
      if (found) return found;
    }
    return null;
  }
  if (isObject(left) && isObject(right)) {
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      if (!isCompared(name)) continue;
      const [a, b] = [left, right].map((side) => (Object.hasOwn(side, name) ? side[name] : undefined));
      const found = firstOf(a, b, path + step(name), isCompared);
      if (found) return found;
    }
    return null;
  }
  return Object.is(left, right) ? null : { path, left, right };
}

/**
 * Returns the first difference, or null when the values are equal. Fields with ids count only if nothing else differs. The order of
 * names in objects does not matter.
 */
export function jsonDifference(left: unknown, right: unknown): JsonDifference | null {
  const found = firstOf(left, right, '', (name) => !isIdName(name));
  if (found) return { ...found, onlyIds: false };
  const ofIds = firstOf(left, right, '', () => true);
  return ofIds && { ...ofIds, onlyIds: true };
}
