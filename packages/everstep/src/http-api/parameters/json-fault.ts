/**
 * Finds faults in JSON text that JSON.parse does not report. One is a duplicate name in an object, of which JSON.parse silently
 * keeps the last value. The other is the position of something that is not a JSON value, such as NaN.
 */
import { endOfJsonString } from '@everstep/sdk/protocol';

/** A longer text that is not JSON is rejected without a search for the fault. */
const MAX_SEARCHED_LENGTH = 64 * 1024;

export interface JsonFault {
  /** Names and positions from the outermost value to the fault. */
  readonly path: readonly (string | number)[];
  /** `twice`: the name at the end of the path is a duplicate. `no-value`: the word is in the place of a value. */
  readonly kind: 'twice' | 'no-value';
  readonly word: string;
}

interface Level {
  readonly isObject: boolean;
  /** Names so far. Created with the first name, because arrays have none and many objects are empty. */
  names?: Set<string>;
  at: string | number;
  expectsName: boolean;
}

const VALUE = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
const WORD = /[^\s,:[\]{}"]+/y;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = { open: 0x5b, close: 0x5d };
const BRACE = { open: 0x7b, close: 0x7d };
const LAST_SPACE = 0x20;

function nameOf(raw: string): string {
  if (!raw.includes('\\')) return raw;
  try {
    return JSON.parse(`"${raw}"`);
  } catch {
    return raw;
  }
}

/**
 * Returns the first fault, or null when there is none, which does not mean that the text is JSON. With `isJson`, for a text
 * that was parsed successfully, the search is a few times faster. The text must be within the bounds of `checkJsonBounds`.
 */
export function findJsonFault(json: string, { isJson = false } = {}): JsonFault | null {
  if (!isJson && json.length > MAX_SEARCHED_LENGTH) return null;
  const levels: Level[] = [];
  let level: Level | undefined;
  const fault = (kind: JsonFault['kind'], word: string): JsonFault => ({ kind, word, path: levels.map(({ at }) => at) });
  for (let i = 0; i < json.length; i++) {
    switch (json.charCodeAt(i)) {
      case BRACE.open:
        level = { isObject: true, at: '', expectsName: true };
        levels.push(level);
        break;
      case BRACKET.open:
        level = { isObject: false, at: 0, expectsName: false };
        levels.push(level);
        break;
      case BRACE.close:
      case BRACKET.close:
        levels.pop();
        level = levels.at(-1);
        break;
      case COMMA:
        if (level?.isObject) level.expectsName = true;
        else if (level) level.at = Number(level.at) + 1;
        break;
      case COLON:
        break;
      case QUOTE: {
        const end = endOfJsonString(json, i + 1);
        if (end === -1) return null;
        if (level?.expectsName) {
          const name = nameOf(json.slice(i + 1, end));
          level.at = name;
          level.expectsName = false;
          level.names ??= new Set();
          if (level.names.has(name)) return fault('twice', name);
          level.names.add(name);
        }
        i = end;
        break;
      }
      default: {
        if (isJson || json.charCodeAt(i) <= LAST_SPACE) break;
        WORD.lastIndex = i;
        const word = WORD.exec(json)?.[0] ?? json.charAt(i);
        if (!VALUE.test(word)) return fault('no-value', word);
        i += word.length - 1;
      }
    }
  }
  return null;
}
