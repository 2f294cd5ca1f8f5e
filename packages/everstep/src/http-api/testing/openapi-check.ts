/** Test aid that validates responses against the OpenAPI documents. Requires ajv, a development dependency. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import Type from 'typebox';
import { ERROR_CODES, type ErrorCode } from '../../contract/error-codes.js';
import { DIALECTS } from '../../dialects/index.js';
import { dashboardOperations } from '../dashboard/index.js';
import { MANAGEMENT_OPERATIONS } from '../management/index.js';
import { managementOpenApiDocument } from '../management/openapi.js';
import { openApiDocument } from '../openapi/openapi.js';
import { errorsOf } from '../openapi/openapi-document.js';
import type { Operation } from '../operation.js';
import { OPERATIONS } from '../operations/index.js';
import { ERROR_CODE_HEADER } from '../responses/error-replies.js';
import { SEARCH_OPERATIONS, searchOpenApiDocument } from '../search/index.js';
import { PathTable, selectOperation } from '../server/routing.js';
import { splitTarget } from '../server/target.js';
import { UPSTASH_MANAGEMENT_OPERATIONS, UPSTASH_OPERATIONS, upstashOpenApiDocument } from '../upstash/index.js';

const RUNTIME = 'everstep:/openapi.json';
const MANAGEMENT = 'everstep:/openapi-management.json';
const SEARCH = 'everstep:/openapi-search.json';
const UPSTASH = 'everstep:/openapi-upstash.json';
/**
 * The documents are not schemas, and the compiled schemas only refer to them, so there is no meta-schema to check against.
 */
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
addFormats.default(ajv);
/** Creates each document when the first of its responses is checked. */
const DOCUMENTS: Readonly<Record<string, () => object>> = {
  [RUNTIME]: () => openApiDocument('0.0.0'),
  [MANAGEMENT]: () => managementOpenApiDocument('0.0.0'),
  [SEARCH]: () => searchOpenApiDocument('0.0.0'),
  [UPSTASH]: () => upstashOpenApiDocument('0.0.0'),
};
const addedDocuments = new Set<string>();
const ALL_UPSTASH_OPERATIONS = [...UPSTASH_OPERATIONS, ...UPSTASH_MANAGEMENT_OPERATIONS];
/** Pages are for browsers and are not part of a document. */
const PAGES = dashboardOperations(null);
const paths = new PathTable([...OPERATIONS, ...SEARCH_OPERATIONS, ...MANAGEMENT_OPERATIONS, ...ALL_UPSTASH_OPERATIONS, ...PAGES]);
const validators = new Map<string, ValidateFunction>();

const pointer = (text: string): string => encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));

function documentOf(operation: Operation): string {
  if (ALL_UPSTASH_OPERATIONS.includes(operation)) return UPSTASH;
  if (MANAGEMENT_OPERATIONS.includes(operation)) return MANAGEMENT;
  return SEARCH_OPERATIONS.includes(operation) ? SEARCH : RUNTIME;
}

function validatorOf(path: string, operation: Operation, status: number): ValidateFunction | null {
  const steps = [
    'paths',
    path,
    operation.method.toLowerCase(),
    'responses',
    String(status),
    'content',
    'application/json',
    'schema',
  ];
  const document = documentOf(operation);
  if (!addedDocuments.has(document)) ajv.addSchema(DOCUMENTS[document]?.() ?? {}, document);
  addedDocuments.add(document);
  const reference = `${document}#/${steps.map(pointer).join('/')}`;
  const cachedValidator = validators.get(reference);
  if (cachedValidator) return cachedValidator;
  try {
    const validator = ajv.compile({ $ref: reference });
    validators.set(reference, validator);
    return validator;
  } catch {
    return null;
  }
}

export interface CheckedRequest {
  readonly method: string;
  /** URL of the request, with or without a query. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** Returns the operation that the server chooses for a request. */
function operationOf({ method, url, headers: receivedHeaders = {} }: CheckedRequest) {
  const headers = Object.fromEntries(Object.entries(receivedHeaders).map(([name, value]) => [name.toLowerCase(), String(value)]));
  const operationMethod = method.toUpperCase() === 'HEAD' ? 'GET' : method.toUpperCase();
  const { path, query } = splitTarget(url);
  const matchingOperations = paths.operationsAt(path).filter(({ operation }) => operation.method === operationMethod);
  const [first] = matchingOperations;
  if (!first) return null;
  const sameRoute = matchingOperations.filter(({ path: matchingPath }) => matchingPath === first.path);
  const { operation } = selectOperation(
    sameRoute.map((match) => match.operation),
    { headers, query },
  );
  return { path: first.path, operation };
}

export interface CheckedResponse {
  readonly status: number;
  /** Headers with names in lowercase. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Parsed body; undefined when there was none. */
  readonly body: unknown;
}

/** Error codes of responses to requests for which there is no operation. */
const NO_OPERATION_CODES: readonly unknown[] = ['unknown-route', 'method-not-allowed'] satisfies ErrorCode[];
const ERROR_CODE_HEADERS = Object.values(DIALECTS).map((dialect) => dialect.spell(ERROR_CODE_HEADER).toLowerCase());

/**
 * Throws when no document has the operation, or when its operation does not declare the status, the error code or the body of
 * the response.
 */
export function checkResponse(request: CheckedRequest, { status, headers, body }: CheckedResponse): void {
  const [errorCode] = ERROR_CODE_HEADERS.flatMap((name) => headers[name] ?? []);
  if (NO_OPERATION_CODES.includes(errorCode)) return;
  const match = operationOf(request);
  if (!match) throw new Error(`no OpenAPI document has an operation ${request.method} ${request.url}`);
  if (PAGES.includes(match.operation) || (match.operation.sendsLines && status === 200)) return;
  const { operationId, responses } = match.operation;
  const schema = responses[status];
  if (schema && Type.IsUndefined(schema)) {
    if (body === undefined) return;
    throw new Error(`the response ${status} of ${operationId} must not have a body: ${JSON.stringify(body)}`);
  }
  const validator = validatorOf(match.path, match.operation, status);
  if (!validator) throw new Error(`${operationId} does not declare the status ${status} in the OpenAPI document`);
  const declaredCodes: readonly unknown[] = schema
    ? [undefined]
    : errorsOf(match.operation).filter((code) => ERROR_CODES[code].status === status);
  if (!declaredCodes.includes(errorCode))
    throw new Error(`the response ${status} of ${operationId} has an error code that it does not declare: ${String(errorCode)}`);
  if (validator(body)) return;
  const problems = ajv.errorsText(validator.errors, { dataVar: 'body' });
  throw new Error(
    `the response ${status} of ${operationId} does not match the OpenAPI document: ${problems}\n${JSON.stringify(body)}`,
  );
}
