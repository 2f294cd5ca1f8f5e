/** What a run was triggered with, as the workflow sees it. */
import { bytesOf, isJsonType } from './encoded-body.js';
import { jsonProblem, PayloadError } from './errors.js';
import type { RunInput } from './protocol.js';

/** The body of the trigger, as it came. */
export interface RawPayload {
  /** The text, when the body is UTF-8. */
  readonly text: string | undefined;
  readonly bytes: () => Uint8Array;
  readonly contentType: string | undefined;
}

/** The part of a Standard Schema (zod, valibot, arktype and others) that is needed here. */
export interface PayloadSchema<Payload> {
  readonly '~standard': {
    readonly validate: (value: unknown) => SchemaResult<Payload> | Promise<SchemaResult<Payload>>;
  };
}

export type SchemaResult<Payload> =
  | { readonly value: Payload; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

const BEYOND_ASCII = /[\x80-\xff]/;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** Headers travel as bytes, one character each; what is beyond ASCII was mostly meant as UTF-8. */
function headerText(value: string): string {
  if (!BEYOND_ASCII.test(value)) return value;
  try {
    return strictUtf8.decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  } catch {
    return value;
  }
}

/** The forwarded headers, by lower-case name. */
export function headersOf(input: RunInput): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(input.headers).map(([name, value]) => [name, headerText(value)]));
}

/** What curl says of any `-d` when it is not told otherwise: no statement about the body. */
const FORM_TYPE = /^application\/x-www-form-urlencoded\b/i;

/** Parsed JSON where the type says so or nothing is said; else text; else bytes. Undefined for an empty body. */
function defaultPayload({ text, bytes, contentType: given }: RawPayload): unknown {
  const contentType = given !== undefined && FORM_TYPE.test(given) ? undefined : given;
  if (text === undefined) return bytes();
  if (text === '') return undefined;
  if (contentType !== undefined && !isJsonType(contentType)) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (contentType === undefined) return text;
    throw new PayloadError(`the payload is said to be ${contentType} but is not JSON: ${jsonProblem(error)}`);
  }
}

export interface PayloadOptions<Payload> {
  /** Reads the payload itself. Given the raw body instead of parsed JSON. */
  readonly parsePayload?: (raw: RawPayload) => Payload | Promise<Payload>;
  /** Validates the parsed payload (any Standard Schema); one that does not fit fails the run without retries. */
  readonly schema?: PayloadSchema<Payload>;
}

function inWords(issues: readonly SchemaIssue[]): string {
  return issues
    .slice(0, 5)
    .map(({ path, message }) => {
      const where = path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
      return where ? `${where}: ${message}` : message;
    })
    .join('; ');
}

function checked<Payload>(result: SchemaResult<Payload>): Payload {
  if (result.issues) throw new PayloadError(`the payload is not what this workflow takes: ${inWords(result.issues)}`);
  return result.value;
}

/** Gives `next` the payload, without an extra turn where nothing has to be awaited. Throws PayloadError. */
export function withPayload<Payload, T>(
  input: RunInput,
  options: PayloadOptions<Payload>,
  next: (payload: Payload) => T | Promise<T>,
): T | Promise<T> {
  const raw: RawPayload = {
    text: input.body.encoding === 'utf8' ? input.body.data : undefined,
    bytes: () => bytesOf(input.body),
    contentType: input.contentType,
  };
  const { schema } = options;
  if (schema) {
    const validate = (value: unknown) => schema['~standard'].validate(value);
    const parsed = options.parsePayload ? options.parsePayload(raw) : defaultPayload(raw);
    const result = parsed instanceof Promise ? parsed.then(validate) : validate(parsed);
    return result instanceof Promise ? result.then((settled) => next(checked(settled))) : next(checked(result));
  }
  if (options.parsePayload) {
    const parsed = options.parsePayload(raw);
    return parsed instanceof Promise ? parsed.then(next) : next(parsed);
  }
  // Without a schema the type is the word of the author of the workflow.
  return next(defaultPayload(raw) as Payload);
}
