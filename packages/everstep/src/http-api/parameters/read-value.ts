/** From text to a value, as its schema says. What the text must be in the words of a message comes out of the schema too. */
import Type, { type TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { shown, Unacceptable } from './unacceptable.js';

const validators = new WeakMap<TSchema, Validator>();

function isValid(schema: TSchema, value: unknown): boolean {
  let validator = validators.get(schema);
  if (!validator) {
    validator = Compile(schema);
    validators.set(schema, validator);
  }
  return validator.Check(value);
}

/** A keyword of the schema that is a number; TypeBox keeps the keywords but not their types. */
function bound(schema: TSchema, keyword: 'minimum' | 'maximum' | 'minLength' | 'maxLength'): number | undefined {
  const value: unknown = Reflect.get(schema, keyword);
  return typeof value === 'number' ? value : undefined;
}

/** What the schema allows, in words that go on after "must be". */
export function allowedBy(schema: TSchema): string {
  if (Type.IsEnum(schema)) return `one of ${schema.enum.join(', ')}`;
  if (Type.IsBoolean(schema)) return 'true or false';
  if (Type.IsInteger(schema)) {
    const [least, most] = [bound(schema, 'minimum'), bound(schema, 'maximum')];
    if (least !== undefined && most !== undefined) return `a whole number from ${least} to ${most}`;
    return least === undefined ? 'a whole number' : `a whole number, ${least} or more`;
  }
  if (Type.IsString(schema)) {
    const [least, most] = [bound(schema, 'minLength') ?? 0, bound(schema, 'maxLength')];
    return most === undefined ? 'a text that is not empty' : `a text of ${least} to ${most} characters`;
  }
  return 'valid';
}

/** The number that digits stand for. An int64 beyond what a number holds exactly is held at the largest. */
function wholeNumber(text: string): number | undefined {
  return /^\d{1,19}$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : undefined;
}

function fromText(schema: TSchema, text: string): unknown {
  if (Type.IsInteger(schema)) return wholeNumber(text);
  if (Type.IsBoolean(schema)) return text === 'true' ? true : text === 'false' ? false : undefined;
  return text;
}

/** Reads one value. Throws Unacceptable. */
export function readValue(schema: TSchema, text: string): unknown {
  if (text === '' && (!Type.IsString(schema) || bound(schema, 'minLength') !== undefined))
    throw new Unacceptable('must not be empty; leave it out instead');
  const value = fromText(schema, text);
  if (Type.IsCodec(schema)) {
    // The codec checks the whole text, with better words than a pattern has.
    return schema['~codec'].decode(value);
  }
  if (value === undefined || !isValid(schema, value)) {
    const given = text.length > 200 ? `${shown(text)} (${text.length} characters)` : shown(text);
    throw new Unacceptable(`must be ${allowedBy(schema)}, not ${given}`);
  }
  return value;
}
