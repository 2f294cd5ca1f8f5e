/** Reads the payload of a run for the workflow. */
import { bytesOf, isJsonType, parseReceivedJson } from './encoded-body.js';
import { jsonProblem, PayloadError } from './errors.js';
import type { RunInput } from './protocol.js';

/** The raw body of the trigger. */
export interface RawPayload {
  /** The text, if the body is UTF-8. */
  readonly text: string | undefined;
  /** Returns the raw bytes. */
  readonly bytes: () => Uint8Array;
  /** Content type of the trigger, if it had one. */
  readonly contentType: string | undefined;
}

/** The part of a Standard Schema (zod, valibot, arktype and others) that the SDK uses. */
export interface PayloadSchema<Payload> {
  readonly '~standard': {
    readonly validate: (value: unknown) => SchemaResult<Payload> | Promise<SchemaResult<Payload>>;
  };
}

/** Result of validating a payload. */
export type SchemaResult<Payload> =
  | { readonly value: Payload; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

const BEYOND_ASCII = /[\x80-\xff]/;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** Decodes a header value. Each of its characters is one byte, and bytes beyond ASCII are usually UTF-8. */
function headerText(value: string): string {
  if (!BEYOND_ASCII.test(value)) return value;
  try {
    return strictUtf8.decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  } catch {
    return value;
  }
}

/** Returns the forwarded headers, by lowercase name. */
export function headersOf(input: RunInput): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(input.headers).map(([name, value]) => [name, headerText(value)]));
}

/** The default content type of `curl -d`, regardless of the body. */
const FORM_TYPE = /^application\/x-www-form-urlencoded\b/i;

/**
 * Returns parsed JSON if the content type is JSON or missing, otherwise text, otherwise bytes. Returns undefined for
 * an empty body.
 */
function defaultPayload({ text, bytes, contentType: declaredType }: RawPayload): unknown {
  const contentType = declaredType !== undefined && FORM_TYPE.test(declaredType) ? undefined : declaredType;
  if (text === undefined) return bytes();
  if (text === '') return undefined;
  if (contentType !== undefined && !isJsonType(contentType)) return text;
  try {
    return parseReceivedJson(text);
  } catch (error) {
    if (contentType === undefined) return text;
    throw new PayloadError(`the payload has content type ${contentType} but is not valid JSON: ${jsonProblem(error)}`);
  }
}

/** How the payload of a run is read. */
export interface PayloadOptions<Payload> {
  /** Reads the raw body into the payload, instead of the default JSON parsing. */
  readonly parsePayload?: (raw: RawPayload) => Payload | Promise<Payload>;
  /** Validates the parsed payload with any Standard Schema. An invalid payload fails the run without retries. */
  readonly schema?: PayloadSchema<Payload>;
}

function formatIssues(issues: readonly SchemaIssue[]): string {
  return issues
    .slice(0, 5)
    .map(({ path, message }) => {
      const location = path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
      return location ? `${location}: ${message}` : message;
    })
    .join('; ');
}

function requireValid<Payload>(result: SchemaResult<Payload>): Payload {
  if (result.issues)
    throw new PayloadError(`the payload does not match the schema of this workflow: ${formatIssues(result.issues)}`);
  return result.value;
}

/**
 * Calls `next` with the payload. Stays synchronous if nothing must be awaited.
 *
 * @throws {PayloadError} If the payload is invalid.
 */
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
    return result instanceof Promise
      ? result.then((awaitedResult) => next(requireValid(awaitedResult)))
      : next(requireValid(result));
  }
  if (options.parsePayload) {
    const parsed = options.parsePayload(raw);
    return parsed instanceof Promise ? parsed.then(next) : next(parsed);
  }
  // Without a schema, the type is what the author of the workflow declares.
  return next(defaultPayload(raw) as Payload);
}
