/** Builds an OpenAPI 3.1 document from the same declarations as the routes. */
import type { TObject, TSchema } from 'typebox';
import Type from 'typebox';
import { NDJSON_TYPE } from '../../audit/exported-entry.js';
import { ERROR_CODES, type ErrorCode } from '../../contract/error-codes.js';
import { ErrorBody } from '../../contract/errors.js';
import { DEFAULT_DIALECT, type Dialect } from '../../dialects/index.js';
import type { Operation } from '../operation.js';
import { ERROR_CODE_HEADER } from '../responses/error-replies.js';
import { pathsOf } from '../server/routing.js';
import { SESSION_COOKIE } from '../sessions/cookie.js';
import { tagObject } from './openapi-tags.js';

/** Error codes that every operation can return. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  'bad-request',
  'url-too-long',
  'headers-too-large',
  'internal-error',
  'store-unavailable',
  'unavailable',
];
export const EVENT_STREAM = 'text/event-stream';
/** Error codes of all operations except GET: their bodies are read even if they need none. */
const BODY_ERRORS: readonly ErrorCode[] = ['request-timeout', 'body-too-large', 'unsupported-media-type'];
/** Errors of requests that are not admitted, by kind of access. */
const ADMISSION_ERRORS: Readonly<Record<Operation['access'], readonly ErrorCode[]>> = {
  open: [],
  token: [
    'unknown-region',
    'bad-header',
    'missing-token',
    'bad-token',
    'missing-scope',
    'session-ended',
    'not-found',
    'rate-limited',
  ],
  account: ['missing-token', 'bad-credential', 'session-ended', 'rate-limited'],
  session: ['session-ended'],
  index: ['bad-parameter', 'missing-token', 'bad-token', 'bad-credential', 'session-ended', 'not-found', 'rate-limited'],
};

/** Security scheme of sessions. Login is described at `POST /v2/session`. */
export const SESSION_SECURITY = {
  type: 'apiKey',
  in: 'cookie',
  name: SESSION_COOKIE,
  description:
    'Session of a user, created with `POST /v2/session`. Over HTTPS the cookie is named `__Host-everstep_session`. For operations that accept a token of a queue instance, the header `x-everstep-queue` (or the query parameter `everstep-queue` for event streams) contains the id of the instance. Requests other than GET and HEAD require the header `x-everstep-csrf`.',
} as const;

/**
 * Returns a copy of a schema in which named schemas are replaced by references. With `isTop`, the schema itself is not replaced.
 */
type SchemaConverter = (schema: unknown, isTop?: boolean) => unknown;

/** Context that the parts of a document share. */
interface DocumentContext {
  readonly convert: SchemaConverter;
  readonly dialect: Dialect;
  readonly securityOf: DocumentParts['securityOf'];
}

function schemaConverter(namedSchemas: Readonly<Record<string, TSchema>>): SchemaConverter {
  const nameBySchema = new Map<unknown, string>(Object.entries(namedSchemas).map(([name, schema]) => [schema, name]));
  const convert: SchemaConverter = (schema, isTop = false) => {
    const name = isTop ? undefined : nameBySchema.get(schema);
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
    if (Array.isArray(schema)) return schema.map((element) => convert(element));
    if (typeof schema !== 'object' || schema === null) return schema;
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, convert(value)]));
  };
  return convert;
}

function parametersOf(convert: SchemaConverter, location: 'path' | 'query', schema: TObject | undefined) {
  if (!schema) return [];
  const requiredNames = new Set<string>(schema.required ?? []);
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    in: location,
    required: location === 'path' || requiredNames.has(name),
    ...descriptionOf(property),
    ...(location === 'query' && Type.IsArray(property) ? { style: 'form', explode: true } : {}),
    schema: convert(property),
  }));
}

function descriptionOf(schema: TSchema): { description?: string } {
  const description: unknown = Reflect.get(schema, 'description');
  return typeof description === 'string' ? { description } : {};
}

function headersOf({ convert, dialect }: DocumentContext, operation: Operation) {
  const requiredNames = new Set<string>(operation.headers?.required ?? []);
  const headers = Object.entries(operation.headers?.properties ?? {}).map(([name, property]) => ({
    name: dialect.spell(name),
    in: 'header',
    required: requiredNames.has(name),
    ...descriptionOf(property),
    schema: convert(property),
  }));
  // OpenAPI cannot describe a family of headers, so a placeholder represents it.
  const families = Object.entries(operation.headerFamilies ?? {}).map(([name, description]) => ({
    name: `${dialect.spell(name)}*`,
    in: 'header',
    required: false,
    description: `Any header with this prefix. ${description}`,
    schema: { type: 'string' },
  }));
  return [...headers, ...families];
}

function bodyOf(convert: SchemaConverter, { body }: Operation) {
  if (!body) return {};
  const content =
    body.kind === 'json'
      ? { 'application/json': { schema: convert(body.schema) } }
      : { '*/*': { schema: { description: body.description } } };
  return { requestBody: { required: body.kind === 'json' && body.required, content } };
}

/** Returns all error codes that an operation declares: its own, and those of admission and of reading the request. */
export function errorsOf(operation: Operation): readonly ErrorCode[] {
  const isRead = operation.method === 'GET';
  const permissionErrors: readonly ErrorCode[] =
    (operation.access === 'token' && (!isRead || operation.needsReadWrite)) || operation.requiredAccess === 'read-write'
      ? ['read-only-token', 'forbidden']
      : [];
  const csrfErrors: readonly ErrorCode[] = isRead || operation.access === 'open' ? [] : ['csrf-refused'];
  const bodyErrors = isRead ? [] : BODY_ERRORS;
  return [
    ...new Set<ErrorCode>([
      ...operation.errors,
      ...ADMISSION_ERRORS[operation.access],
      ...permissionErrors,
      ...csrfErrors,
      ...bodyErrors,
      ...COMMON_ERRORS,
    ]),
  ];
}

function responsesOf({ convert, dialect }: DocumentContext, operation: Operation) {
  const responses: Record<string, unknown> = {};
  for (const [status, schema] of Object.entries(operation.responses)) {
    const description =
      descriptionOf(schema).description ??
      (status === '202' ? 'The operation has not finished yet.' : 'The operation succeeded.');
    const type = operation.streams ? EVENT_STREAM : operation.sendsLines ? NDJSON_TYPE : 'application/json';
    const content = Type.IsUndefined(schema) ? {} : { content: { [type]: { schema: convert(schema) } } };
    responses[status] = { description, ...content };
  }
  const errors = errorsOf(operation);
  const unavailableHeaders = Object.fromEntries(
    Object.entries(operation.unavailableHeaders ?? {}).map(([name, header]) => [dialect.spell(name), header]),
  );
  const statuses = [...new Set(errors.map((code) => ERROR_CODES[code].status))].sort((a, b) => a - b);
  for (const status of statuses) {
    const codes = errors.filter((code) => ERROR_CODES[code].status === status);
    responses[String(status)] = {
      description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code].about}`).join('\n'),
      headers: {
        [dialect.spell(ERROR_CODE_HEADER)]: { description: 'Stable error code.', schema: { enum: codes } },
        ...(status === 503 ? unavailableHeaders : {}),
      },
      content: { 'application/json': { schema: convert(ErrorBody) } },
    };
  }
  return responses;
}

function operationObject(context: DocumentContext, operation: Operation, path: string) {
  const { convert } = context;
  const security = operation.access === 'open' ? [] : context.securityOf?.(operation);
  const pathIndex = pathsOf(operation).indexOf(path);
  return {
    operationId: pathIndex === 0 ? operation.operationId : `${operation.operationId}AtPath${pathIndex + 1}`,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    ...(security ? { security } : {}),
    parameters: [
      // An alternative path of an operation may lack some of the parameters.
      ...parametersOf(convert, 'path', operation.pathParameters).filter(({ name }) => path.includes(`{${name}}`)),
      ...parametersOf(convert, 'query', operation.query),
      ...headersOf(context, operation),
    ],
    ...bodyOf(convert, operation),
    responses: responsesOf(context, operation),
  };
}

export interface DocumentParts {
  readonly info: object;
  readonly servers: readonly object[];
  readonly security: readonly object[];
  /** Returns the security of an operation if it differs from `security`, else null. */
  readonly securityOf?: (operation: Operation) => readonly object[] | null;
  readonly securitySchemes: object;
  readonly operations: readonly Operation[];
  /** Dialect whose headers are shown. Default: the native dialect. */
  readonly dialect?: Dialect;
  /** Schemas that are shown under a name; each is used by an operation. */
  readonly named: Readonly<Record<string, TSchema>>;
}

export function openApiOf(parts: DocumentParts): object {
  const { info, servers, security, securitySchemes, operations, named } = parts;
  const convert = schemaConverter(named);
  const context: DocumentContext = { convert, dialect: parts.dialect ?? DEFAULT_DIALECT, securityOf: parts.securityOf };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    for (const path of pathsOf(operation)) {
      const pathItem = paths[path] ?? {};
      pathItem[operation.method.toLowerCase()] = operationObject(context, operation, path);
      paths[path] = pathItem;
    }
  }
  return {
    openapi: '3.1.0',
    info: { ...info, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers,
    security,
    tags: [...new Set(operations.map(({ tag }) => tag))].map(tagObject),
    paths,
    components: {
      securitySchemes,
      schemas: Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, convert(schema, true)])),
    },
  };
}
