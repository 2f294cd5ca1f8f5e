/** Converts text to a value of a schema. Error messages are derived from the schema. */
import Type, { type TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { InvalidValueError, quoteValue } from './value-errors.js';

const validators = new WeakMap<TSchema, Validator>();

function isValid(schema: TSchema, value: unknown): boolean {
  let validator = validators.get(schema);
  if (!validator) {
    validator = Compile(schema);
    validators.set(schema, validator);
  }
  return validator.Check(value);
}

/** Returns a numeric keyword of the schema. The type of the schema does not contain it. */
function numericKeyword(schema: TSchema, keyword: 'minimum' | 'maximum' | 'minLength' | 'maxLength'): number | undefined {
  const value: unknown = Reflect.get(schema, keyword);
  return typeof value === 'number' ? value : undefined;
}

/** Returns what the schema allows, as the end of a sentence that starts with "must be". */
export function requirementOf(schema: TSchema): string {
  if (Type.IsEnum(schema)) return `one of ${schema.enum.join(', ')}`;
  if (Type.IsBoolean(schema)) return 'true or false';
  if (Type.IsInteger(schema)) {
    const [min, max] = [numericKeyword(schema, 'minimum'), numericKeyword(schema, 'maximum')];
    if (min !== undefined && max !== undefined) return `an integer from ${min} to ${max}`;
    return min === undefined ? 'an integer' : `an integer of at least ${min}`;
  }
  if (Type.IsString(schema)) {
    const [min, max] = [numericKeyword(schema, 'minLength') ?? 0, numericKeyword(schema, 'maxLength')];
    return max === undefined ? 'a non-empty string' : `a string of ${min} to ${max} characters`;
  }
  return 'valid';
}

/**
 * Returns the number, or undefined if the text is not a non-negative integer. Numbers beyond the safe range are capped at the
 * largest safe integer.
 */
function parseInteger(text: string): number | undefined {
  return /^\d{1,19}$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : undefined;
}

function parseText(schema: TSchema, text: string): unknown {
  if (Type.IsInteger(schema)) return parseInteger(text);
  if (Type.IsBoolean(schema)) return text === 'true' ? true : text === 'false' ? false : undefined;
  return text;
}

/** Reads one value. Throws InvalidValueError if it is invalid. */
export function readValue(schema: TSchema, text: string): unknown {
  if (text === '' && (!Type.IsString(schema) || numericKeyword(schema, 'minLength') !== undefined))
    throw new InvalidValueError('must not be empty; omit it instead');
  const value = parseText(schema, text);
  if (Type.IsCodec(schema)) {
    // The codec checks the text and has more helpful messages than a pattern.
    return schema['~codec'].decode(value);
  }
  if (value === undefined || !isValid(schema, value)) {
    const shownText = text.length > 200 ? `${quoteValue(text)} (${text.length} characters)` : quoteValue(text);
    throw new InvalidValueError(`must be ${requirementOf(schema)}, not ${shownText}`);
  }
  return value;
}
