/** Serves the dashboard: its pages, scripts, styles and other files. */
import Type from 'typebox';
import { Empty } from '../../contract/empty.js';
import { ApiError } from '../../contract/error-codes.js';
import { type Operation, openOperation } from '../operation.js';
import { quoteValue } from '../parameters/value-errors.js';
import { Text } from '../parameters/values.js';
import { PAGES_PATH } from '../server/target.js';
import { fileResponse, notBuiltResponse } from './file-response.js';
import type { DashboardFiles } from './static-files.js';

export { type DashboardFiles, readDashboard } from './static-files.js';

const MAX_NAME_LENGTH = 200;
const RESPONSES = { 200: Type.Unknown(), 304: Empty, 404: Type.Unknown() };
const COMMON_FIELDS = {
  tag: 'Dashboard',
  method: 'GET',
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  responses: RESPONSES,
  errors: [],
} as const;

/** Returns the operations of the dashboard. `files` is null if the dashboard was not built, which every page then says. */
export function dashboardOperations(files: DashboardFiles | null): readonly Operation[] {
  const page = (operationId: string, path: string, options: { readonly unknownQuery?: 'part-of-path' } = {}): Operation =>
    openOperation({
      ...COMMON_FIELDS,
      operationId,
      summary: 'Get a page of the dashboard',
      path,
      ...options,
      ...(path.includes('{') ? { pathParameters: Type.Object({ page: Type.String() }) } : {}),
      // The script of the page selects the content by the path.
      handle: ({ request }) => (files ? fileResponse(files.index, 'revalidate', request) : notBuiltResponse()),
    });
  const asset = openOperation({
    ...COMMON_FIELDS,
    operationId: 'getDashboardAsset',
    summary: 'Get a script, style, font or image of the dashboard',
    path: '/assets/{file}',
    pathParameters: Type.Object({ file: Text(MAX_NAME_LENGTH, { description: 'Name of the file.' }) }),
    handle({ path, request }) {
      const file = files?.assets.get(path.file);
      // A page from before an upgrade can request files that no longer exist.
      if (!file) throw new ApiError('not-found', `the dashboard has no file ${quoteValue(path.file)}; reload the page`);
      return fileResponse(file, 'immutable', request);
    },
  });
  const fileOperations = [...(files?.otherFiles ?? [])].map(([name, file]) =>
    openOperation({
      ...COMMON_FIELDS,
      operationId: `getDashboardFile:${name}`,
      summary: 'Get a file of the dashboard',
      path: `/${name}`,
      handle: ({ request }) => fileResponse(file, 'revalidate', request),
    }),
  );
  return [
    page('getDashboard', '/'),
    page('getDashboardLogin', '/login'),
    page('getDashboardPage', `${PAGES_PATH}{page}`, { unknownQuery: 'part-of-path' }),
    asset,
    ...fileOperations,
  ];
}
