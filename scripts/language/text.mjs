/**
 * The prose in a file: a string as long as the source, in which everything else is replaced. Positions and line breaks stay, so
 * a finding has the line of the source, and a phrase is found across a line break.
 */

/** Replaces a character of code, so that no phrase extends across it. */
export const CODE = '\0';
/** Replaces each character of inline code, which counts as one word of its sentence. */
export const INLINE = '\uE000';

const same = (filler) => (match) => match.replace(/[^\n]/g, filler);
const inlineCode = (text) => text.replace(/(?<!`)(`+)(?!`)(?:[^\n]|\n(?!\s*\n))+?(?<!`)\1(?!`)/g, same(INLINE));

/** Returns the prose of a Markdown page: no blocks of code, inline code, targets of links, tags or comments. */
export function proseOfMarkdown(page) {
  let inBlock = false;
  const lines = page.split('\n').map((line) => {
    const isFence = /^ *(```|~~~)/.test(line);
    const isCode = inBlock || isFence;
    if (isFence) inBlock = !inBlock;
    return isCode ? same(CODE)(line) : line;
  });
  return inlineCode(lines.join('\n'))
    .replace(/<!--[\s\S]*?-->|<\/?[a-z][^>]*>/g, same(CODE))
    .replace(/(?<=\])\([^)]*\)/g, same(' '))
    .replace(/\bhttps?:[^\s)]+/g, same(INLINE))
    .replace(/^ *(?:[-*]|\d+\.) |^ *#+ |\|/gm, same(CODE))
    .replace(/\*\*|[[\]]|^ *>/gm, same(' '));
}

/** Words separated by spaces, or one capitalized word, such as a label. */
const isText = (string) => /\p{L}[^\s]*\s+[^\s]*\p{L}/u.test(string) || /^\p{Lu}\p{Ll}+$/u.test(string);
const STARTS_REGEX = /(?:^|[(,=:[!&|?{;+\-*%~^<>\n]|\b(?:return|typeof|case|of|in))\s*$/;
/** Text of an element, between two tags or expressions. */
const ELEMENT_TEXT = /(?<=[>}])[^<>{}=;\0]*\p{L}[^<>{}=;\0]*(?=[<{])/gu;

const proseOfComment = (comment) =>
  inlineCode(comment.replace(/^(\/\*+|\/\/+)|\*+\/$|^[ \t]*\*+/gm, same(' '))).replace(/@example[\s\S]*?(?=@\w|$)/g, same(CODE));

/** Scans a source file once, from the first character to the last. */
class SourceScanner {
  constructor(source) {
    this.source = source;
    this.prose = source.split('').map((char) => (/\s/.test(char) ? char : CODE));
    /** The source without strings and comments. */
    this.code = [...this.prose];
  }

  put(from, text) {
    for (let at = 0; at < text.length; at++) this.prose[from + at] = text[at];
  }

  /** Scans code up to its end, or to the position after the brace that closes an expression in a template. */
  scan(from, { inTemplate }) {
    const { source } = this;
    let depth = 0;
    let at = from;
    while (at < source.length) {
      const char = source[at];
      const end = this.endOfLiteral(at);
      if (end > at) {
        at = end;
        continue;
      }
      this.code[at] = char;
      at++;
      if (char === '{') depth++;
      else if (char === '}' && inTemplate && depth-- === 0) break;
    }
    return at;
  }

  /** Returns the position after the comment, string, template or regular expression that starts here, otherwise `at`. */
  endOfLiteral(at) {
    const { source } = this;
    const char = source[at];
    if (char === '/') return this.endOfSlash(at);
    if (char === '`') return this.endOfTemplate(at);
    // A quote after a letter is an apostrophe in the text of an element.
    if ((char !== "'" && char !== '"') || /[\p{L}\d]/u.test(source[at - 1] ?? '')) return at;
    let end = at + 1;
    while (end < source.length && source[end] !== char && source[end] !== '\n') end += source[end] === '\\' ? 2 : 1;
    if (source[end] !== char) return at;
    const string = source.slice(at + 1, end).replace(/\\./g, '  ');
    if (isText(string)) this.put(at + 1, inlineCode(string));
    return end + 1;
  }

  endOfSlash(at) {
    const { source } = this;
    const next = source[at + 1];
    if (next === '*' || (next === '/' && source[at - 1] !== ':')) {
      const close = next === '*' ? source.indexOf('*/', at + 2) + 2 : source.indexOf('\n', at);
      const end = close < at + 2 ? source.length : close;
      this.put(at, proseOfComment(source.slice(at, end)));
      return end;
    }
    if (next === '>' || source[at - 1] === '<' || !STARTS_REGEX.test(source.slice(Math.max(0, at - 20), at))) return at;
    const [regex] = /^\/(?:\[(?:\\.|[^\]\\\n])*\]|\\.|[^/\\\n[])+\//.exec(source.slice(at, at + 1000)) ?? [''];
    return at + regex.length;
  }

  endOfTemplate(from) {
    const { source } = this;
    const pieces = [];
    let start = from + 1;
    let at = start;
    while (at < source.length && source[at] !== '`') {
      if (source.startsWith('${', at)) {
        pieces.push([start, source.slice(start, at)]);
        at = this.scan(at + 2, { inTemplate: true });
        start = at;
      } else at += source[at] === '\\' ? 2 : 1;
    }
    pieces.push([start, source.slice(start, at)]);
    if (isText(pieces.map(([, text]) => text).join('x')))
      for (const [position, text] of pieces) this.put(position, text.replace(/\\`[^`]*\\`/g, same(INLINE)).replace(/\\./g, '  '));
    return at + 1;
  }
}

/** Returns the prose of a TypeScript or JavaScript file: its comments, the strings that are text, and text of elements. */
export function proseOfSource(source, { hasElements = false } = {}) {
  const scanner = new SourceScanner(source);
  scanner.scan(0, { inTemplate: false });
  if (hasElements)
    for (const { 0: text, index } of scanner.code.join('').matchAll(ELEMENT_TEXT))
      if (isText(text.trim())) scanner.put(index, text);
  return scanner.prose.join('');
}

/** Returns the prose of a file, according to its extension. */
export function proseOf(path, text) {
  return path.endsWith('.md') ? proseOfMarkdown(text) : proseOfSource(text, { hasElements: path.endsWith('x') });
}

/** Returns the sentences of a text with their positions: `{ text, position, words }`. */
export function sentencesOf(prose) {
  return [...prose.matchAll(/(?:[^\0.!?\n]|[.!?](?=\S)|\n(?!\s*\n))+[.!?]?/g)].flatMap(({ 0: text, index }) => {
    const words = text.match(/[^\s]*[\p{L}\p{N}\uE000][^\s]*/gu)?.length ?? 0;
    return words === 0 ? [] : [{ text: text.trim(), position: index + text.length - text.trimStart().length, words }];
  });
}
