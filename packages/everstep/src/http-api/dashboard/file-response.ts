/** Responses with files of the dashboard: security headers, caching and compression. */
import { type RequestContext, type ResponseHeaders, respond } from '../operation.js';
import { RawBody } from '../requests/raw-body.js';
import { encodingFor, headerText } from '../responses/encodings.js';
import type { StaticFile } from './static-files.js';

/** Allows only scripts, styles, fonts and requests from the server itself. Forbids inline code and frames. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

const PAGE_HEADERS: ResponseHeaders = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};
/** Lets clients cache a file forever, because the name of the file changes with its content. */
const IMMUTABLE = 'public, max-age=31536000, immutable';
const REVALIDATED = 'no-cache';

const isCachedByClient = (ifNoneMatch: string, tag: string): boolean =>
  ifNoneMatch.split(',').some((entityTag) => ['*', tag].includes(entityTag.trim().replace(/^W\//, '')));

/** Returns the response with a file. `immutable` is for files whose name depends on their content. */
export async function fileResponse(file: StaticFile, caching: 'immutable' | 'revalidate', { headers }: RequestContext) {
  const encoding = encodingFor(headerText(headers['accept-encoding']), file.encodings);
  // Each encoding has its own tag, as strong tags require.
  const tag = `"${file.tag}${encoding === null ? '' : `-${encoding}`}"`;
  const commonHeaders: ResponseHeaders = {
    ...PAGE_HEADERS,
    'cache-control': caching === 'immutable' ? IMMUTABLE : REVALIDATED,
    etag: tag,
    vary: 'accept-encoding',
  };
  if (isCachedByClient(headerText(headers['if-none-match']), tag)) return respond(304, undefined, commonHeaders);
  const bytes = encoding === null ? file.bytes : await file.encode(encoding);
  const encodingHeaders: ResponseHeaders = encoding === null ? {} : { 'content-encoding': encoding };
  return respond(200, new RawBody(file.contentType, bytes), { ...commonHeaders, ...encodingHeaders });
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<title>Everstep</title>
<h1>The dashboard is not built</h1>
<p>The server is running and serves its API. To build the dashboard, run
<code>npm run build --workspace @everstep/dashboard</code> in the repository, and restart the server;
<code>npm start</code> does both.</p>
<p>The API is described at <a href="/openapi.json">/openapi.json</a>.</p>
</html>
`;

export const notBuiltResponse = () =>
  respond(404, new RawBody('text/html; charset=utf-8', Buffer.from(NOT_BUILT)), {
    ...PAGE_HEADERS,
    'cache-control': 'no-store',
  });
