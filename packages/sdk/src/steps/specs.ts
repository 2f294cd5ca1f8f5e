/** Converts the options of calls and invocations to their form on the wire. */
import type { CallSpec, InvokeSpec } from '../protocol.js';
import { deliveryOf, findHeader, headersOf, httpUrlOf, labelsOf, quoteValue, runIdOf, workflowUrlOf } from './arguments.js';
import { encodeContent } from './content.js';
import type { CallOptions, InvokeOptions } from './step-types.js';

const METHODS: readonly unknown[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const CONTENT_TYPE = 'content-type';

/**
 * Converts the options of a call.
 *
 * @throws {TypeError | RangeError} If an option is invalid.
 * @throws {NonRetryableError} If JSON cannot represent the body.
 */
export function callSpecOf(request: CallOptions): CallSpec {
  const { method = 'GET' } = request;
  if (!METHODS.includes(method))
    throw new TypeError(`the method must be one of ${METHODS.join(', ')}, not ${quoteValue(method)}`);
  const content = encodeContent(request.body, 'the body of the call');
  if (content && (method === 'GET' || method === 'HEAD'))
    throw new TypeError(`a ${method} request cannot have a body; omit it or use another method`);
  const explicitHeaders = headersOf(request.headers);
  const headers =
    content && findHeader(explicitHeaders, CONTENT_TYPE) === undefined
      ? { ...explicitHeaders, 'Content-Type': content.contentType }
      : explicitHeaders;
  return {
    url: httpUrlOf(request.url, 'the URL of a call'),
    method,
    headers,
    ...(content ? { body: content.body } : {}),
    ...deliveryOf(request),
  };
}

/**
 * Converts the options of an invocation.
 *
 * @throws {TypeError | RangeError} If an option is invalid.
 * @throws {NonRetryableError} If JSON cannot represent the payload.
 */
export function invokeSpecOf(invocation: InvokeOptions): InvokeSpec {
  const { workflow, workflowUrl, workflowRunId, labels } = invocation;
  if (workflow !== undefined && workflowUrl !== undefined)
    throw new TypeError('workflow and workflowUrl are aliases; specify only one of them');
  const content = encodeContent(invocation.payload, 'the payload of the invocation');
  const explicitHeaders = headersOf(invocation.headers);
  const contentType = findHeader(explicitHeaders, CONTENT_TYPE) ?? content?.contentType;
  return {
    workflowUrl: workflowUrlOf(workflow ?? workflowUrl),
    headers: Object.fromEntries(
      Object.entries(explicitHeaders)
        .map(([name, value]) => [name.toLowerCase(), value] as const)
        .filter(([name]) => name !== CONTENT_TYPE),
    ),
    ...(content ? { body: content.body } : {}),
    ...(contentType === undefined ? {} : { contentType }),
    ...(workflowRunId === undefined ? {} : { workflowRunId: runIdOf(workflowRunId) }),
    ...(labels === undefined ? {} : { labels: labelsOf(labels) }),
    ...deliveryOf(invocation),
  };
}
