/**
 * Parses JSON from outside within bounds. `JSON.parse` has no bounds: it turns 9 MiB of brackets into 400 MB of
 * objects. The text is therefore scanned for its depth and its number of values first. The scan takes a few
 * milliseconds for 10 MiB and uses no memory.
 * Keeps invariants 35 and 42 of ARCHITECTURE.md.
 */

/** Maximum nesting depth of objects and arrays. Code that reads the value later uses recursion. */
export const MAX_JSON_DEPTH = 256;

/**
 * Maximum number of objects, arrays and fields in one text. Each uses up to 100 bytes of memory, however short its
 * text is. No text of fewer than 5 MB comes near this limit.
 */
export const MAX_JSON_NODES = 2_000_000;

/** Maximum size of the JSON text of a result, in bytes. */
export const MAX_RESULT_BYTES = 10 * 1024 * 1024;

/** Thrown for a text that exceeds a bound. It is a SyntaxError, so code that handles invalid JSON handles it too. */
export class JsonBoundsError extends SyntaxError {
  override readonly name = 'JsonBoundsError';
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Returns the position of the quote that ends the string whose content starts at `start`, or -1. */
export function endOfJsonString(json: string, start: number): number {
  for (let end = json.indexOf('"', start); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashCount = 0;
    while (end - 1 - backslashCount >= start && json.charCodeAt(end - 1 - backslashCount) === BACKSLASH) backslashCount += 1;
    if (backslashCount % 2 === 0) return end;
  }
  return -1;
}

/**
 * Checks the depth and the number of values of a text, but not whether it is valid JSON.
 *
 * @throws {JsonBoundsError} If a bound is exceeded.
 */
export function checkJsonBounds(json: string): void {
  // The text is too short to exceed either bound.
  if (json.length <= MAX_JSON_DEPTH) return;
  let depth = 0;
  let nodeCount = 0;
  for (let i = 0; i < json.length; i++) {
    switch (json.charCodeAt(i)) {
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        nodeCount += 1;
        if (depth > MAX_JSON_DEPTH) throw new JsonBoundsError(`nested deeper than ${MAX_JSON_DEPTH} levels`);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      case COLON:
        nodeCount += 1;
        break;
      case QUOTE:
        i = endOfJsonString(json, i + 1);
        // The string is not closed. The text before it is within the bounds, and JSON.parse reports the error.
        if (i === -1) i = json.length;
        break;
    }
    if (nodeCount > MAX_JSON_NODES) throw new JsonBoundsError(`more than ${MAX_JSON_NODES} objects, arrays and fields`);
  }
}

/**
 * Parses a text like `JSON.parse`, within the bounds of `checkJsonBounds`.
 *
 * @throws {SyntaxError} If the text is not valid JSON.
 * @throws {JsonBoundsError} If a bound is exceeded.
 */
export function parseJson(json: string): unknown {
  checkJsonBounds(json);
  return JSON.parse(json);
}
