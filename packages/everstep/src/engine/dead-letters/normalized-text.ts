/**
 * Normalizes failure texts: placeholders replace the parts that differ between failures, so that similar failures
 * have equal texts. It makes one pass over a limited prefix, so no text makes it slow.
 */
import { truncateText } from '@everstep/sdk/protocol';
import { isCode, isIdentifier } from './identifying-parts.js';

/** Maximum number of UTF-16 units of a text that are read. */
const MAX_READ_LENGTH = 4_000;
/** Maximum length of a normalized text, in UTF-16 units. */
const MAX_LENGTH = 300;
/** Number of UTF-16 units after a word that are examined to classify it. */
const LOOK_AHEAD = 32;

/** The closing quotation mark for each opening mark. */
const CLOSING_MARKS: Readonly<Record<string, string>> = { '"': '"', "'": "'", '`': '`', '“': '”', '‘': '’', '«': '»', '„': '“' };
const BRACKETS = '()[]{}<>,;|';
/** Characters at the end of a word that belong to the sentence. */
const TRAILING_PUNCTUATION = '.:!?…';
const NON_ASCII_SPACE = /[\s\p{Cc}\p{Zl}\p{Zp}]/u;
const NON_ASCII_WORD = /[\p{L}\p{N}_]/u;
const FIELD_NAME = /^[\p{L}_][\p{L}\p{N}_.-]{0,60}$/u;

const URL = /^(\w[\w+.-]{0,20}):\/\/(.*)$/su;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const DATE_OR_TIME = /^(?:[+-]?\d{4,6}-\d\d?-\d\d?|\d{4}\/\d\d?\/\d\d?|\d\d?:\d\d(?::\d\d)?)(?:[T_.,:+-].{0,40}|Z)?$/i;
const IPV4 = /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d{1,5}|\/\d{1,2})?$/;
const IPV6 = /^(?=.*:.*:)[0-9a-f:.]{2,45}(?:%\w{1,20})?$/i;
const HEX = /^(?:0x[0-9a-f]+|(?=.*\d)(?=.*[a-f])[0-9a-f]{8,}|[a-f]{16,})$/i;
const JWT = /^eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?$/;
const AMOUNT = /^[+-]?\d[\d._]*(\p{L}{0,3}|%)$/u;
const DIGITS = /[\p{Nd}]+(?:[.,][\p{Nd}]+)*/gu;
const PART = /[\p{L}\p{N}]+|[^\p{L}\p{N}]+/gu;
const OPAQUE_TOKEN = /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+_-][A-Za-z0-9+/_-]{19,}={0,2}$/;
/** Prefixes that name the type of an id: `cus_`, `sk_live_`. */
const ID_PREFIX = /^(?:[a-z]{1,12}_){1,2}/;

const isSpace = (character: string): boolean => character <= ' ' || (character > '~' && NON_ASCII_SPACE.test(character));

/** Returns whether the character is a letter, a digit or `_`. */
function isWordCharacter(character: string): boolean {
  const unit = character.charCodeAt(0);
  if (!(unit < 0x80)) return NON_ASCII_WORD.test(character);
  return characterKind(unit) !== 'other' || unit === 0x5f;
}

type CharacterKind = 'digit' | 'upper' | 'lower' | 'other';

function characterKind(unit: number): CharacterKind {
  if (unit >= 0x30 && unit <= 0x39) return 'digit';
  if (unit >= 0x41 && unit <= 0x5a) return 'upper';
  return unit >= 0x61 && unit <= 0x7a ? 'lower' : 'other';
}

/** Counts the transitions between letters and digits, or (with `isCaseSensitive`) also between upper and lower case. */
function countTransitions(text: string, isCaseSensitive: boolean): number {
  const kindOf = (unit: number): CharacterKind => {
    const kind = characterKind(unit);
    return kind === 'upper' && !isCaseSensitive ? 'lower' : kind;
  };
  let changes = 0;
  for (let i = 1; i < text.length; i++) if (kindOf(text.charCodeAt(i)) !== kindOf(text.charCodeAt(i - 1))) changes++;
  return changes;
}

/** Returns whether the part looks generated: letters and digits alternate. */
function isOpaquePart(part: string): boolean {
  if (HEX.test(part)) return true;
  const digits = part.replace(/\D/g, '').length;
  if (part.length < 8 || digits === 0 || digits === part.length || !/^[A-Za-z0-9]+$/.test(part)) return false;
  return countTransitions(part, false) >= 3 || (part.length >= 12 && countTransitions(part, true) >= part.length / 4);
}

/** Returns whether the text looks like Base64 or similar, which can contain punctuation. */
function isOpaque(text: string): boolean {
  return OPAQUE_TOKEN.test(text) && countTransitions(text, true) >= text.length * 0.4;
}

/** Normalizes a word that may contain punctuation: an id, a version, a path. */
function normalizePlainWord(word: string): string {
  if (!/\p{N}/u.test(word) && word.length < 16) return word;
  return word.replace(PART, (part) => (isOpaquePart(part) ? '<id>' : part.replace(DIGITS, '#')));
}

function normalizeUrl(scheme: string, afterScheme: string): string {
  const pathIndex = afterScheme.search(/[/?#]/);
  const authority = pathIndex < 0 ? afterScheme : afterScheme.slice(0, pathIndex);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const pathAndQuery = pathIndex < 0 ? '' : afterScheme.slice(pathIndex);
  const normalizedHost = IPV4.test(host) || host.startsWith('[') ? '<address>' : normalizePlainWord(host);
  const pathname = pathAndQuery.replace(/[?#].*$/su, '');
  const segments = pathname.split('/').map((part) => (UUID.test(part) || JWT.test(part) ? '<id>' : normalizePlainWord(part)));
  return `${scheme.toLowerCase()}://${normalizedHost}${segments.join('/')}${pathname === pathAndQuery ? '' : '?<query>'}`;
}

function isEmail(word: string): boolean {
  const atIndex = word.indexOf('@');
  return (
    atIndex > 0 &&
    word.indexOf('@', atIndex + 1) < 0 &&
    word.indexOf('.', atIndex + 2) > 0 &&
    isWordCharacter(word.charAt(atIndex + 1))
  );
}

function normalizeWord(word: string): string {
  const url = word.includes('://') ? URL.exec(word) : null;
  if (url) return normalizeUrl(url[1] ?? '', url[2] ?? '');
  const prefix = ID_PREFIX.exec(word)?.[0] ?? '';
  if (UUID.test(word) || JWT.test(word) || isOpaque(word.slice(prefix.length))) return `${prefix}<id>`;
  if (isEmail(word)) return '<email>';
  if (!/\p{N}/u.test(word) && !word.includes('::')) return normalizePlainWord(word);
  if (DATE_OR_TIME.test(word)) return '<time>';
  if (IPV4.test(word) || IPV6.test(word)) return '<address>';
  const amount = AMOUNT.exec(word);
  if (amount) return `#${amount[1] ?? ''}`;
  // `key=value`, `host:port`, `a/b`: each part separately.
  const parts = word.split(/([=:&])/);
  return parts.length === 1
    ? normalizePlainWord(word)
    : parts.map((part) => (UUID.test(part) ? '<id>' : normalizePlainWord(part))).join('');
}

/** Collapses lists of the same placeholder, so that lists of any length are equal: `#, #, #` becomes `#`. */
const REPEATED_PLACEHOLDER = /(<\w{1,10}>|(?<![\p{L}\p{N}])#)(?:[ ,;|]{1,3}\1(?![\p{L}\p{N}]))+/gu;

class TextNormalizer {
  private readonly text: string;
  private position = 0;
  private output = '';
  /** Quotation marks that have no closing mark in the rest of the text. */
  private readonly unclosedMarks = new Set<string>();

  constructor(text: string) {
    this.text = text;
  }

  read(): string {
    // Placeholders can be longer than the text they replace, and lists become shorter, so a little more than the
    // limit is read.
    while (this.position < this.text.length && this.output.length < MAX_LENGTH * 3) this.readNext();
    return this.output.trim();
  }

  private readNext(): void {
    const character = this.text.charAt(this.position);
    if (isSpace(character)) {
      this.position++;
      if (!this.output.endsWith(' ')) this.output += ' ';
    } else if (CLOSING_MARKS[character] !== undefined && this.readQuotation(character)) {
      // The quotation has been read.
    } else if (BRACKETS.includes(character) || CLOSING_MARKS[character] !== undefined) {
      this.position++;
      this.output += character;
    } else this.readWord();
  }

  /** Reads a quotation. Returns false if it is not one, such as the apostrophe of a word. */
  private readQuotation(openingMark: string): boolean {
    const { text, position } = this;
    const isSingle = openingMark === "'" || openingMark === '‘';
    if (isSingle && position > 0 && isWordCharacter(text.charAt(position - 1))) return false;
    const closingMark = CLOSING_MARKS[openingMark] ?? openingMark;
    const end = this.unclosedMarks.has(openingMark) ? -1 : this.indexOfClosing(closingMark, position + 1, isSingle);
    if (end < 0) {
      this.unclosedMarks.add(openingMark);
      return false;
    }
    const quotedText = text.slice(position + 1, end);
    const after = text.slice(end + 1, end + 1 + LOOK_AHEAD);
    // The name of a field identifies the problem, but its value does not.
    const isName = (/^\s{0,3}:/.test(after) && FIELD_NAME.test(quotedText)) || isIdentifier(quotedText, this.output, after);
    const normalizedText = isCode(quotedText, this.output, after) ? quotedText : isName ? normalizePlainWord(quotedText) : '…';
    this.output += `${openingMark}${normalizedText}${closingMark}`;
    this.position = end + 1;
    return true;
  }

  private indexOfClosing(closingMark: string, from: number, isSingle: boolean): number {
    for (let i = from; i < this.text.length; i++) {
      const character = this.text.charAt(i);
      if (character === '\\') i++;
      else if (character === closingMark && !(isSingle && isWordCharacter(this.text.charAt(i + 1)))) return i;
    }
    return -1;
  }

  private readWord(): void {
    const start = this.position;
    const { text } = this;
    while (this.position < text.length && !this.endsWord(text.charAt(this.position), start)) this.position++;
    let end = this.position;
    while (end > start && TRAILING_PUNCTUATION.includes(text.charAt(end - 1))) end--;
    this.output += this.normalizeUnlessCode(text.slice(start, end), end) + text.slice(end, this.position);
  }

  private normalizeUnlessCode(word: string, end: number): string {
    // The value of `status=503` is preceded by its name.
    const value = word.slice(1 + Math.max(word.lastIndexOf('='), word.lastIndexOf(':')));
    const name = word.slice(0, word.length - value.length);
    const isCauseCode = isCode(value, this.output + name, this.text.slice(end, end + LOOK_AHEAD));
    return isCauseCode ? normalizePlainWord(name) + value : normalizeWord(word);
  }

  /** Returns whether the character ends the word. An apostrophe inside a word does not. */
  private endsWord(character: string, start: number): boolean {
    if (isSpace(character) || BRACKETS.includes(character)) return true;
    if (CLOSING_MARKS[character] === undefined) return false;
    return !(
      (character === "'" || character === '‘') &&
      this.position > start &&
      isWordCharacter(this.text.charAt(this.position - 1))
    );
  }
}

/** Replaces unpaired surrogates and U+0000, which not every store supports. */
const toWellFormed = (text: string): string => text.replace(/\p{Cs}/gu, '\u{fffd}').replaceAll('\0', ' ');

/** Shortens a text to `maxLength` characters, without splitting one. */
export function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${truncateText(text, maxLength - 1)}…`;
}

const normalize = (text: string): string =>
  new TextNormalizer(toWellFormed(text.slice(0, MAX_READ_LENGTH))).read().replace(REPEATED_PLACEHOLDER, '$1');

/** A message that quotes the body of a response. `responses/retry-advice.ts` writes it and shortens the quotation. */
const QUOTED_BODY = /^(.*?a body that begins with ")(.*)("(?:[);].*)?)$/su;
const UNSHORTENED_BODY_LENGTH = 90;
/**
 * Number of characters kept of a shortened quotation. It is cut at a fixed length, because its own end depends on the text
 * before it.
 */
const SHORTENED_BODY_LENGTH = 40;

/** Normalizes an error message: at most 300 UTF-16 units, well-formed, on one line. */
export function normalizeMessage(message: string): string {
  const prefix = message.slice(0, MAX_READ_LENGTH);
  const match = QUOTED_BODY.exec(prefix);
  if (!match) return shorten(normalize(prefix), MAX_LENGTH);
  const [, before = '', body = '', after = ''] = match;
  const normalizedBody = normalize(body);
  const shortenedBody = body.length < UNSHORTENED_BODY_LENGTH ? normalizedBody : shorten(normalizedBody, SHORTENED_BODY_LENGTH);
  return shorten(`${normalize(before)}${shortenedBody}${after.slice(0, 2)}`, MAX_LENGTH);
}

/** Normalizes a step name: `#` replaces numbers and ids. At most 300 UTF-16 units. */
export function normalizeStepName(name: string): string {
  const prefix = toWellFormed(name.slice(0, MAX_READ_LENGTH))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  const withoutUuids = prefix.replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi, '#');
  const withoutNumbers = withoutUuids.replace(PART, (part) => (isOpaquePart(part) ? '#' : part.replace(DIGITS, '#')));
  return shorten(withoutNumbers.replace(/#(?:[-_.:]#)+/g, '#'), MAX_LENGTH);
}
