/** Reads JSON bodies and validates them against their schema. */
import { JsonBoundsError, parseJson } from '@everstep/sdk/protocol';
import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { ApiError } from '../../contract/error-codes.js';
import { patternWords } from '../../contract/patterns.js';
import { findJsonFault } from './json-fault.js';
import { shown } from './unacceptable.js';

/** No parameters except the only character set that JSON allows. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i;
const utf8 = new TextDecoder('utf-8', { fatal: true });
const validators = new WeakMap<TSchema, Validator>();

function validatorOf(schema: TSchema): Validator {
  const known = validators.get(schema);
  if (known) return known;
  const made = Compile(schema);
  validators.set(schema, made);
  return made;
}

/** Formats a path of names and positions for messages: `.items.0.id`. */
const pathText = (path: readonly (string | number)[]): string =>
  path.map((step) => `.${typeof step === 'number' || /^[\w-]+$/.test(step) ? step : shown(step)}`).join('');

/** Formats a JSON pointer for messages. */
const pointerText = (pointer: string): string =>
  pathText(
    pointer
      .split('/')
      .slice(1)
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')),
  );

type Problem = ReturnType<Validator['Errors']>[number];

/** Returns what the value must be. The validator's own messages for patterns and choices do not say what to do. */
function wordsOf(problem: Problem, there: readonly Problem[]): string {
  if (problem.keyword === 'pattern') return patternWords(String(problem.params.pattern)) ?? problem.message;
  const choices = there.flatMap((each): unknown[] => {
    if (each.keyword === 'enum') return each.params.allowedValues;
    return each.keyword === 'const' ? [each.params.allowedValue] : [];
  });
  const isChoice = problem.keyword === 'enum' || problem.keyword === 'const';
  return isChoice ? `must be ${choices.length > 1 ? 'one of ' : ''}${choices.map(String).join(', ')}` : problem.message;
}

/**
 * Describes the problem. For a choice between schemas, uses the one that the value matches best; for a choice between
 * types, names all of them.
 */
function describeProblem(problems: readonly Problem[]): string {
  const [first] = problems;
  if (!first) return ' does not have the expected form';
  const within = problems.filter(({ instancePath }) => instancePath.startsWith(first.instancePath));
  const deepest = within.reduce((a, b) => (b.instancePath.split('/').length > a.instancePath.split('/').length ? b : a));
  const there = within.filter(({ instancePath, keyword }) => instancePath === deepest.instancePath && keyword !== 'anyOf');
  const where = pointerText(deepest.instancePath);
  const precise = there.find(({ keyword }) => keyword !== 'type');
  if (precise) return `${where} ${wordsOf(precise, there)}`;
  const types = there.flatMap((problem) => (problem.keyword === 'type' ? [problem.params.type].flat() : []));
  return `${where} must be ${[...new Set(types)].join(' or ')}`;
}

/**
 * Returns the value when it matches the schema. Throws ApiError `bad-body`; `what` is the name of the value in the message.
 */
export function validate<Schema extends TSchema>(schema: Schema, value: unknown, what: string): Static<Schema> {
  const validator = validatorOf(schema);
  // The value is valid by its schema, so it has the type of the schema.
  if (validator.Check(value)) return value as Static<Schema>;
  const problems = validator.Errors(value);
  const unknown = problems.find(({ keyword }) => keyword === 'additionalProperties');
  if (unknown?.keyword === 'additionalProperties') {
    const names = unknown.params.additionalProperties.map(shown).join(', ');
    throw new ApiError('bad-body', `${what}${pointerText(unknown.instancePath)} has an unknown field: ${names}`);
  }
  throw new ApiError('bad-body', `${what}${describeProblem(problems)}`);
}

function refusal(text: string, isJson: boolean): ApiError | null {
  const fault = findJsonFault(text, { isJson });
  if (fault?.kind === 'twice') return new ApiError('bad-body', `the body${pathText(fault.path)} is given twice; give it once`);
  if (fault)
    return new ApiError('bad-body', `the body is not valid JSON: the body${pathText(fault.path)} is ${shown(fault.word)}`);
  return isJson ? null : new ApiError('bad-body', 'the body is not valid JSON: syntax error');
}

/** Returns the parsed body, or undefined when there is no body. Throws ApiError `unsupported-media-type` or `bad-body`. */
export function readJson(body: Uint8Array, contentType: string | undefined): unknown {
  if (body.byteLength === 0) return undefined;
  if (contentType !== undefined && !JSON_TYPE.test(contentType)) {
    throw new ApiError('unsupported-media-type', `the body must be application/json, not ${shown(contentType)}`);
  }
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw new ApiError('bad-body', 'the body is not valid JSON: it is not UTF-8');
  }
  let value: unknown;
  let isJson = true;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof JsonBoundsError) throw new ApiError('bad-body', `the JSON body exceeds a limit: ${error.message}`);
    isJson = false;
  }
  const refused = refusal(text, isJson);
  if (refused) throw refused;
  return value;
}
