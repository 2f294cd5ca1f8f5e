/** All operations of the search API and its OpenAPI 3.1 document. */
import Type from 'typebox';
import { ErrorBody } from '../../contract/errors.js';
import { DocumentBody, DocumentPage, IndexInfo, ScoredDocument, StoredDocument } from '../../contract/search.js';
import { cacheDocument } from '../openapi/api-document.js';
import { openApiOf } from '../openapi/openapi-document.js';
import { type Operation, openOperation, respond } from '../operation.js';
import { DOCUMENT_OPERATIONS } from './documents.js';

const searchDocument = cacheDocument((version) => searchOpenApiDocument(version));

const getSearchOpenApi = openOperation({
  operationId: 'getSearchOpenApi',
  tag: 'Service',
  summary: 'Get the OpenAPI document of the search API',
  description: 'Returns this document. Requires no token.',
  method: 'GET',
  path: '/openapi-search.json',
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  responses: { 200: Type.Unknown({ description: 'OpenAPI 3.1 document.' }) },
  errors: [],
  handle: (_input, { version }) => respond(200, searchDocument(version)),
});

export const SEARCH_OPERATIONS: readonly Operation[] = Object.freeze([...DOCUMENT_OPERATIONS, getSearchOpenApi]);

/** Returns the document. `serverVersion` is the version of Everstep that it mentions. */
export function searchOpenApiDocument(serverVersion: string): object {
  return openApiOf({
    info: {
      title: 'Everstep search API',
      version: '2.0.0',
      description: `Manages and searches the documents of a search index. Served by Everstep ${serverVersion}.`,
    },
    servers: [{ url: '/', description: 'This server.' }],
    security: [{ token: [] }],
    securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'Token of the search index.' } },
    operations: SEARCH_OPERATIONS,
    named: { Error: ErrorBody, Document: DocumentBody, DocumentPage, IndexInfo, ScoredDocument, StoredDocument },
  });
}
