/**
 * Parses JSON from outside within bounds. `JSON.parse` has none: of 9 MiB of brackets it makes 400 MB of objects. So the
 * text is scanned for its depth and its number of values first, which takes a few milliseconds for 10 MiB and no memory.
 */

/** The deepest nesting of objects and arrays that is parsed. Programs that read the value later recurse into it. */
export const MAX_JSON_DEPTH = 256;

/**
 * The most objects, arrays and fields in one text. Each costs up to 100 bytes of memory, however short its text is. No text
 * of fewer than 5 MB comes near it.
 */
export const MAX_JSON_NODES = 2_000_000;

/** A text that exceeds a bound. A SyntaxError, so that code that handles invalid JSON handles it as well. */
export class JsonBoundsError extends SyntaxError {
  override readonly name = 'JsonBoundsError';
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Returns the position of the quote that ends the string whose content starts at `start`, or -1. */
export function endOfJsonString(json: string, start: number): number {
  for (let end = json.indexOf('"', start); end !== -1; end = json.indexOf('"', end + 1)) {
    let escapes = 0;
    while (end - 1 - escapes >= start && json.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return -1;
}

/** Throws JsonBoundsError. Whether the text is JSON is not checked. */
export function checkJsonBounds(json: string): void {
  // Too short to exceed either.
  if (json.length <= MAX_JSON_DEPTH) return;
  let depth = 0;
  let nodes = 0;
  for (let i = 0; i < json.length; i++) {
    switch (json.charCodeAt(i)) {
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        nodes += 1;
        if (depth > MAX_JSON_DEPTH) throw new JsonBoundsError(`it is nested deeper than ${MAX_JSON_DEPTH} levels`);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      case COLON:
        nodes += 1;
        break;
      case QUOTE:
        i = endOfJsonString(json, i + 1);
        // An open string: what precedes it is within the bounds, and JSON.parse reports it.
        if (i === -1) i = json.length;
        break;
    }
    if (nodes > MAX_JSON_NODES) throw new JsonBoundsError(`it has more than ${MAX_JSON_NODES} objects, arrays and fields`);
  }
}

/** Parses like `JSON.parse`. Throws SyntaxError, and JsonBoundsError when a bound is exceeded. */
export function parseJson(json: string): unknown {
  checkJsonBounds(json);
  return JSON.parse(json);
}
