/**
 * Extracts the prose of a file as a string of the same length, in which everything else is replaced. Positions and line breaks
 * stay the same, so that a finding has its line in the source, and a phrase is found across a line break.
 */

/** Replaces a character of code, so that no phrase extends across it. */
export const CODE = '\0';
/** Replaces each character of inline code, which counts as one word of its sentence. */
export const INLINE = '\uE000';

const fillWith = (filler) => (match) => match.replace(/[^\n]/g, filler);
const inlineCode = (text) => text.replace(/(?<!`)(`+)(?!`)(?:[^\n]|\n(?!\s*\n))+?(?<!`)\1(?!`)/g, fillWith(INLINE));

/** Returns the prose of a Markdown page: no blocks of code, inline code, targets of links, tags or comments. */
export function proseOfMarkdown(page) {
  let isInBlock = false;
  const lines = page.split('\n').map((line) => {
    const isFence = /^ *(```|~~~)/.test(line);
    const isCode = isInBlock || isFence;
    if (isFence) isInBlock = !isInBlock;
    return isCode ? fillWith(CODE)(line) : line;
  });
  return inlineCode(lines.join('\n'))
    .replace(/<!--[\s\S]*?-->|<\/?[a-z][^>]*>/g, fillWith(CODE))
    .replace(/(?<=\])\([^)]*\)/g, fillWith(' '))
    .replace(/\bhttps?:[^\s)]+/g, fillWith(INLINE))
    .replace(/^ *(?:[-*]|\d+\.) |^ *#+ |\|/gm, fillWith(CODE))
    .replace(/\*\*|[[\]]|^ *>/gm, fillWith(' '));
}

/** Returns whether a string is text: words separated by spaces, or one capitalized word, such as a label. */
const isText = (string) => /\p{L}[^\s]*\s+[^\s]*\p{L}/u.test(string) || /^\p{Lu}\p{Ll}+$/u.test(string);
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{;+\-*%~^<>\n]|\b(?:return|typeof|case|of|in))\s*$/;
/** Matches the text of an element, between two tags or expressions. */
const ELEMENT_TEXT = /(?<=[>}])[^<>{}=;\0]*\p{L}[^<>{}=;\0]*(?=[<{])/gu;

const proseOfComment = (comment) =>
  inlineCode(comment.replace(/^(\/\*+|\/\/+)|\*+\/$|^[ \t]*\*+/gm, fillWith(' '))).replace(
    /@example[\s\S]*?(?=@\w|$)/g,
    fillWith(CODE),
  );

/** Scans a source file once, from the first character to the last. */
class SourceScanner {
  constructor(source) {
    this.source = source;
    this.prose = source.split('').map((char) => (/\s/.test(char) ? char : CODE));
    /** The source without strings and comments. */
    this.code = [...this.prose];
  }

  put(from, text) {
    for (let index = 0; index < text.length; index++) this.prose[from + index] = text[index];
  }

  /** Scans code up to its end, or to the position after the brace that closes an expression in a template. */
  scan(from, { inTemplate }) {
    const { source } = this;
    let depth = 0;
    let index = from;
    while (index < source.length) {
      const char = source[index];
      const end = this.endOfLiteral(index);
      if (end > index) {
        index = end;
        continue;
      }
      this.code[index] = char;
      index++;
      if (char === '{') depth++;
      else if (char === '}' && inTemplate && depth-- === 0) break;
    }
    return index;
  }

  /** Returns the position after the comment, string, template or regular expression that starts at `index`; if none, `index`. */
  endOfLiteral(index) {
    const { source } = this;
    const char = source[index];
    if (char === '/') return this.endOfSlash(index);
    if (char === '`') return this.endOfTemplate(index);
    // A quote after a letter is an apostrophe in the text of an element.
    if ((char !== "'" && char !== '"') || /[\p{L}\d]/u.test(source[index - 1] ?? '')) return index;
    let end = index + 1;
    while (end < source.length && source[end] !== char && source[end] !== '\n') end += source[end] === '\\' ? 2 : 1;
    if (source[end] !== char) return index;
    const string = source.slice(index + 1, end).replace(/\\./g, '  ');
    if (isText(string)) this.put(index + 1, inlineCode(string));
    return end + 1;
  }

  endOfSlash(index) {
    const { source } = this;
    const next = source[index + 1];
    if (next === '*' || (next === '/' && source[index - 1] !== ':')) {
      const closeIndex = next === '*' ? source.indexOf('*/', index + 2) + 2 : source.indexOf('\n', index);
      const end = closeIndex < index + 2 ? source.length : closeIndex;
      this.put(index, proseOfComment(source.slice(index, end)));
      return end;
    }
    if (next === '>' || source[index - 1] === '<' || !BEFORE_REGEX.test(source.slice(Math.max(0, index - 20), index)))
      return index;
    const [regex] = /^\/(?:\[(?:\\.|[^\]\\\n])*\]|\\.|[^/\\\n[])+\//.exec(source.slice(index, index + 1000)) ?? [''];
    return index + regex.length;
  }

  endOfTemplate(from) {
    const { source } = this;
    const parts = [];
    let start = from + 1;
    let index = start;
    while (index < source.length && source[index] !== '`') {
      if (source.startsWith('${', index)) {
        parts.push([start, source.slice(start, index)]);
        index = this.scan(index + 2, { inTemplate: true });
        start = index;
      } else index += source[index] === '\\' ? 2 : 1;
    }
    parts.push([start, source.slice(start, index)]);
    if (isText(parts.map(([, text]) => text).join('x')))
      for (const [position, text] of parts)
        this.put(position, text.replace(/\\`[^`]*\\`/g, fillWith(INLINE)).replace(/\\./g, '  '));
    return index + 1;
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
