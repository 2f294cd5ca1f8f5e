/** Reads JSON bodies and validates them against their schema. */
import { JsonBoundsError, parseJson } from '@everstep/sdk/protocol';
import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { ApiError } from '../../contract/error-codes.js';
import { patternRequirement } from '../../contract/patterns.js';
import { findJsonFault } from './json-fault.js';
import { quoteValue } from './value-errors.js';

/** Content types of JSON. The only allowed parameter is the character set UTF-8. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?(?:;\s*)?$/i;
const MAX_CONTENT_TYPE_LENGTH = 256;
const utf8 = new TextDecoder('utf-8', { fatal: true });
const validators = new WeakMap<TSchema, Validator>();

function validatorOf(schema: TSchema): Validator {
  const cachedValidator = validators.get(schema);
  if (cachedValidator) return cachedValidator;
  const validator = Compile(schema);
  validators.set(schema, validator);
  return validator;
}

/** Formats a path of names and indexes for messages: `.items.0.id`. */
const pathText = (path: readonly (string | number)[]): string =>
  path.map((step) => `.${typeof step === 'number' || /^[\w-]+$/.test(step) ? step : quoteValue(step)}`).join('');

/** Formats a JSON pointer for messages. */
const pointerText = (pointer: string): string =>
  pathText(
    pointer
      .split('/')
      .slice(1)
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')),
  );

/** Returns the name of a value or of a part of it: `the body`, `body.items.0.id`. */
const nameOf = (valueName: string, part: string): string =>
  part === '' ? valueName : `${valueName.replace(/^the /, '')}${part}`;

type Problem = ReturnType<Validator['Errors']>[number];

/** Types, as the end of a sentence that starts with "must be". */
const TYPE_TEXTS: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'an integer',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

const countText = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

function choiceText(problemsAtPath: readonly Problem[]): string {
  const choices = problemsAtPath.flatMap((choice): unknown[] => {
    if (choice.keyword === 'enum') return choice.params.allowedValues;
    return choice.keyword === 'const' ? [choice.params.allowedValue] : [];
  });
  return `must be ${choices.length > 1 ? 'one of ' : ''}${choices.map(String).join(', ')}`;
}

/** Returns the requirement that the value violates. Replaces the messages of the validator that are not complete sentences. */
function requirementOf(problem: Problem, problemsAtPath: readonly Problem[]): string {
  switch (problem.keyword) {
    case 'pattern':
      return patternRequirement(String(problem.params.pattern)) ?? problem.message;
    case 'enum':
    case 'const':
      return choiceText(problemsAtPath);
    case 'required': {
      const names = problem.params.requiredProperties;
      return `must have the ${names.length === 1 ? 'field' : 'fields'} ${names.map(quoteValue).join(', ')}`;
    }
    case 'minimum':
      return `must be at least ${problem.params.limit}`;
    case 'maximum':
      return `must be at most ${problem.params.limit}`;
    case 'minProperties':
      return `must have at least ${countText(problem.params.limit, 'field')}`;
    case 'minItems':
      return `must have at least ${countText(problem.params.limit, 'item')}`;
    case 'minLength':
      return `must have at least ${countText(problem.params.limit, 'character')}`;
    case 'maxLength':
      return `must not have more than ${countText(problem.params.limit, 'character')}`;
    default:
      return problem.message;
  }
}

/**
 * Returns the names of the unknown fields of an object, with its pointer, or null if there are none. The validator reports each
 * field and then all fields together, unless it has reached its maximum number of problems.
 */
function findUnknownFields(problems: readonly Problem[]): { readonly pointer: string; readonly names: readonly string[] } | null {
  const summary = problems.find(({ keyword }) => keyword === 'additionalProperties');
  if (summary?.keyword === 'additionalProperties')
    return { pointer: summary.instancePath, names: summary.params.additionalProperties };
  const [firstPath, ...otherPaths] = problems
    .filter(({ keyword }) => keyword === 'boolean')
    .map(({ instancePath }) => instancePath);
  if (firstPath === undefined) return null;
  const pointer = firstPath.slice(0, firstPath.lastIndexOf('/'));
  const fieldPaths = [firstPath, ...otherPaths].filter(
    (path) => path.lastIndexOf('/') === pointer.length && path.startsWith(pointer),
  );
  return {
    pointer,
    names: fieldPaths.map((path) =>
      path
        .slice(pointer.length + 1)
        .replaceAll('~1', '/')
        .replaceAll('~0', '~'),
    ),
  };
}

/**
 * Describes the problem. If a value can match one of several schemas, the description is about the schema that it matches
 * best. If a value can have one of several types, the description contains all of them.
 */
function describeProblem(problems: readonly Problem[], valueName: string): string {
  const [firstProblem] = problems;
  if (!firstProblem) return `${valueName} does not have the expected form`;
  const problemsWithin = problems.filter(({ instancePath }) => instancePath.startsWith(firstProblem.instancePath));
  const deepestProblem = problemsWithin.reduce((a, b) =>
    b.instancePath.split('/').length > a.instancePath.split('/').length ? b : a,
  );
  const { instancePath: deepestPath } = deepestProblem;
  const problemsAtPath = problemsWithin.filter(
    ({ instancePath, keyword }) => instancePath === deepestPath && keyword !== 'anyOf',
  );
  const partName = nameOf(valueName, pointerText(deepestPath));
  const valueProblem = problemsAtPath.find(({ keyword }) => keyword !== 'type');
  if (valueProblem) return `${partName} ${requirementOf(valueProblem, problemsAtPath)}`;
  const types = problemsAtPath.flatMap((problem) => (problem.keyword === 'type' ? [problem.params.type].flat() : []));
  return `${partName} must be ${[...new Set(types.map((type) => TYPE_TEXTS[type] ?? type))].join(' or ')}`;
}

/** Maximum number of unknown fields in an error message. A request can have any number of them. */
const MAX_SHOWN_FIELDS = 5;

/** Keywords of a schema that lead to lists. */
interface SchemaWithLists {
  readonly maxItems?: number;
  readonly items?: SchemaWithLists;
  readonly properties?: Readonly<Record<string, SchemaWithLists>>;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

/**
 * Returns the JSON pointer and the limit of the first list that is too long, or null. The validator would examine all items
 * of such a list to describe its problems. If the items must be unique, the time grows with the square of their number.
 */
function findLongList(
  schema: SchemaWithLists,
  value: unknown,
  pointer = '',
): { readonly pointer: string; readonly limit: number } | null {
  if (Array.isArray(value)) {
    const { items, maxItems: limit } = schema;
    if (limit !== undefined && value.length > limit) return { pointer, limit };
    if (!items) return null;
    for (const [index, item] of value.entries()) {
      const longList = findLongList(items, item, `${pointer}/${index}`);
      if (longList) return longList;
    }
  } else if (schema.properties && isRecord(value)) {
    for (const [name, property] of Object.entries(schema.properties)) {
      const longList = Object.hasOwn(value, name) ? findLongList(property, value[name], `${pointer}/${name}`) : null;
      if (longList) return longList;
    }
  }
  return null;
}

/**
 * Returns the value if it matches the schema. Otherwise throws ApiError `bad-body`, whose message contains `valueName`.
 */
export function validate<Schema extends TSchema>(schema: Schema, value: unknown, valueName: string): Static<Schema> {
  const longList = findLongList(schema, value);
  if (longList)
    throw new ApiError(
      'bad-body',
      `${nameOf(valueName, pointerText(longList.pointer))} must not have more than ${countText(longList.limit, 'item')}`,
    );
  const validator = validatorOf(schema);
  // A value that matches the schema has its type.
  if (validator.Check(value)) return value as Static<Schema>;
  const problems = validator.Errors(value);
  const unknownFields = findUnknownFields(problems);
  if (unknownFields) {
    const shownNames = unknownFields.names.slice(0, MAX_SHOWN_FIELDS).map(quoteValue).join(', ');
    const ending = unknownFields.names.length > MAX_SHOWN_FIELDS ? ' and others' : '';
    const fields = unknownFields.names.length === 1 ? 'an unknown field' : 'unknown fields';
    throw new ApiError(
      'bad-body',
      `${nameOf(valueName, pointerText(unknownFields.pointer))} has ${fields}: ${shownNames}${ending}`,
    );
  }
  throw new ApiError('bad-body', describeProblem(problems, valueName));
}

/** Returns the error of a text that is not JSON, or in which a name is given more than once. */
function jsonErrorOf(text: string, isJson: boolean): ApiError | null {
  const fault = findJsonFault(text, { isJson });
  if (fault?.kind === 'duplicate-name')
    return new ApiError('bad-body', `${nameOf('the body', pathText(fault.path))} is given more than once; give it once`);
  if (fault)
    return new ApiError(
      'bad-body',
      `the body is not valid JSON: ${nameOf('the body', pathText(fault.path))} is ${fault.word}, which is not a JSON value`,
    );
  return isJson ? null : new ApiError('bad-body', 'the body is not valid JSON: syntax error');
}

/** Returns the parsed body, or undefined when there is no body. Throws ApiError `unsupported-media-type` or `bad-body`. */
export function readJson(body: Uint8Array, contentType: string | undefined): unknown {
  if (body.byteLength === 0) return undefined;
  if (contentType !== undefined && contentType.length > MAX_CONTENT_TYPE_LENGTH)
    throw new ApiError(
      'unsupported-media-type',
      `the content type must be application/json, with at most ${MAX_CONTENT_TYPE_LENGTH} characters, not ${contentType.length}`,
    );
  if (contentType !== undefined && !JSON_TYPE.test(contentType)) {
    throw new ApiError('unsupported-media-type', `the body must be application/json, not ${quoteValue(contentType)}`);
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
  const error = jsonErrorOf(text, isJson);
  if (error) throw error;
  return value;
}
