/**
 * Parses filters such as `genre = 'drama' AND (year >= 1990 OR @metadata.tags CONTAINS 'new')`.
 *
 *   or        = and { OR and }
 *   and       = condition { AND condition }
 *   condition = "(" or ")" | HAS [NOT] FIELD field | field operator
 *   operator  = ("=" | "!=" | "<" | "<=" | ">" | ">=") value | [NOT] GLOB text
 *             | [NOT] IN "(" value { "," value } ")" | [NOT] CONTAINS value
 *
 * Keywords are case-insensitive. A string is in single or double quotes, which are doubled inside it. A field is a name with
 * dots and array indexes: `author.name`, `tags[0]`, `tags[#-1]`. The prefix `@metadata.` refers to the metadata.
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

const TOKENS =
  /\s*(?:(?<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))|(?<name>@?[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*|\[(?:\d+|#-\d+)\])*)|(?<text>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?<symbol>!=|<=|>=|[=<>(),]))/y;
const STEPS = /\.?([A-Za-z_][\w-]*)|\[(#-)?(\d+)\]/g;
const METADATA = '@metadata.';
const COMPARISONS = ['=', '!=', '<', '<=', '>', '>='] as const;
const MAX_POSITION = 1_000_000;

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  const end = source.trimEnd().length;
  for (let at = 0; at < end; at = TOKENS.lastIndex) {
    TOKENS.lastIndex = at;
    const groups = TOKENS.exec(source)?.groups;
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
  const inMetadata = name.startsWith(METADATA);
  if (name.startsWith('@') && !inMetadata)
    throw new FilterSyntaxError(
      `at character ${at + 1}: the only field that starts with @ is @metadata, followed by a dot and a name`,
    );
  const steps = [...(inMetadata ? name.slice(METADATA.length) : name).matchAll(STEPS)].map(([, step, fromEnd, position]) => {
    if (step !== undefined) return step;
    const number = Number(position);
    if (number > MAX_POSITION || (fromEnd && number === 0))
      throw new FilterSyntaxError(`at character ${at + 1}: invalid array index ${fromEnd ?? ''}${position}`);
    return fromEnd ? -number : number;
  });
  return { of: inMetadata ? 'metadata' : 'content', steps };
}

class Reader {
  private readonly tokens: readonly Token[];
  private next = 0;
  private values = 0;
  private depth = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  whole(): Filter {
    const filter = this.any();
    if (this.token().kind !== 'end') throw this.expected('AND, OR or the end');
    return filter;
  }

  private any(): Filter {
    const parts = [this.all()];
    while (this.takeWord('OR')) parts.push(this.all());
    const [only] = parts;
    return only && parts.length === 1 ? only : { kind: 'or', parts };
  }

  private all(): Filter {
    const parts = [this.condition()];
    while (this.takeWord('AND')) parts.push(this.condition());
    const [only] = parts;
    return only && parts.length === 1 ? only : { kind: 'and', parts };
  }

  private condition(): Filter {
    if (this.takeSymbol('(')) {
      this.depth++;
      if (this.depth > LIMITS.maxSearchFilterDepth)
        throw new FilterSyntaxError(`parentheses can be nested to at most ${LIMITS.maxSearchFilterDepth} levels`);
      const inner = this.any();
      if (!this.takeSymbol(')')) throw this.expected('")", AND or OR');
      this.depth--;
      return inner;
    }
    this.countValue();
    if (this.isWord('HAS')) {
      const behind = this.tokens[this.next + 1];
      if (behind?.kind === 'name') {
        this.next++;
        const not = this.takeWord('NOT');
        if (!this.takeWord('FIELD')) throw this.expected('FIELD');
        return { kind: 'has', not, field: this.field() };
      }
    }
    return this.comparison(this.field());
  }

  private comparison(field: FieldPath): Filter {
    const not = this.takeWord('NOT');
    if (this.takeWord('GLOB')) return { kind: 'glob', field, not, pattern: this.pattern() };
    if (this.takeWord('CONTAINS')) return { kind: 'contains', field, not, value: this.value() };
    if (this.takeWord('IN')) return { kind: 'in', field, not, values: this.list() };
    const token = this.token();
    const operator = token.kind === 'symbol' ? COMPARISONS.find((known) => known === token.text) : undefined;
    if (not || operator === undefined) throw this.expected(not ? 'GLOB, IN or CONTAINS' : 'an operator such as =, IN or GLOB');
    this.next++;
    return { kind: 'compare', field, operator, value: this.value() };
  }

  private list(): FilterValue[] {
    if (!this.takeSymbol('(')) throw this.expected('"("');
    const values = [this.value()];
    while (this.takeSymbol(',')) {
      this.countValue();
      values.push(this.value());
    }
    if (!this.takeSymbol(')')) throw this.expected('"," or ")"');
    return values;
  }

  private field(): FieldPath {
    const token = this.token();
    if (token.kind !== 'name') throw this.expected('a field name');
    this.next++;
    return fieldOf(token.text, token.at);
  }

  private value(): FilterValue {
    const token = this.token();
    if (token.kind !== 'value') throw this.expected('a number, a quoted string, true or false');
    this.next++;
    return token.value;
  }

  private pattern(): string {
    const { at } = this.token();
    const value = this.value();
    if (typeof value !== 'string') throw new FilterSyntaxError(`at character ${at + 1}: the pattern must be a quoted string`);
    if (value.split('*').length - 1 > LIMITS.maxSearchGlobStars)
      throw new FilterSyntaxError(`at character ${at + 1}: a pattern can contain at most ${LIMITS.maxSearchGlobStars} asterisks`);
    return value;
  }

  private countValue(): void {
    this.values++;
    if (this.values > LIMITS.maxSearchFilterValues)
      throw new FilterSyntaxError(`the filter has more than ${LIMITS.maxSearchFilterValues} conditions and values`);
  }

  private token(): Token {
    const token = this.tokens[this.next];
    if (!token) throw new Error('a filter was read past its end');
    return token;
  }

  private isWord(word: string): boolean {
    const token = this.token();
    return token.kind === 'name' && token.text.toUpperCase() === word;
  }

  private takeWord(word: string): boolean {
    const found = this.isWord(word);
    if (found) this.next++;
    return found;
  }

  private takeSymbol(symbol: string): boolean {
    const token = this.token();
    const found = token.kind === 'symbol' && token.text === symbol;
    if (found) this.next++;
    return found;
  }

  private expected(what: string): FilterSyntaxError {
    const { at, kind } = this.token();
    return new FilterSyntaxError(
      kind === 'end' ? `unexpected end of the filter: expected ${what}` : `at character ${at + 1}: expected ${what}`,
    );
  }
}

export function parseFilter(source: string): ParsedFilter {
  if (source.length > LIMITS.maxSearchFilterLength)
    return { ok: false, message: `the filter can have at most ${LIMITS.maxSearchFilterLength} characters` };
  try {
    return { ok: true, filter: new Reader(tokensOf(source)).whole() };
  } catch (error) {
    if (error instanceof FilterSyntaxError) return { ok: false, message: `invalid filter: ${error.message}` };
    throw error;
  }
}
