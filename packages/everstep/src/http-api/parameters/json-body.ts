/** Reads JSON bodies and validates them against their schema. */
import { JsonBoundsError, parseJson } from '@everstep/sdk/protocol';
import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { ApiError } from '../../contract/error-codes.js';
import { patternRequirement } from '../../contract/patterns.js';
import { findJsonFault } from './json-fault.js';
import { shown } from './value-errors.js';

/** No parameters except the only character set that JSON allows. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i;
const utf8 = new TextDecoder('utf-8', { fatal: true });
const validators = new WeakMap<TSchema, Validator>();

function validatorOf(schema: TSchema): Validator {
  const cached = validators.get(schema);
  if (cached) return cached;
  const validator = Compile(schema);
  validators.set(schema, validator);
  return validator;
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

/** Names a value or a part of it: `the body`, `body.items.0.id`. */
const nameOf = (valueName: string, part: string): string =>
  part === '' ? valueName : `${valueName.replace(/^the /, '')}${part}`;

type Problem = ReturnType<Validator['Errors']>[number];

/** Returns the requirement that the value violates. The validator's own messages for patterns and choices are not helpful. */
function requirementOf(problem: Problem, samePlace: readonly Problem[]): string {
  if (problem.keyword === 'pattern') return patternRequirement(String(problem.params.pattern)) ?? problem.message;
  const choices = samePlace.flatMap((choice): unknown[] => {
    if (choice.keyword === 'enum') return choice.params.allowedValues;
    return choice.keyword === 'const' ? [choice.params.allowedValue] : [];
  });
  const isChoice = problem.keyword === 'enum' || problem.keyword === 'const';
  return isChoice ? `must be ${choices.length > 1 ? 'one of ' : ''}${choices.map(String).join(', ')}` : problem.message;
}

/**
 * Returns the fields that no schema allows, with the pointer of their object, or null. The validator reports each of them and
 * then all of them together, unless it has reached its maximum of problems.
 */
function unknownFields(problems: readonly Problem[]): { readonly pointer: string; readonly names: readonly string[] } | null {
  const all = problems.find(({ keyword }) => keyword === 'additionalProperties');
  if (all?.keyword === 'additionalProperties') return { pointer: all.instancePath, names: all.params.additionalProperties };
  const [first, ...otherPaths] = problems.filter(({ keyword }) => keyword === 'boolean').map(({ instancePath }) => instancePath);
  if (first === undefined) return null;
  const pointer = first.slice(0, first.lastIndexOf('/'));
  const samePlace = [first, ...otherPaths].filter((path) => path.lastIndexOf('/') === pointer.length && path.startsWith(pointer));
  return {
    pointer,
    names: samePlace.map((path) =>
      path
        .slice(pointer.length + 1)
        .replaceAll('~1', '/')
        .replaceAll('~0', '~'),
    ),
  };
}

/**
 * Describes the problem. For a choice between schemas, uses the one that the value matches best; for a choice between
 * types, names all of them.
 */
function describeProblem(problems: readonly Problem[], valueName: string): string {
  const [first] = problems;
  if (!first) return `${valueName} does not have the expected form`;
  const within = problems.filter(({ instancePath }) => instancePath.startsWith(first.instancePath));
  const deepest = within.reduce((a, b) => (b.instancePath.split('/').length > a.instancePath.split('/').length ? b : a));
  const samePlace = within.filter(({ instancePath, keyword }) => instancePath === deepest.instancePath && keyword !== 'anyOf');
  const place = nameOf(valueName, pointerText(deepest.instancePath));
  const specific = samePlace.find(({ keyword }) => keyword !== 'type');
  if (specific) return `${place} ${requirementOf(specific, samePlace)}`;
  const types = samePlace.flatMap((problem) => (problem.keyword === 'type' ? [problem.params.type].flat() : []));
  return `${place} must be ${[...new Set(types)].join(' or ')}`;
}

/** Unknown fields that an error names; a client chooses how many it sends. */
const NAMED_FIELDS = 5;

/** The parts of a schema that lead to lists. */
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
      const found = Object.hasOwn(value, name) ? findLongList(property, value[name], `${pointer}/${name}`) : null;
      if (found) return found;
    }
  }
  return null;
}

/**
 * Returns the value when it matches the schema. Throws ApiError `bad-body`; `valueName` is the name of the value in the message.
 */
export function validate<Schema extends TSchema>(schema: Schema, value: unknown, valueName: string): Static<Schema> {
  const longList = findLongList(schema, value);
  if (longList)
    throw new ApiError(
      'bad-body',
      `${nameOf(valueName, pointerText(longList.pointer))} must not have more than ${longList.limit} items`,
    );
  const validator = validatorOf(schema);
  // The value is valid by its schema, so it has the type of the schema.
  if (validator.Check(value)) return value as Static<Schema>;
  const problems = validator.Errors(value);
  const unknown = unknownFields(problems);
  if (unknown) {
    const shownNames = unknown.names.slice(0, NAMED_FIELDS).map(shown).join(', ');
    const otherPaths = unknown.names.length > NAMED_FIELDS ? ' and others' : '';
    throw new ApiError(
      'bad-body',
      `${nameOf(valueName, pointerText(unknown.pointer))} has an unknown field: ${shownNames}${otherPaths}`,
    );
  }
  throw new ApiError('bad-body', describeProblem(problems, valueName));
}

function refusal(text: string, isJson: boolean): ApiError | null {
  const fault = findJsonFault(text, { isJson });
  if (fault?.kind === 'twice')
    return new ApiError('bad-body', `${nameOf('the body', pathText(fault.path))} is given twice; give it once`);
  if (fault)
    return new ApiError(
      'bad-body',
      `the body is not valid JSON: ${nameOf('the body', pathText(fault.path))} is ${shown(fault.word)}`,
    );
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
