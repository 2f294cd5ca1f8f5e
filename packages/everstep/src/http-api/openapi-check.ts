/** A test aid: holds answers of both APIs against their OpenAPI documents. Needs ajv, which is installed for development only. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { MANAGEMENT_OPERATIONS } from './management/index.js';
import { managementOpenApiDocument } from './management/openapi.js';
import { openApiDocument } from './openapi.js';
import type { Operation } from './operation.js';
import { OPERATIONS } from './operations/index.js';
import { PathTable } from './routing.js';
import { SEARCH_OPERATIONS, searchOpenApiDocument } from './search/index.js';
import { splitTarget } from './target.js';

const RUNTIME = 'everstep:/openapi.json';
const MANAGEMENT = 'everstep:/openapi-management.json';
const SEARCH = 'everstep:/openapi-search.json';
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(openApiDocument('0.0.0'), RUNTIME);
ajv.addSchema(managementOpenApiDocument('0.0.0'), MANAGEMENT);
ajv.addSchema(searchOpenApiDocument('0.0.0'), SEARCH);
const paths = new PathTable([...OPERATIONS, ...SEARCH_OPERATIONS, ...MANAGEMENT_OPERATIONS]);
const validators = new Map<string, ValidateFunction>();

const pointer = (text: string): string => encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));

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
  const document = MANAGEMENT_OPERATIONS.includes(operation)
    ? MANAGEMENT
    : SEARCH_OPERATIONS.includes(operation)
      ? SEARCH
      : RUNTIME;
  const reference = `${document}#/${steps.map(pointer).join('/')}`;
  const known = validators.get(reference);
  if (known) return known;
  try {
    const validator = ajv.compile({ $ref: reference });
    validators.set(reference, validator);
    return validator;
  } catch {
    return null;
  }
}

/**
 * Throws when the document has no such operation, the operation has no such status, or the body is not as the document
 * says. `path` as it was requested, with a query or without; `body` parsed.
 */
export function checkResponse(method: string, path: string, status: number, body: unknown): void {
  const asked = method.toUpperCase() === 'HEAD' ? 'GET' : method.toUpperCase();
  const found = paths.at(splitTarget(path).path).find(({ operation }) => operation.method === asked);
  if (!found) throw new Error(`the OpenAPI document has no operation ${asked} ${path}`);
  const { operationId } = found.operation;
  const validator = validatorOf(found.path, found.operation, status);
  if (!validator) throw new Error(`${operationId} has no answer with the status ${status} in the OpenAPI document`);
  if (validator(body)) return;
  const problems = ajv.errorsText(validator.errors, { dataVar: 'body' });
  throw new Error(
    `the answer ${status} of ${operationId} is not as the OpenAPI document says: ${problems}\n${JSON.stringify(body)}`,
  );
}
