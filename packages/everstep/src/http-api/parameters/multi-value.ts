/** Query parameters that accept several values and match any of them, and the meaning of a comma in each. */
import Type, { type TSchema } from 'typebox';
import type { CommaRule } from '../../contract/filters/filter.js';

const KEYWORD = 'x-comma';

const REPEAT = 'repeat the parameter or separate the values with commas';
const DESCRIPTIONS: Readonly<Record<CommaRule, string>> = {
  separates: `Matches any of several values: ${REPEAT}.`,
  'may-be-inside': `Matches any of several values: ${REPEAT}. A value can contain a comma, so a parameter that is given once matches both as a whole and split at its commas. Repeat the parameter to match only whole values.`,
  'before-a-url': `Matches any of several values: ${REPEAT}. A comma separates values only if a URL follows it.`,
  'before-a-run': `Matches any of several values: ${REPEAT}. A comma separates values only if a time and a dot follow it.`,
};

/** Schema of a query parameter that matches any of several values. `description` is a noun phrase without a period. */
export const AnyOf = <Item extends TSchema>(item: Item, description: string, comma: CommaRule = 'separates') =>
  Type.Array(item, { description: `${description}. ${DESCRIPTIONS[comma]}`, [KEYWORD]: comma });

interface Splitting {
  readonly separator: string | RegExp;
  /** Whether the unsplit text is also a value. */
  readonly keepsWhole: boolean;
}

const SPLITTING: Readonly<Record<CommaRule, Splitting>> = {
  separates: { separator: ',', keepsWhole: false },
  'may-be-inside': { separator: ',', keepsWhole: true },
  'before-a-run': { separator: /,(?=\d{1,15}\.)/, keepsWhole: true },
  'before-a-url': { separator: /,(?=(?:https?|worker):\/\/)/i, keepsWhole: true },
};

const isCommaRule = (value: unknown): value is CommaRule => typeof value === 'string' && Object.hasOwn(SPLITTING, value);

/** Returns how the text of a parameter is split. */
export function commaRuleOf(schema: TSchema): Splitting {
  const rule: unknown = Reflect.get(schema, KEYWORD);
  return SPLITTING[isCommaRule(rule) ? rule : 'separates'];
}
