/** Query parameters that take several values, any of which matches, and what a comma means in each. */
import Type, { type TSchema } from 'typebox';

/**
 * What a comma in a parameter means.
 *
 * - `separates`: a comma separates values, because no value can contain one.
 * - `may-be-inside`: a value can contain a comma. So a parameter that is given once matches as a whole and split at its commas,
 *   and a repeated one takes each value as it is.
 * - `before-a-url`: as `may-be-inside`, but split only where another URL follows. For beginnings of URLs: a part of one would
 *   match more than the whole.
 */
export type CommaRule = 'separates' | 'may-be-inside' | 'before-a-url';

const KEYWORD = 'x-comma';

const REPEAT = 'repeat the parameter or separate the values with commas';
const WORDS: Readonly<Record<CommaRule, string>> = {
  separates: `any of several: ${REPEAT}.`,
  'may-be-inside': `any of several: ${REPEAT}. A value can contain a comma, so a parameter that is given once matches both as a whole and split at its commas. Repeat the parameter to match values with commas alone.`,
  'before-a-url': `any of several: ${REPEAT}. A comma separates only where a URL follows it.`,
};

/** A query parameter that takes any of several values; its description says how they are given. */
export const AnyOf = <Item extends TSchema>(item: Item, description: string, comma: CommaRule = 'separates') =>
  Type.Array(item, { description: `${description}; ${WORDS[comma]}`, [KEYWORD]: comma });

interface Splitting {
  readonly separator: string | RegExp;
  /** Whether the text is a value, too, before it is split. */
  readonly keepsWhole: boolean;
}

const SPLITTING: Readonly<Record<CommaRule, Splitting>> = {
  separates: { separator: ',', keepsWhole: false },
  'may-be-inside': { separator: ',', keepsWhole: true },
  'before-a-url': { separator: /,(?=https?:\/\/)/i, keepsWhole: true },
};

const isCommaRule = (value: unknown): value is CommaRule => typeof value === 'string' && Object.hasOwn(SPLITTING, value);

/** How the text of a parameter is split. */
export function commaRuleOf(schema: TSchema): Splitting {
  const rule: unknown = Reflect.get(schema, KEYWORD);
  return SPLITTING[isCommaRule(rule) ? rule : 'separates'];
}
