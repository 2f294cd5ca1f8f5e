/** The OpenAPI 3.1 document of the operations of this dialect. */
import Type, { type TSchema } from 'typebox';
import { ErrorBody } from '../../../contract/errors.js';
import { QueueRecord, QueueStats } from '../../../contract/management.js';
import { documentOnce } from '../../../http-api/api-document.js';
import { openApiOf } from '../../../http-api/openapi-document.js';
import { answer, type Operation, openOperation } from '../../../http-api/operation.js';
import type { Reference } from '../../../http-api/reference/index.js';
import { upstash } from '../index.js';
import { MESSAGE_FAMILIES, MessageHeaders } from './message-headers.js';
import {
  DlqMessage,
  FlowControlShown,
  LogEntry,
  MessageEntry,
  Published,
  QueueEntry,
  ScheduleShown,
  UrlGroupEntry,
} from './shapes.js';

/** They read their headers themselves, because what they publish is of several kinds; a message takes these. */
const READS_ITSELF: ReadonlySet<string> = new Set(['publish', 'enqueueMessage']);
const withHeaders = (operation: Operation): Operation =>
  READS_ITSELF.has(operation.operationId)
    ? { ...operation, headers: MessageHeaders, headerFamilies: MESSAGE_FAMILIES }
    : operation;

/** Schemas that are shown under a name. */
const NAMED: Readonly<Record<string, TSchema>> = {
  Error: ErrorBody,
  DlqMessage,
  FlowControlKey: FlowControlShown,
  LogEntry,
  Message: MessageEntry,
  Published,
  Queue: QueueEntry,
  Schedule: ScheduleShown,
  UrlGroup: UrlGroupEntry,
  QStashUser: QueueRecord,
  QStashStats: QueueStats,
};

/** The operation that answers with the document `of` a version of the service, and the reference made of it. */
export function describedBy(of: (serviceVersion: string) => object): {
  readonly operation: Operation;
  readonly reference: Reference;
} {
  const document = documentOnce(of);
  const operation = openOperation({
    operationId: 'getUpstashOpenApi',
    tag: 'Service',
    summary: 'This document',
    method: 'GET',
    path: '/openapi-upstash.json',
    unknownQuery: 'ignore',
    whileStopping: 'answer',
    responses: { 200: Type.Unknown({ description: 'OpenAPI 3.1' }) },
    errors: [],
    handle: (_input, { version }) => answer(200, document(version)),
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

/** `serviceVersion` is named beside the version of the API. */
export function openApiDocumentOf(operations: readonly Operation[], serviceVersion: string): object {
  return openApiOf({
    info: {
      title: 'Everstep API for the published SDKs',
      version: '2.0.0',
      description: `What is there for @upstash/qstash and @upstash/workflow alone, or is answered otherwise for them. All other operations are those of /openapi.json, with headers that begin with ${upstash.prefix}. Served by Everstep ${serviceVersion}.`,
    },
    servers: [{ url: '/', description: 'This service.' }],
    security: [{ token: [] }, { tokenInQuery: [] }],
    securityOf: ({ access }) => (access === 'account' ? [{ basic: [] }] : null),
    securitySchemes: {
      token: { type: 'http', scheme: 'bearer', description: 'A token of the queue instance, as it is or as QSTASH_TOKEN.' },
      tokenInQuery: { type: 'apiKey', in: 'query', name: upstash.tokenParameter },
      basic: { type: 'http', scheme: 'basic', description: 'The user name is the e-mail, the password an API key.' },
    },
    operations: operations.map(withHeaders),
    dialect: upstash,
    named: NAMED,
  });
}
