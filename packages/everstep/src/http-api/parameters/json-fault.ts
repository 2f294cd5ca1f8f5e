/**
 * Finds faults in JSON text that JSON.parse does not report in full: a duplicate name in an object, of which JSON.parse silently
 * keeps the last value, and the path of a word that is not a JSON value, such as NaN.
 */
import { endOfJsonString } from '@everstep/sdk/protocol';

/** Maximum length of a text that is not JSON. In a longer text, the fault is not searched for. */
const MAX_SEARCHED_LENGTH = 64 * 1024;

export interface JsonFault {
  /** Names and indexes from the outermost value to the fault. */
  readonly path: readonly (string | number)[];
  /** `duplicate-name`: `word` is a name that occurs twice. `invalid-value`: `word` is used as a value, but is not a JSON value. */
  readonly kind: 'duplicate-name' | 'invalid-value';
  readonly word: string;
}

/** An object or an array that contains the current position of the search. */
interface Level {
  readonly isObject: boolean;
  /** Names so far. Created with the first name, because arrays have none and many objects are empty. */
  names?: Set<string>;
  /** Name or index of the current value. */
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

function decodeName(rawName: string): string {
  if (!rawName.includes('\\')) return rawName;
  try {
    return JSON.parse(`"${rawName}"`);
  } catch {
    return rawName;
  }
}

/**
 * Returns the first fault, or null if none is found. A text without such a fault can still be invalid JSON. Set `isJson` for a text
 * that was parsed successfully, which makes the search a few times faster. The text must be within the bounds of `checkJsonBounds`.
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
          const name = decodeName(json.slice(i + 1, end));
          level.at = name;
          level.expectsName = false;
          level.names ??= new Set();
          if (level.names.has(name)) return fault('duplicate-name', name);
          level.names.add(name);
        }
        i = end;
        break;
      }
      default: {
        if (isJson || json.charCodeAt(i) <= LAST_SPACE) break;
        WORD.lastIndex = i;
        const word = WORD.exec(json)?.[0] ?? json.charAt(i);
        if (!VALUE.test(word)) return fault('invalid-value', word);
        i += word.length - 1;
      }
    }
  }
  return null;
}
