/** The OpenAPI 3.1 document, made of the same declarations that the routes are made of. */
import type { TObject, TSchema } from 'typebox';
import Type from 'typebox';
import { DEFAULT_REGION, REGIONS } from '../config/regions.js';
import { DeadLetterEntry, DeadLetterPage, DeletedDeadLetters, RecoveredRuns } from '../contract/dead-letters.js';
import { ERROR_CODES, type ErrorCode } from '../contract/error-codes.js';
import { ErrorBody } from '../contract/errors.js';
import { NotifiedWaiter, Waiter } from '../contract/events.js';
import { ExplanationSchema, Reason } from '../contract/explanation.js';
import {
  AttemptError,
  LoggedStep,
  RunJournal,
  RunLogEntry,
  RunLogPage,
  RunReferenceSchema,
  RunResult,
  RunUnderWay,
  StepGroup,
  TriggeredRun,
} from '../contract/runs.js';
import { ScheduleEntry } from '../contract/schedules.js';
import {
  DestinationEntry,
  FlowControlEntry,
  FlowControls,
  InstanceSettingsSchema,
  SigningKeysSchema,
} from '../contract/service.js';
import { DEFAULT_DIALECT } from '../dialects/index.js';
import type { Operation } from './operation.js';
import { OPERATIONS } from './operations/index.js';
import { pathsOf } from './routing.js';

/** Schemas that are shown under a name. */
const NAMED: Readonly<Record<string, TSchema>> = {
  Error: ErrorBody,
  AttemptError,
  DeadLetterEntry,
  DeadLetterPage,
  DeletedDeadLetters,
  Destination: DestinationEntry,
  Explanation: ExplanationSchema,
  FlowControl: FlowControlEntry,
  FlowControls,
  LoggedStep,
  NotifiedWaiter,
  Reason,
  RecoveredRuns,
  RunJournal,
  RunLogEntry,
  RunLogPage,
  RunReference: RunReferenceSchema,
  RunResult,
  RunUnderWay,
  Schedule: ScheduleEntry,
  Settings: InstanceSettingsSchema,
  SigningKeys: SigningKeysSchema,
  StepGroup,
  TriggeredRun,
  Waiter,
};
const NAMES = new Map<unknown, string>(Object.entries(NAMED).map(([name, schema]) => [schema, name]));

/** Errors that any operation may give, and those of operations that want a token. */
const COMMON_ERRORS: readonly ErrorCode[] = ['bad-request', 'url-too-long', 'headers-too-large', 'internal-error', 'unavailable'];
/** A body is read before the operation looks at it, even where it wants none. */
const BODY_ERRORS: readonly ErrorCode[] = ['request-timeout', 'body-too-large', 'unsupported-media-type'];
const TOKEN_ERRORS: readonly ErrorCode[] = ['unknown-region', 'missing-token', 'bad-token'];

/** A copy with every named schema in it replaced by a reference; `top` itself is shown in full. */
function shownSchema(schema: unknown, top = false): unknown {
  const name = top ? undefined : NAMES.get(schema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  if (Array.isArray(schema)) return schema.map((each) => shownSchema(each));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, shownSchema(value)]));
}

function parametersOf(where: 'path' | 'query', schema: TObject | undefined) {
  if (!schema) return [];
  const required = new Set<string>(schema.required ?? []);
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    in: where,
    required: where === 'path' || required.has(name),
    ...describe(property),
    ...(where === 'query' && Type.IsArray(property) ? { style: 'form', explode: true } : {}),
    schema: shownSchema(property),
  }));
}

function describe(schema: TSchema): { description?: string } {
  const description: unknown = Reflect.get(schema, 'description');
  return typeof description === 'string' ? { description } : {};
}

function headersOf(operation: Operation) {
  const required = new Set<string>(operation.headers?.required ?? []);
  const own = Object.entries(operation.headers?.properties ?? {}).map(([name, property]) => ({
    name: DEFAULT_DIALECT.spell(name),
    in: 'header',
    required: required.has(name),
    ...describe(property),
    schema: shownSchema(property),
  }));
  // OpenAPI has no way to describe a family of headers; an example stands for it.
  const families = Object.entries(operation.headerFamilies ?? {}).map(([name, description]) => ({
    name: `${DEFAULT_DIALECT.spell(name)}*`,
    in: 'header',
    required: false,
    description: `Any header whose name begins so. ${description}`,
    schema: { type: 'string' },
  }));
  return [...own, ...families];
}

function bodyOf({ body }: Operation) {
  if (!body) return {};
  const content =
    body.kind === 'json'
      ? { 'application/json': { schema: shownSchema(body.schema) } }
      : { '*/*': { schema: { description: body.description } } };
  return { requestBody: { required: body.kind === 'json' && body.required, content } };
}

function errorsOf(operation: Operation): readonly ErrorCode[] {
  const token = operation.access === 'token' ? TOKEN_ERRORS : [];
  const reads = operation.method === 'GET';
  const writing: readonly ErrorCode[] =
    operation.access === 'token' && (!reads || operation.needsReadWrite) ? ['read-only-token'] : [];
  const body = reads ? [] : BODY_ERRORS;
  return [...new Set<ErrorCode>([...operation.errors, ...token, ...writing, ...body, ...COMMON_ERRORS])];
}

function responsesOf(operation: Operation) {
  const responses: Record<string, unknown> = {};
  for (const [status, schema] of Object.entries(operation.responses)) {
    const description = describe(schema).description ?? (status === '202' ? 'Not done yet.' : 'Done.');
    responses[status] = { description, content: { 'application/json': { schema: shownSchema(schema) } } };
  }
  const errors = errorsOf(operation);
  const statuses = [...new Set(errors.map((code) => ERROR_CODES[code].status))].sort((a, b) => a - b);
  for (const status of statuses) {
    const codes = errors.filter((code) => ERROR_CODES[code].status === status);
    responses[String(status)] = {
      description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code].about}`).join('\n'),
      headers: { [DEFAULT_DIALECT.spell('Error-Code')]: { description: 'The stable code.', schema: { enum: codes } } },
      content: { 'application/json': { schema: shownSchema(ErrorBody) } },
    };
  }
  return responses;
}

function operationObject(operation: Operation, path: string) {
  const alternative = pathsOf(operation).indexOf(path);
  return {
    operationId: alternative === 0 ? operation.operationId : `${operation.operationId}AtPath${alternative + 1}`,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    ...(operation.access === 'open' ? { security: [] } : {}),
    parameters: [
      ...parametersOf('path', operation.pathParameters),
      ...parametersOf('query', operation.query),
      ...headersOf(operation),
    ],
    ...bodyOf(operation),
    responses: responsesOf(operation),
  };
}

/** `serviceVersion` is named beside the version of the API. */
export function openApiDocument(serviceVersion: string): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of OPERATIONS) {
    for (const path of pathsOf(operation)) {
      const item = paths[path] ?? {};
      item[operation.method.toLowerCase()] = operationObject(operation, path);
      paths[path] = item;
    }
  }
  const region = { enum: [...REGIONS], default: DEFAULT_REGION };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Everstep runtime API',
      version: '2.0.0',
      description: `Workflow runs, their logs, the dead letter queue, schedules, events and flow control. Served by Everstep ${serviceVersion}.`,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      { url: '/', description: 'This service, in the default region.' },
      { url: 'https://{region}.{host}', variables: { region, host: { default: 'localhost' } } },
    ],
    security: [{ token: [] }, { tokenInQuery: [] }],
    tags: [...new Set(OPERATIONS.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        tokenInQuery: { type: 'apiKey', in: 'query', name: DEFAULT_DIALECT.tokenParameter },
      },
      schemas: Object.fromEntries(Object.entries(NAMED).map(([name, schema]) => [name, shownSchema(schema, true)])),
    },
  };
}
