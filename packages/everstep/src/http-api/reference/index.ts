/** The API reference at `/docs`: one page for each OpenAPI document that this server has. Open to everyone, like the documents. */
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
const SHARED = {
  tag: 'Service',
  method: 'GET',
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  responses: { 200: Type.Unknown({ description: 'A file' }), 304: Empty },
  errors: [],
} as const;

/** Pages are rendered when they are first requested. */
function pageOperation(reference: Reference, links: readonly ReferenceLink[]): Operation {
  const { operationId, path, label, documentPath, documentOf } = reference;
  const rendered = new WeakMap<RawBody, StaticFile>();
  return openOperation({
    ...SHARED,
    operationId,
    summary: `API reference: ${label}`,
    path,
    handle(input, context) {
      const body = documentOf(context);
      let file = rendered.get(body);
      if (!file) {
        // Our own document.
        const document = JSON.parse(String(body.content)) as OpenApiDocument;
        file = new StaticFile(
          'reference.html',
          Buffer.from(referencePage({ document, documentPath, styles: STYLES_PATH, links, path })),
        );
        rendered.set(body, file);
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
      ...SHARED,
      operationId: 'getApiReferenceStyles',
      summary: 'Style sheet of the API reference',
      path: STYLES_PATH,
      handle: (input) => fileResponse(styles, 'revalidate', input.request),
    }),
  ];
}
