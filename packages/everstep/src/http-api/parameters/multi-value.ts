/** Query parameters that match any of several values, and the meaning of a comma in them. */
import Type, { type TSchema } from 'typebox';
import type { CommaRule } from '../../contract/filters/filter.js';

const KEYWORD = 'x-comma';

const HOW_TO_SEND = 'repeat the parameter or separate the values with commas';
const DESCRIPTIONS: Readonly<Record<CommaRule, string>> = {
  separates: `Matches any of several values: ${HOW_TO_SEND}.`,
  'may-be-inside': `Matches any of several values: ${HOW_TO_SEND}. A value can contain a comma, so a parameter that is given once matches both as a whole and split at its commas. Repeat the parameter to match only whole values.`,
  'before-a-url': `Matches any of several values: ${HOW_TO_SEND}. A comma separates values only if a URL follows it.`,
  'before-a-run': `Matches any of several values: ${HOW_TO_SEND}. A comma separates values only if the name of another run follows it: a Unix time and a dot, such as 1700000000000.`,
};

/** Schema of a query parameter that matches any of several values. `description` is a noun phrase without a period. */
export const AnyOf = <Item extends TSchema>(item: Item, description: string, comma: CommaRule = 'separates') =>
  Type.Array(item, { description: `${description}. ${DESCRIPTIONS[comma]}`, [KEYWORD]: comma });

interface SplitRule {
  readonly separator: string | RegExp;
  /** Whether the unsplit text is also a value. */
  readonly keepsWhole: boolean;
}

const SPLIT_RULES: Readonly<Record<CommaRule, SplitRule>> = {
  separates: { separator: ',', keepsWhole: false },
  'may-be-inside': { separator: ',', keepsWhole: true },
  'before-a-run': { separator: /,(?=\d{1,15}\.)/, keepsWhole: true },
  'before-a-url': { separator: /,(?=(?:https?|worker):\/\/)/i, keepsWhole: true },
};

const isCommaRule = (value: unknown): value is CommaRule => typeof value === 'string' && Object.hasOwn(SPLIT_RULES, value);

/** Returns how the text of a parameter is split. */
export function splitRuleOf(schema: TSchema): SplitRule {
  const commaRule: unknown = Reflect.get(schema, KEYWORD);
  return SPLIT_RULES[isCommaRule(commaRule) ? commaRule : 'separates'];
}
