/** Extracts the code of a TypeScript source. */

/** A `/` starts a regular expression where a value is expected. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of))\s*$/;
const TOKEN =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`|\}|\{|\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/g;

/**
 * Returns the code of a source. Comments, regular expressions and, unless they are kept, strings are emptied, also
 * around `${}`.
 */
export function codeOf(text: string, strings: 'emptied' | 'kept' = 'emptied'): string {
  let code = '';
  let at = 0;
  /** Open brackets: true for `${`, after which a template continues. */
  const brackets: boolean[] = [];
  const skipTemplate = (): void => {
    const start = at;
    for (; at < text.length; at++) {
      if (text[at] === '\\') at++;
      else if (text[at] === '`' || text.startsWith('${', at)) {
        const continues = text[at] === '$';
        code += `'${strings === 'kept' ? text.slice(start, at) : ''}'${continues ? ' + (' : ''}`;
        at += continues ? 2 : 1;
        if (continues) brackets.push(true);
        return;
      }
    }
  };
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    code += text.slice(at, found?.index ?? text.length);
    if (!found) break;
    const [token] = found;
    at = TOKEN.lastIndex;
    if (token === '{') {
      brackets.push(false);
      code += token;
    } else if (token === '}') {
      const template = brackets.pop() === true;
      code += template ? ') + ' : token;
      if (template) skipTemplate();
    } else if (token === '`') skipTemplate();
    else if (token.startsWith('/*') || token.startsWith('//')) code += token.replace(/[^\n]/g, ' ');
    else if (!token.startsWith('/')) code += strings === 'kept' ? token : "''";
    else if (BEFORE_REGEX.test(code.slice(-40))) code += '/ /';
    else {
      code += '/';
      at = found.index + 1;
    }
  }
  return code;
}
