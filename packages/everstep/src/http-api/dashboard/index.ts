/** The dashboard: its pages at `/`, `/login` and below `/q/`, and the files that they need. All of it is for everybody. */
import Type from 'typebox';
import { Empty } from '../../contract/empty.js';
import { ApiError } from '../../contract/error-codes.js';
import { type Operation, openOperation } from '../operation.js';
import { shown } from '../parameters/unacceptable.js';
import { Text } from '../parameters/values.js';
import { PAGES_PATH } from '../target.js';
import { answerFile, answerNotBuilt } from './file-answer.js';
import type { DashboardFiles } from './static-files.js';

export { type DashboardFiles, readDashboard } from './static-files.js';

const MAX_NAME_LENGTH = 200;
const RESPONSES = { 200: Type.Unknown(), 304: Empty, 404: Type.Unknown() };
const ABOUT = {
  tag: 'Dashboard',
  method: 'GET',
  unknownQuery: 'ignore',
  whileStopping: 'answer',
  responses: RESPONSES,
  errors: [],
} as const;

/** Null: they were not built, and every page says so. */
export function dashboardOperations(files: DashboardFiles | null): readonly Operation[] {
  const page = (operationId: string, path: string, more: { readonly unknownQuery?: 'part-of-path' } = {}): Operation =>
    openOperation({
      ...ABOUT,
      operationId,
      summary: 'A page of the dashboard',
      path,
      ...more,
      ...(path.includes('{') ? { pathParameters: Type.Object({ page: Type.String() }) } : {}),
      // Which page it is the script of the page finds out.
      handle: ({ request }) => (files ? answerFile(files.index, 'no-longer', request) : answerNotBuilt()),
    });
  const asset = openOperation({
    ...ABOUT,
    operationId: 'getDashboardAsset',
    summary: 'A script, style, font or picture of the dashboard',
    path: '/assets/{file}',
    pathParameters: Type.Object({ file: Text(MAX_NAME_LENGTH, { description: 'Its name' }) }),
    handle({ path, request }) {
      const file = files?.assets.get(path.file);
      // A page that is older than the service asks for what it no longer has.
      if (!file) throw new ApiError('not-found', `the dashboard has no file ${shown(path.file)}; load the page again`);
      return answerFile(file, 'for-ever', request);
    },
  });
  const beside = [...(files?.beside ?? [])].map(([name, file]) =>
    openOperation({
      ...ABOUT,
      operationId: `getDashboardFile:${name}`,
      summary: 'A file of the dashboard',
      path: `/${name}`,
      handle: ({ request }) => answerFile(file, 'no-longer', request),
    }),
  );
  return [
    page('getDashboard', '/'),
    page('getDashboardLogin', '/login'),
    page('getDashboardPage', `${PAGES_PATH}{page}`, { unknownQuery: 'part-of-path' }),
    asset,
    ...beside,
  ];
}
