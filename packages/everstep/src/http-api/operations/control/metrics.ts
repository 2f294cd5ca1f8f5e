/** Metrics of the process, for the operator. They have a separate token, because they belong to no queue instance. */
import { createHash, timingSafeEqual } from 'node:crypto';
import Type from 'typebox';
import { ApiError } from '../../../contract/error-codes.js';
import { openOperation, respond } from '../../operation.js';
import { RawBody } from '../../requests/raw-body.js';
import { unknownRoute } from '../../responses/error-replies.js';

const PATH = '/metrics';
const BEARER = /^bearer +(\S+) *$/i;
const CHALLENGE = { 'www-authenticate': 'Bearer' } as const;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const headerText = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;

export const getMetrics = openOperation({
  operationId: 'getMetrics',
  tag: 'Service',
  summary: 'Get the metrics of the process',
  description:
    'Returns the metrics of this process in the Prometheus text format, or in the OpenMetrics format if the Accept header requests it. Requires the metrics token of the operator (`EVERSTEP_METRICS_TOKEN`), not the token of a queue instance. Without a metrics token, the path does not exist.',
  method: 'GET',
  path: PATH,
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  admit({ headers }, { metrics }) {
    if (!metrics) throw unknownRoute(PATH);
    const token = BEARER.exec(headerText(headers.authorization) ?? '')?.[1];
    if (token === undefined)
      throw new ApiError('missing-token', 'send "Authorization: Bearer <token>" with the metrics token', CHALLENGE);
    if (!timingSafeEqual(digest(token), digest(metrics.token)))
      throw new ApiError('bad-token', 'the token is not the metrics token of this installation', CHALLENGE);
  },
  responses: { 200: Type.Unknown({ description: 'Metrics in the Prometheus or OpenMetrics text format.' }) },
  errors: ['missing-token', 'bad-token'],
  async handle({ request }, { metrics }) {
    if (!metrics) throw unknownRoute(PATH);
    const { contentType, text } = await metrics.page(headerText(request.headers.accept));
    return respond(200, new RawBody(contentType, Buffer.from(text)));
  },
});
