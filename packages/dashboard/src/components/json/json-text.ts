/** Reads and indents JSON without changing its values: `JSON.parse` rounds long numbers and drops repeated names. */

/** A longer text is not formatted, because that would block the page. */
const MAX_TEXT_LENGTH = 4_000_000;
/** A text that would become longer is not indented. Deep nesting can multiply the length of a text. */
const MAX_INDENTED_LENGTH = 16_000_000;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g;

/** Decodes the escapes of a string for which JSON does not require them, such as `\u00e9`. Returns any other token unchanged. */
const decode = (token: string): string => (token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token);

/** Returns the tokens of a JSON text, with the numbers exactly as in the text; null if the text is not JSON or is too long. */
export function tokensOf(text: string): readonly string[] | null {
  if (text.length > MAX_TEXT_LENGTH) return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const tokens = text.match(TOKEN) ?? [];
  return text.includes('\\') ? tokens.map(decode) : tokens;
}

export const isOpening = (token: string | undefined): boolean => token === '{' || token === '[';
export const isClosing = (token: string | undefined): boolean => token === '}' || token === ']';

/** Indents a text that is JSON; returns any other text, and a text that is too long, unchanged. */
export function prettyJson(text: string): string {
  const tokens = tokensOf(text);
  if (tokens === null) return text;
  let result = '';
  let depth = 0;
  let previous: string | undefined;
  for (const token of tokens) {
    if (isClosing(token)) depth--;
    const startsLine = isClosing(token) ? !isOpening(previous) : isOpening(previous) || previous === ',';
    result += `${startsLine ? `\n${'  '.repeat(depth)}` : ''}${token}${token === ':' ? ' ' : ''}`;
    if (result.length > MAX_INDENTED_LENGTH) return text;
    if (isOpening(token)) depth++;
    previous = token;
  }
  return result;
}
