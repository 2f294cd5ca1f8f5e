/** JSON as a tree of lines that can be folded and searched. */

export interface JsonNode {
  /** Path from the root, such as `$.items[0].id`. */
  readonly path: string;
  /** Name in the parent object, or index in the parent array; null for the root. */
  readonly name: string | null;
  readonly depth: number;
  /** A scalar as JSON text; null for objects and arrays. */
  readonly scalar: string | null;
  /** Brackets of an object or an array. */
  readonly brackets: readonly [open: string, close: string] | null;
  readonly children: readonly JsonNode[];
}

/** A tree with more nodes is shown as text. */
export const MAX_NODES = 20_000;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** Returns the tree of a JSON text; null if the text is not an object or an array, or has more than `MAX_NODES` nodes. */
export function treeOf(text: string): JsonNode | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  let remainingNodes = MAX_NODES;
  const nodeOf = (nodeValue: unknown, name: string | null, path: string, depth: number): JsonNode => {
    remainingNodes -= 1;
    if (typeof nodeValue !== 'object' || nodeValue === null || remainingNodes < 0)
      return { path, name, depth, scalar: JSON.stringify(nodeValue) ?? 'null', brackets: null, children: [] };
    const isArray = Array.isArray(nodeValue);
    const children = Object.entries(nodeValue).map(([key, child]) => {
      const pathPart = isArray ? `[${key}]` : IDENTIFIER.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
      return nodeOf(child, isArray ? key : JSON.stringify(key), path + pathPart, depth + 1);
    });
    return { path, name, depth, scalar: null, brackets: isArray ? ['[', ']'] : ['{', '}'], children };
  };
  const root = nodeOf(value, null, '$', 0);
  return remainingNodes < 0 ? null : root;
}

const nodeMatches = ({ name, scalar }: JsonNode, lowerText: string): boolean =>
  name?.toLowerCase().includes(lowerText) === true || scalar?.toLowerCase().includes(lowerText) === true;

/** Returns the paths of the nodes whose name or value contains the text, ignoring case, in order. */
export function matchesIn(root: JsonNode, text: string): readonly string[] {
  if (text === '') return [];
  const lowerText = text.toLowerCase();
  const paths: string[] = [];
  const visit = (node: JsonNode): void => {
    if (nodeMatches(node, lowerText)) paths.push(node.path);
    for (const child of node.children) visit(child);
  };
  visit(root);
  return paths;
}

/** Returns the paths of all nodes that contain one of the nodes. */
export function ancestorsOf(root: JsonNode, paths: readonly string[]): ReadonlySet<string> {
  const matchingPaths = new Set(paths);
  const ancestors = new Set<string>();
  const visit = (node: JsonNode): boolean => {
    let contains = false;
    for (const child of node.children) if (visit(child)) contains = true;
    if (contains) ancestors.add(node.path);
    return contains || matchingPaths.has(node.path);
  };
  visit(root);
  return ancestors;
}
