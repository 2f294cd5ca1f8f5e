/** The OpenAPI 3.1 document for the operations of this dialect. */
import Type, { type TSchema } from 'typebox';
import { ErrorBody } from '../../contract/errors.js';
import { InstanceRecord, QueueStats } from '../../contract/management.js';
import { upstash } from '../../dialects/upstash/index.js';
import { cacheDocument } from '../openapi/api-document.js';
import { openApiOf } from '../openapi/openapi-document.js';
import { type Operation, openOperation, respond } from '../operation.js';
import type { Reference } from '../reference/index.js';
import { MESSAGE_FAMILIES, MessageHeaders } from './messages/message-headers.js';
import {
  DlqMessage,
  FlowControlEntry,
  LogEntry,
  MessageEntry,
  Published,
  QueueEntry,
  ScheduleEntry,
  UrlGroupEntry,
} from './shapes.js';

/**
 * Operations that parse their headers themselves, because they publish several kinds of items. The document shows the
 * headers that messages accept.
 */
const HEADER_PARSING_OPERATIONS: ReadonlySet<string> = new Set(['publish', 'enqueueMessage']);
const addHeaders = (operation: Operation): Operation =>
  HEADER_PARSING_OPERATIONS.has(operation.operationId)
    ? { ...operation, headers: MessageHeaders, headerFamilies: MESSAGE_FAMILIES }
    : operation;

/** Schemas with a name in the document. */
const NAMED_SCHEMAS: Readonly<Record<string, TSchema>> = {
  Error: ErrorBody,
  DlqMessage,
  FlowControlKey: FlowControlEntry,
  LogEntry,
  Message: MessageEntry,
  Published,
  Queue: QueueEntry,
  Schedule: ScheduleEntry,
  UrlGroup: UrlGroupEntry,
  QStashUser: InstanceRecord,
  QStashStats: QueueStats,
};

/**
 * Creates the operation that returns the document, and its API reference. `createDocument` creates the document for a version
 * of the server.
 */
export function documentOperationsOf(createDocument: (serviceVersion: string) => object): {
  readonly operation: Operation;
  readonly reference: Reference;
} {
  const document = cacheDocument(createDocument);
  const operation = openOperation({
    operationId: 'getUpstashOpenApi',
    tag: 'Service',
    summary: 'This document',
    description: 'Returns the OpenAPI document of this API. No credential is required.',
    method: 'GET',
    path: '/openapi-upstash.json',
    unknownQuery: 'ignore',
    whileStopping: 'respond',
    responses: { 200: Type.Unknown({ description: 'OpenAPI 3.1' }) },
    errors: [],
    handle: (_input, { version }) => respond(200, document(version)),
  });
  const reference: Reference = {
    operationId: 'getUpstashApiReference',
    label: 'API of the published SDKs',
    path: '/docs/upstash',
    documentPath: operation.path,
    documentOf: ({ version }) => document(version),
  };
  return { operation, reference };
}

/** Builds the OpenAPI document of these operations. `serviceVersion` is shown next to the version of the API. */
export function openApiDocumentOf(operations: readonly Operation[], serviceVersion: string): object {
  return openApiOf({
    info: {
      title: 'Everstep API for the published SDKs',
      version: '2.0.0',
      description: `Operations that exist only for @upstash/qstash and @upstash/workflow, or whose responses differ for them. For all other operations see /openapi.json; their headers start with ${upstash.prefix}. Served by Everstep ${serviceVersion}.`,
    },
    servers: [{ url: '/', description: 'This server.' }],
    security: [{ token: [] }, { tokenInQuery: [] }],
    securityOf: ({ access }) => (access === 'account' ? [{ basic: [] }] : null),
    securitySchemes: {
      token: {
        type: 'http',
        scheme: 'bearer',
        description: 'A token of the queue instance, plain or in the QSTASH_TOKEN format.',
      },
      tokenInQuery: { type: 'apiKey', in: 'query', name: upstash.tokenParameter },
      basic: { type: 'http', scheme: 'basic', description: 'The user name is the email address; the password is an API key.' },
    },
    operations: operations.map(addHeaders),
    dialect: upstash,
    named: NAMED_SCHEMAS,
  });
}
