/** How a file of the dashboard is answered: what it may do in a browser, how long it may be kept, and how it is packed. */
import { type AnswerHeaders, answer, type RequestContext } from '../operation.js';
import { RawBody } from '../raw-body.js';
import { ENCODINGS, type Encoding, type StaticFile } from './static-files.js';

/** Scripts, styles, fonts and requests of the service alone; nothing inline, and in no frame. */
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

const PAGE_HEADERS: AnswerHeaders = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};
/** What is kept for ever has another name when it is another. */
const FOR_EVER = 'public, max-age=31536000, immutable';
const ASKED_FOR_EACH_TIME = 'no-cache';

const textOf = (header: RequestContext['headers'][string]): string =>
  typeof header === 'string' ? header : (header ?? []).join();

/** The first of ours that the client takes. */
function encodingFor(accepted: string, offered: readonly Encoding[]): Encoding | null {
  const weights = new Map(
    accepted.split(',').map((part) => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
      return [name, weight === undefined ? 1 : Number(weight)] as const;
    }),
  );
  const weightOf = (encoding: Encoding): number => weights.get(encoding) ?? weights.get('*') ?? 0;
  return ENCODINGS.find((encoding) => offered.includes(encoding) && weightOf(encoding) > 0) ?? null;
}

const isKnown = (ifNoneMatch: string, tag: string): boolean =>
  ifNoneMatch.split(',').some((each) => ['*', tag].includes(each.trim().replace(/^W\//, '')));

/** `for-ever` for files whose name tells what is in them. */
export async function answerFile(file: StaticFile, keep: 'for-ever' | 'no-longer', { headers }: RequestContext) {
  const encoding = encodingFor(textOf(headers['accept-encoding']), file.encodings);
  // Each form has a tag of its own, as a strong one has to.
  const tag = `"${file.tag}${encoding === null ? '' : `-${encoding}`}"`;
  const told: AnswerHeaders = {
    ...PAGE_HEADERS,
    'cache-control': keep === 'for-ever' ? FOR_EVER : ASKED_FOR_EACH_TIME,
    etag: tag,
    vary: 'accept-encoding',
  };
  if (isKnown(textOf(headers['if-none-match']), tag)) return answer(304, undefined, told);
  const bytes = encoding === null ? file.bytes : await file.encodedAs(encoding);
  const packed: AnswerHeaders = encoding === null ? {} : { 'content-encoding': encoding };
  return answer(200, new RawBody(file.contentType, bytes), { ...told, ...packed });
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<title>Everstep</title>
<h1>The dashboard was not built</h1>
<p>The service runs, and its API is served. To build the pages of the dashboard, run
<code>npm run build --workspace @everstep/dashboard</code> in the repository, and start the service again;
<code>npm start</code> does both.</p>
<p>The API is described at <a href="/openapi.json">/openapi.json</a>.</p>
</html>
`;

export const answerNotBuilt = () =>
  answer(404, new RawBody('text/html; charset=utf-8', Buffer.from(NOT_BUILT)), {
    ...PAGE_HEADERS,
    'cache-control': 'no-store',
  });
