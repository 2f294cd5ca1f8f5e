/**
 * Parses filters such as `genre = 'drama' AND (year >= 1990 OR @metadata.tags CONTAINS 'new')`.
 *
 *   or        = and { OR and }
 *   and       = condition { AND condition }
 *   condition = "(" or ")" | HAS [NOT] FIELD field | field operator
 *   operator  = ("=" | "!=" | "<" | "<=" | ">" | ">=") value | [NOT] GLOB text
 *             | [NOT] IN "(" value { "," value } ")" | [NOT] CONTAINS value
 *
 * Keywords are case-insensitive. A string is in single or double quotes; the same quote inside the string is doubled. A field
 * is a name with dots and array indexes: `author.name`, `tags[0]`, `tags[#-1]`. The prefix `@metadata.` refers to the metadata.
 */
import { LIMITS } from '../config/limits.js';
import type { FieldPath, Filter, FilterValue } from '../ports/stores/search-store.js';

export type ParsedFilter =
  | { readonly ok: true; readonly filter: Filter }
  /** `message` is for the author of the filter. */
  | { readonly ok: false; readonly message: string };

type Token =
  | { readonly kind: 'name'; readonly text: string; readonly at: number }
  | { readonly kind: 'symbol'; readonly text: string; readonly at: number }
  | { readonly kind: 'value'; readonly value: FilterValue; readonly at: number }
  | { readonly kind: 'end'; readonly at: number };

class FilterSyntaxError extends Error {}

const TOKEN_PATTERN =
  /\s*(?:(?<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))|(?<name>@?[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*|\[(?:\d+|#-\d+)\])*)|(?<text>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?<symbol>!=|<=|>=|[=<>(),]))/y;
const PATH_STEP_PATTERN = /\.?([A-Za-z_][\w-]*)|\[(#-)?(\d+)\]/g;
const METADATA_PREFIX = '@metadata.';
const COMPARISONS = ['=', '!=', '<', '<=', '>', '>='] as const;
const MAX_POSITION = 1_000_000;

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  const end = source.trimEnd().length;
  for (let at = 0; at < end; at = TOKEN_PATTERN.lastIndex) {
    TOKEN_PATTERN.lastIndex = at;
    const groups = TOKEN_PATTERN.exec(source)?.groups;
    if (!groups) throw new FilterSyntaxError(`at character ${at + 1}: unexpected character`);
    const { number, name, text, symbol } = groups;
    if (number !== undefined) tokens.push({ kind: 'value', value: Number(number), at });
    else if (text !== undefined) {
      const quote = text.charAt(0);
      tokens.push({ kind: 'value', value: text.slice(1, -1).replaceAll(quote + quote, quote), at });
    } else if (symbol !== undefined) tokens.push({ kind: 'symbol', text: symbol, at });
    else if (name !== undefined && /^(true|false)$/i.test(name))
      tokens.push({ kind: 'value', value: name.toLowerCase() === 'true', at });
    else tokens.push({ kind: 'name', text: name ?? '', at });
  }
  tokens.push({ kind: 'end', at: end });
  return tokens;
}

function fieldOf(name: string, at: number): FieldPath {
  const inMetadata = name.startsWith(METADATA_PREFIX);
  if (name.startsWith('@') && !inMetadata)
    throw new FilterSyntaxError(
      `at character ${at + 1}: the only field that starts with @ is @metadata, followed by a dot and a name`,
    );
  const path = inMetadata ? name.slice(METADATA_PREFIX.length) : name;
  const steps = [...path.matchAll(PATH_STEP_PATTERN)].map(([, step, fromEnd, position]) => {
    if (step !== undefined) return step;
    const number = Number(position);
    if (number > MAX_POSITION || (fromEnd && number === 0))
      throw new FilterSyntaxError(`at character ${at + 1}: invalid array index ${fromEnd ?? ''}${position}`);
    return fromEnd ? -number : number;
  });
  return { of: inMetadata ? 'metadata' : 'content', steps };
}

/** Reads a filter from its tokens. */
class FilterReader {
  private readonly tokens: readonly Token[];
  private nextIndex = 0;
  private valueCount = 0;
  private globLength = 0;
  private depth = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  readFilter(): Filter {
    const filter = this.readOr();
    if (this.token().kind !== 'end') throw this.expectedError('AND, OR or the end');
    return filter;
  }

  private readOr(): Filter {
    const parts = [this.readAnd()];
    while (this.takeWord('OR')) parts.push(this.readAnd());
    const [firstPart] = parts;
    return firstPart && parts.length === 1 ? firstPart : { kind: 'or', parts };
  }

  private readAnd(): Filter {
    const parts = [this.readCondition()];
    while (this.takeWord('AND')) parts.push(this.readCondition());
    const [firstPart] = parts;
    return firstPart && parts.length === 1 ? firstPart : { kind: 'and', parts };
  }

  private readCondition(): Filter {
    if (this.takeSymbol('(')) {
      this.depth++;
      if (this.depth > LIMITS.maxSearchFilterDepth)
        throw new FilterSyntaxError(`parentheses can be nested to at most ${LIMITS.maxSearchFilterDepth} levels`);
      const inner = this.readOr();
      if (!this.takeSymbol(')')) throw this.expectedError('")", AND or OR');
      this.depth--;
      return inner;
    }
    this.countValue();
    if (this.isWord('HAS')) {
      const nextToken = this.tokens[this.nextIndex + 1];
      if (nextToken?.kind === 'name') {
        this.nextIndex++;
        const not = this.takeWord('NOT');
        if (!this.takeWord('FIELD')) throw this.expectedError('FIELD');
        return { kind: 'has', not, field: this.readField() };
      }
    }
    return this.readComparison(this.readField());
  }

  private readComparison(field: FieldPath): Filter {
    const not = this.takeWord('NOT');
    if (this.takeWord('GLOB')) return { kind: 'glob', field, not, pattern: this.readPattern() };
    if (this.takeWord('CONTAINS')) return { kind: 'contains', field, not, value: this.readValue() };
    if (this.takeWord('IN')) return { kind: 'in', field, not, values: this.readList() };
    const token = this.token();
    const operator = token.kind === 'symbol' ? COMPARISONS.find((comparison) => comparison === token.text) : undefined;
    if (not || operator === undefined)
      throw this.expectedError(not ? 'GLOB, IN or CONTAINS' : 'an operator such as =, IN or GLOB');
    this.nextIndex++;
    return { kind: 'compare', field, operator, value: this.readValue() };
  }

  private readList(): FilterValue[] {
    if (!this.takeSymbol('(')) throw this.expectedError('"("');
    const values = [this.readValue()];
    while (this.takeSymbol(',')) {
      this.countValue();
      values.push(this.readValue());
    }
    if (!this.takeSymbol(')')) throw this.expectedError('"," or ")"');
    return values;
  }

  private readField(): FieldPath {
    const token = this.token();
    if (token.kind !== 'name') throw this.expectedError('a field name');
    this.nextIndex++;
    return fieldOf(token.text, token.at);
  }

  private readValue(): FilterValue {
    const token = this.token();
    if (token.kind !== 'value') throw this.expectedError('a number, a quoted string, true or false');
    this.nextIndex++;
    return token.value;
  }

  private readPattern(): string {
    const { at } = this.token();
    const value = this.readValue();
    if (typeof value !== 'string') throw new FilterSyntaxError(`at character ${at + 1}: the pattern must be a quoted string`);
    if (value.split('*').length - 1 > LIMITS.maxSearchGlobStars)
      throw new FilterSyntaxError(`at character ${at + 1}: a pattern can contain at most ${LIMITS.maxSearchGlobStars} asterisks`);
    this.globLength += value.length;
    if (this.globLength > LIMITS.maxSearchGlobLength)
      throw new FilterSyntaxError(
        `at character ${at + 1}: the GLOB patterns of a filter can have at most ${LIMITS.maxSearchGlobLength} characters together; shorten them`,
      );
    return value;
  }

  private countValue(): void {
    this.valueCount++;
    if (this.valueCount > LIMITS.maxSearchFilterValues)
      throw new FilterSyntaxError(`the filter has more than ${LIMITS.maxSearchFilterValues} conditions and values`);
  }

  private token(): Token {
    const token = this.tokens[this.nextIndex];
    if (!token) throw new Error('a filter was read past its end');
    return token;
  }

  private isWord(word: string): boolean {
    const token = this.token();
    return token.kind === 'name' && token.text.toUpperCase() === word;
  }

  private takeWord(word: string): boolean {
    const isMatch = this.isWord(word);
    if (isMatch) this.nextIndex++;
    return isMatch;
  }

  private takeSymbol(symbol: string): boolean {
    const token = this.token();
    const isMatch = token.kind === 'symbol' && token.text === symbol;
    if (isMatch) this.nextIndex++;
    return isMatch;
  }

  private expectedError(expectation: string): FilterSyntaxError {
    const { at, kind } = this.token();
    return new FilterSyntaxError(
      kind === 'end'
        ? `unexpected end of the filter: expected ${expectation}`
        : `at character ${at + 1}: expected ${expectation}`,
    );
  }
}

export function parseFilter(source: string): ParsedFilter {
  if (source.length > LIMITS.maxSearchFilterLength)
    return { ok: false, message: `the filter can have at most ${LIMITS.maxSearchFilterLength} characters` };
  try {
    return { ok: true, filter: new FilterReader(tokensOf(source)).readFilter() };
  } catch (error) {
    if (error instanceof FilterSyntaxError) return { ok: false, message: `invalid filter: ${error.message}` };
    throw error;
  }
}
