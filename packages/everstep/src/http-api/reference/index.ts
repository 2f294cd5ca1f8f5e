/** The API reference at `/docs`: one page for each OpenAPI document of this server. It is public, like the documents. */
import Type from 'typebox';
import { Empty } from '../../contract/empty.js';
import { fileResponse } from '../dashboard/file-response.js';
import { StaticFile } from '../dashboard/static-files.js';
import { type ApiContext, type Operation, openOperation } from '../operation.js';
import type { RawBody } from '../requests/raw-body.js';
import type { OpenApiDocument } from './document.js';
import { type ReferenceLink, referencePage } from './page.js';
import { STYLES } from './styles.js';

export interface Reference extends ReferenceLink {
  readonly operationId: string;
  /** Path of the OpenAPI document. */
  readonly documentPath: string;
  readonly documentOf: (context: ApiContext) => RawBody;
}

export const RUNTIME_REFERENCE: Reference = {
  operationId: 'getApiReference',
  label: 'Runtime API',
  path: '/docs',
  documentPath: '/openapi.json',
  documentOf: ({ openApi }) => openApi(),
};

export const MANAGEMENT_REFERENCE: Reference = {
  operationId: 'getManagementApiReference',
  label: 'Management API',
  path: '/docs/management',
  documentPath: '/openapi-management.json',
  documentOf: ({ managementOpenApi }) => managementOpenApi(),
};

const STYLES_PATH = '/docs/reference.css';
const COMMON_FIELDS = {
  tag: 'Service',
  method: 'GET',
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  responses: { 200: Type.Unknown({ description: 'A file' }), 304: Empty },
  errors: [],
} as const;

/** Returns the operation that serves a page. The page is rendered when it is first requested. */
function pageOperation(reference: Reference, links: readonly ReferenceLink[]): Operation {
  const { operationId, path, label, documentPath, documentOf } = reference;
  const renderedPages = new WeakMap<RawBody, StaticFile>();
  return openOperation({
    ...COMMON_FIELDS,
    operationId,
    summary: `API reference: ${label}`,
    path,
    handle(input, context) {
      const body = documentOf(context);
      let file = renderedPages.get(body);
      if (!file) {
        // The server generated this document.
        const document = JSON.parse(String(body.content)) as OpenApiDocument;
        file = new StaticFile(
          'reference.html',
          Buffer.from(referencePage({ document, documentPath, stylesPath: STYLES_PATH, links, path })),
        );
        renderedPages.set(body, file);
      }
      return fileResponse(file, 'revalidate', input.request);
    },
  });
}

export function referenceOperations(references: readonly Reference[]): readonly Operation[] {
  const styles = new StaticFile('reference.css', Buffer.from(STYLES));
  return [
    ...references.map((reference) => pageOperation(reference, references)),
    openOperation({
      ...COMMON_FIELDS,
      operationId: 'getApiReferenceStyles',
      summary: 'Style sheet of the API reference',
      path: STYLES_PATH,
      handle: (input) => fileResponse(styles, 'revalidate', input.request),
    }),
  ];
}
