/** JSON bodies, read and validated by their schema. */
import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { ApiError } from '../../contract/error-codes.js';
import { shown } from './unacceptable.js';

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;
const utf8 = new TextDecoder('utf-8', { fatal: true });
const validators = new WeakMap<TSchema, Validator>();

function validatorOf(schema: TSchema): Validator {
  const known = validators.get(schema);
  if (known) return known;
  const made = Compile(schema);
  validators.set(schema, made);
  return made;
}

/** Throws ApiError `bad-body`; `what` names the value in the message. */
export function validate<Schema extends TSchema>(schema: Schema, value: unknown, what: string): Static<Schema> {
  const validator = validatorOf(schema);
  // Valid by its own schema, so it has the schema's type.
  if (validator.Check(value)) return value as Static<Schema>;
  const errors = validator.Errors(value);
  const unknown = errors.find(({ keyword }) => keyword === 'additionalProperties');
  if (unknown?.keyword === 'additionalProperties') {
    const names = unknown.params.additionalProperties.map(shown).join(', ');
    throw new ApiError('bad-body', `${what} has no field ${names}`);
  }
  const [first] = errors;
  const where = first?.instancePath ? `${what}${first.instancePath.replaceAll('/', '.')}` : what;
  throw new ApiError('bad-body', `${where} ${first?.message ?? 'does not have the expected form'}`);
}

/** Undefined when there is no body. Throws ApiError `unsupported-media-type` or `bad-body`. */
export function readJson(body: Uint8Array, contentType: string | undefined): unknown {
  if (body.byteLength === 0) return undefined;
  if (contentType !== undefined && !JSON_TYPE.test(contentType)) {
    throw new ApiError('unsupported-media-type', `the body must be application/json, not ${shown(contentType)}`);
  }
  try {
    return JSON.parse(utf8.decode(body));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'its syntax is wrong' : 'it is not UTF-8';
    throw new ApiError('bad-body', `the body is no JSON: ${why}`);
  }
}
