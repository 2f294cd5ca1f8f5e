/** JSON as a tree of lines that can be folded and searched. */
import { isClosing, isOpening, tokensOf } from './json-text.js';

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

/** A tree with more nodes, or with a greater depth, is shown as text. */
export const MAX_NODES = 20_000;
export const MAX_DEPTH = 500;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

function isWithinLimits(tokens: readonly string[]): boolean {
  let nodes = 0;
  let depth = 0;
  for (const token of tokens) {
    if (isOpening(token)) depth++;
    if (isClosing(token)) depth--;
    else if (token === ':')
      // The name of a field was counted as a node.
      nodes--;
    else if (token !== ',') nodes++;
    if (depth > MAX_DEPTH) return false;
  }
  return nodes <= MAX_NODES;
}

/**
 * Returns the tree of a JSON text, with the scalars of the text; null if the text is not an object or an array, or is too large for
 * a tree.
 */
export function treeOf(text: string): JsonNode | null {
  const tokens = tokensOf(text);
  if (tokens === null || !isOpening(tokens[0]) || !isWithinLimits(tokens)) return null;
  let position = 0;
  const next = (): string => tokens[position++] ?? '';
  const nodeOf = (name: string | null, path: string, depth: number): JsonNode => {
    const token = next();
    if (!isOpening(token)) return { path, name, depth, scalar: token, brackets: null, children: [] };
    const isArray = token === '[';
    const children: JsonNode[] = [];
    const names = new Map<string, number>();
    while (!isClosing(tokens[position])) {
      const childName = isArray ? String(children.length) : next();
      const key = childName.slice(1, -1);
      const pathPart = !isArray && IDENTIFIER.test(key) ? `.${key}` : `[${childName}]`;
      const occurrence = (names.get(childName) ?? 0) + 1;
      names.set(childName, occurrence);
      // Skips the colon.
      if (!isArray) position++;
      // A path identifies a node, so a repeated name has a number.
      children.push(nodeOf(childName, `${path}${pathPart}${occurrence === 1 ? '' : `(${occurrence})`}`, depth + 1));
      if (tokens[position] === ',') position++;
    }
    position++;
    return { path, name, depth, scalar: null, brackets: isArray ? ['[', ']'] : ['{', '}'], children };
  };
  return nodeOf(null, '$', 0);
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
