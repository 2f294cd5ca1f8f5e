/** Finds the first difference between two JSON values. */

type JsonObject = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export interface JsonDifference {
  /** Path of the difference, in code notation such as `.items[0].price`; empty for the root. */
  readonly path: string;
  /** Left value at the path. Undefined if it is missing. */
  readonly left: unknown;
  /** Right value at the path. Undefined if it is missing. */
  readonly right: unknown;
  /** Whether only ids differ, which is normal for two runs of a workflow. */
  readonly hasOnlyIdDifferences: boolean;
}

const pathSegment = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);

/** Whether a field contains an id, such as `id`, `uuid`, `orderId` and `order_id`. */
const isIdName = (name: string): boolean => /^(?:id|ID|Id|uuid)$|[a-z\d](?:Id|ID)$|_(?:id|ID)$/.test(name);

type ValueDifference = Omit<JsonDifference, 'hasOnlyIdDifferences'>;

function firstDifference(
  left: unknown,
  right: unknown,
  path: string,
  isCompared: (name: string) => boolean,
): ValueDifference | null {
  if (Array.isArray(left) && Array.isArray(right)) {
    for (let index = 0; index < Math.max(left.length, right.length); index++) {
      const difference = firstDifference(left[index], right[index], `${path}[${index}]`, isCompared);
      if (difference) return difference;
    }
    return null;
  }
  if (isObject(left) && isObject(right)) {
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      if (!isCompared(name)) continue;
      const [a, b] = [left, right].map((side) => (Object.hasOwn(side, name) ? side[name] : undefined));
      const difference = firstDifference(a, b, path + pathSegment(name), isCompared);
      if (difference) return difference;
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
  const difference = firstDifference(left, right, '', (name) => !isIdName(name));
  if (difference) return { ...difference, hasOnlyIdDifferences: false };
  const idDifference = firstDifference(left, right, '', () => true);
  return idDifference && { ...idDifference, hasOnlyIdDifferences: true };
}
