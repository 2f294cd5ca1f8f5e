/**
 * Normalizes failure texts: placeholders replace the parts that differ between failures, so that similar failures
 * have equal texts. It makes one pass over a limited prefix, so no text makes it slow.
 */
import { isCode, isIdentifier } from './identifying-parts.js';

/** Number of UTF-16 units that are read, and number of characters that are kept. */
const READ_LENGTH = 4_000;
const KEPT_LENGTH = 300;
/** Number of UTF-16 units after a word that are examined to classify it. */
const LOOK_AHEAD = 32;

/** Closing quotation marks by their opening mark. */
const CLOSING: Readonly<Record<string, string>> = { '"': '"', "'": "'", '`': '`', '“': '”', '‘': '’', '«': '»', '„': '“' };
const BRACKETS = '()[]{}<>,;|';
/** Characters at the end of a word that belong to the sentence. */
const TRAILING = '.:!?…';
const OTHER_SPACE = /[\s\p{Cc}\p{Zl}\p{Zp}]/u;
const OTHER_WORD = /[\p{L}\p{N}_]/u;
const KEY = /^[\p{L}_][\p{L}\p{N}_.-]{0,60}$/u;

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
const OPAQUE = /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+_-][A-Za-z0-9+/_-]{19,}={0,2}$/;
/** Prefixes that name the type of an id: `cus_`, `sk_live_`. */
const ID_PREFIX = /^(?:[a-z]{1,12}_){1,2}/;

const isSpace = (character: string): boolean => character <= ' ' || (character > '~' && OTHER_SPACE.test(character));

/** Returns whether the character is a letter, a digit or `_`. */
function isOfWord(character: string): boolean {
  const unit = character.charCodeAt(0);
  if (!(unit < 0x80)) return OTHER_WORD.test(character);
  return kindOf(unit) !== 'other' || unit === 0x5f;
}

type Kind = 'digit' | 'upper' | 'lower' | 'other';

function kindOf(unit: number): Kind {
  if (unit >= 0x30 && unit <= 0x39) return 'digit';
  if (unit >= 0x41 && unit <= 0x5a) return 'upper';
  return unit >= 0x61 && unit <= 0x7a ? 'lower' : 'other';
}

/** Counts the transitions between letters and digits, or (with `cases`) also between upper and lower case. */
function changesIn(text: string, cases: boolean): number {
  const group = (unit: number): Kind => {
    const kind = kindOf(unit);
    return kind === 'upper' && !cases ? 'lower' : kind;
  };
  let changes = 0;
  for (let i = 1; i < text.length; i++) if (group(text.charCodeAt(i)) !== group(text.charCodeAt(i - 1))) changes++;
  return changes;
}

/** Returns whether the part looks generated: letters and digits alternate. */
function isOpaquePart(part: string): boolean {
  if (HEX.test(part)) return true;
  const digits = part.replace(/\D/g, '').length;
  if (part.length < 8 || digits === 0 || digits === part.length || !/^[A-Za-z0-9]+$/.test(part)) return false;
  return changesIn(part, false) >= 3 || (part.length >= 12 && changesIn(part, true) >= part.length / 4);
}

/** Returns whether the text looks like base64 or similar, which can contain signs. */
function isOpaque(text: string): boolean {
  return OPAQUE.test(text) && changesIn(text, true) >= text.length * 0.4;
}

/** Normalizes a word that may contain signs: ids, versions, paths. */
function plainWord(word: string): string {
  if (!/\p{N}/u.test(word) && word.length < 16) return word;
  return word.replace(PART, (part) => (isOpaquePart(part) ? '<id>' : part.replace(DIGITS, '#')));
}

function normalizeUrl(scheme: string, afterScheme: string): string {
  const path = afterScheme.search(/[/?#]/);
  const authority = path < 0 ? afterScheme : afterScheme.slice(0, path);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const tail = path < 0 ? '' : afterScheme.slice(path);
  const shownHost = IPV4.test(host) || host.startsWith('[') ? '<address>' : plainWord(host);
  const shown = tail.replace(/[?#].*$/su, '');
  const steps = shown.split('/').map((step) => (UUID.test(step) || JWT.test(step) ? '<id>' : plainWord(step)));
  return `${scheme.toLowerCase()}://${shownHost}${steps.join('/')}${shown === tail ? '' : '?<query>'}`;
}

function isEmail(word: string): boolean {
  const sign = word.indexOf('@');
  return sign > 0 && word.indexOf('@', sign + 1) < 0 && word.indexOf('.', sign + 2) > 0 && isOfWord(word.charAt(sign + 1));
}

function normalizeWord(word: string): string {
  const url = word.includes('://') ? URL.exec(word) : null;
  if (url) return normalizeUrl(url[1] ?? '', url[2] ?? '');
  const prefix = ID_PREFIX.exec(word)?.[0] ?? '';
  if (UUID.test(word) || JWT.test(word) || isOpaque(word.slice(prefix.length))) return `${prefix}<id>`;
  if (isEmail(word)) return '<email>';
  if (!/\p{N}/u.test(word) && !word.includes('::')) return plainWord(word);
  if (DATE_OR_TIME.test(word)) return '<time>';
  if (IPV4.test(word) || IPV6.test(word)) return '<address>';
  const amount = AMOUNT.exec(word);
  if (amount) return `#${amount[1] ?? ''}`;
  // `key=value`, `host:port`, `a/b`: each part separately.
  const parts = word.split(/([=:&])/);
  return parts.length === 1 ? plainWord(word) : parts.map((part) => (UUID.test(part) ? '<id>' : plainWord(part))).join('');
}

/** Collapses lists of the same placeholder, so that lists of any length are equal: `#, #, #` becomes `#`. */
const REPEATED = /(<\w{1,10}>|(?<![\p{L}\p{N}])#)(?:[ ,;|]{1,3}\1(?![\p{L}\p{N}]))+/gu;

class Reader {
  private readonly text: string;
  private at = 0;
  private out = '';
  /** Quotation marks that have no closing mark in the rest of the text. */
  private readonly missing = new Set<string>();

  constructor(text: string) {
    this.text = text;
  }

  read(): string {
    // Placeholders can be longer than the text they replace, and lists become shorter, so a little more than the
    // limit is read.
    while (this.at < this.text.length && this.out.length < KEPT_LENGTH * 3) this.next();
    return this.out.trim();
  }

  private next(): void {
    const character = this.text.charAt(this.at);
    if (isSpace(character)) {
      this.at++;
      if (!this.out.endsWith(' ')) this.out += ' ';
    } else if (CLOSING[character] !== undefined && this.quotation(character)) {
      // The quotation has been read.
    } else if (BRACKETS.includes(character) || CLOSING[character] !== undefined) {
      this.at++;
      this.out += character;
    } else this.word();
  }

  /** Reads a quotation. Returns false if it is not one, such as the apostrophe of a word. */
  private quotation(open: string): boolean {
    const { text, at } = this;
    const single = open === "'" || open === '‘';
    if (single && at > 0 && isOfWord(text.charAt(at - 1))) return false;
    const close = CLOSING[open] ?? open;
    const end = this.missing.has(open) ? -1 : this.endOf(close, at + 1, single);
    if (end < 0) {
      this.missing.add(open);
      return false;
    }
    const inside = text.slice(at + 1, end);
    const after = text.slice(end + 1, end + 1 + LOOK_AHEAD);
    // The name of a field identifies the problem, but its value does not.
    const isName = (/^\s{0,3}:/.test(after) && KEY.test(inside)) || isIdentifier(inside, this.out, after);
    const shown = isCode(inside, this.out, after) ? inside : isName ? plainWord(inside) : '…';
    this.out += `${open}${shown}${close}`;
    this.at = end + 1;
    return true;
  }

  private endOf(close: string, from: number, single: boolean): number {
    for (let i = from; i < this.text.length; i++) {
      const character = this.text.charAt(i);
      if (character === '\\') i++;
      else if (character === close && !(single && isOfWord(this.text.charAt(i + 1)))) return i;
    }
    return -1;
  }

  private word(): void {
    const start = this.at;
    const { text } = this;
    while (this.at < text.length && !this.endsWord(text.charAt(this.at), start)) this.at++;
    let end = this.at;
    while (end > start && TRAILING.includes(text.charAt(end - 1))) end--;
    this.out += this.keptOrNormalized(text.slice(start, end), end) + text.slice(end, this.at);
  }

  private keptOrNormalized(word: string, end: number): string {
    // The value of `status=503` is preceded by its name.
    const value = word.slice(1 + Math.max(word.lastIndexOf('='), word.lastIndexOf(':')));
    const name = word.slice(0, word.length - value.length);
    const isKept = isCode(value, this.out + name, this.text.slice(end, end + LOOK_AHEAD));
    return isKept ? plainWord(name) + value : normalizeWord(word);
  }

  /** Returns whether the character ends the word. An apostrophe inside a word does not. */
  private endsWord(character: string, start: number): boolean {
    if (isSpace(character) || BRACKETS.includes(character)) return true;
    if (CLOSING[character] === undefined) return false;
    return !((character === "'" || character === '‘') && this.at > start && isOfWord(this.text.charAt(this.at - 1)));
  }
}

/** Replaces unpaired surrogates and U+0000, which not every store supports. */
const toWellFormed = (text: string): string => text.replace(/\p{Cs}/gu, '\u{fffd}').replaceAll('\0', ' ');

/** Shortens a text to `max` characters, without splitting one. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max - 1);
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

const normalize = (text: string): string => new Reader(toWellFormed(text.slice(0, READ_LENGTH))).read().replace(REPEATED, '$1');

/** How messages about responses quote a body; see `responses/retry-advice.ts`, which shortens the quotation. */
const QUOTED_BODY = /^(.*?a body that begins with ")(.*)("(?:[);].*)?)$/su;
const WHOLE_BODY_LENGTH = 90;
/** Number of characters kept of a shortened quotation. Where it was cut depends on the length of the text before it. */
const KEPT_OF_CUT_BODY = 40;

/** Normalizes an error message: at most 300 UTF-16 units, well-formed, on one line. */
export function normalizeMessage(message: string): string {
  const read = message.slice(0, READ_LENGTH);
  const quoted = QUOTED_BODY.exec(read);
  if (!quoted) return shorten(normalize(read), KEPT_LENGTH);
  const [, before = '', body = '', after = ''] = quoted;
  const normalizedBody = normalize(body);
  const kept = body.length < WHOLE_BODY_LENGTH ? normalizedBody : shorten(normalizedBody, KEPT_OF_CUT_BODY);
  return shorten(`${normalize(before)}${kept}${after.slice(0, 2)}`, KEPT_LENGTH);
}

/** Normalizes a step name: `#` replaces numbers and ids. At most 300 UTF-16 units. */
export function normalizeStepName(name: string): string {
  const read = toWellFormed(name.slice(0, READ_LENGTH))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  const uuids = read.replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi, '#');
  const parts = uuids.replace(PART, (part) => (isOpaquePart(part) ? '#' : part.replace(DIGITS, '#')));
  return shorten(parts.replace(/#(?:[-_.:]#)+/g, '#'), KEPT_LENGTH);
}
