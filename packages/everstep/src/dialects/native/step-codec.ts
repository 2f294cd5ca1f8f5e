/** The native step protocol over HTTP: the bodies of the request and of its response are frames. */
import { NATIVE_PREFIX, NON_RETRYABLE_STATUS, PROTOCOL_HEADER, PROTOCOL_VERSION, type StepRequest } from '@everstep/sdk/protocol';
import type { DeliveryFailure } from '../../engine/runs/run.js';
import type { StepCall, StepOutcome } from '../../ports/step-caller.js';
import { describeBody, type EndpointResponse, endpointFailure, valuesOf } from '../../responses/endpoint-failure.js';
import { headerOf, truncateBody } from '../../responses/retry-advice.js';
import type { StepCodec, StepEnvelope } from '../dialect.js';
import { cacheForwarded, headerValue, tracePairs } from '../header-text.js';
import { otherSdkProblem } from '../other-sdk.js';
import { nativeChecks, reserves, signaturePairs } from './check-codec.js';
import { parseReply } from './parse-reply.js';

const NEVER = { kind: 'never' } as const;

const forwardedOf = cacheForwarded({ reserves });

function headers({ request, forwardHeaders }: StepCall, { url, userAgent, signatures }: StepEnvelope): string[] {
  return [
    ...forwardedOf(forwardHeaders),
    'content-type',
    'application/json',
    // Responses with another encoding cannot be read.
    'accept-encoding',
    'identity',
    'user-agent',
    userAgent,
    NATIVE_PREFIX + PROTOCOL_HEADER,
    String(PROTOCOL_VERSION),
    `${NATIVE_PREFIX}Workflow-RunId`,
    headerValue(request.run.id),
    `${NATIVE_PREFIX}Workflow-Created-At`,
    String(request.run.createdAt),
    `${NATIVE_PREFIX}Workflow-Url`,
    url,
    `${NATIVE_PREFIX}Message-Id`,
    headerValue(request.messageId),
    `${NATIVE_PREFIX}Retried`,
    String(request.retried),
    ...tracePairs(request.trace, forwardHeaders),
    ...signaturePairs(signatures),
  ];
}

function read(response: EndpointResponse, { request, hidesData }: StepCall, now: number): StepOutcome {
  const { status, headers, body } = response;
  const envelope = { status, responseHeaders: valuesOf(headers), responseBody: truncateBody(body) };
  const failure = (cause: DeliveryFailure['cause'], message: string, retry: DeliveryFailure['retry']): StepOutcome => ({
    kind: 'failure',
    failure: { cause, message, retry, ...envelope },
  });
  const header = NATIVE_PREFIX + PROTOCOL_HEADER;
  const version = headerOf(headers, header);
  const isSuccess = status >= 200 && status < 300;

  if (version !== undefined && version !== String(PROTOCOL_VERSION)) {
    const isOlder = Number(version) < PROTOCOL_VERSION;
    return failure(
      'refused',
      `the endpoint uses version ${version} of the step protocol, but Everstep uses version ${PROTOCOL_VERSION}: upgrade ${isOlder ? 'the SDK at the endpoint' : 'Everstep'}`,
      NEVER,
    );
  }
  const otherSdk = otherSdkProblem(headers, 'native');
  if (otherSdk !== null) return failure('refused', otherSdk, NEVER);
  let problem: string | undefined;
  let advice = '';
  if (version !== undefined) {
    const parsedReply = parseReply(body.toString('utf8'), request, now);
    if (parsedReply.ok) return { kind: 'reply', reply: parsedReply.reply, ...envelope };
    problem = hidesData ? parsedReply.summary : parsedReply.problem;
    if (!parsedReply.exceedsLimit) advice = '. Check that Everstep supports the SDK version at the endpoint';
  }
  if (problem !== undefined && (isSuccess || status === NON_RETRYABLE_STATUS)) {
    return failure(
      'not-protocol',
      `the endpoint returned ${status} with ${header}: ${version}, but the body is not a valid reply: ${problem} (${describeBody(response, hidesData)})${advice}`,
      NEVER,
    );
  }
  if (isSuccess) {
    return failure(
      'not-protocol',
      `the endpoint returned ${status} without the header ${header}, so it is not a workflow endpoint: ${describeBody(response, hidesData)}. Serve the workflow with the SDK at exactly this URL, and make sure that no proxy responds instead of the app`,
      NEVER,
    );
  }
  const { message, retry } = endpointFailure(response, { hidesData, now });
  return failure(
    'http',
    problem === undefined ? message : `${message}; the response has the step protocol header, but ${problem}`,
    retry,
  );
}

/** Yields a request as JSON text in parts: the start, one part for each journal entry, and the end. */
export function* requestParts({ journal, ...rest }: StepRequest): Iterable<string> {
  const { entries, ...head } = journal;
  yield `${JSON.stringify(rest).slice(0, -1)},"journal":${JSON.stringify(head).slice(0, -1)},"entries":[`;
  for (const [index, entry] of entries.entries()) yield (index === 0 ? '' : ',') + JSON.stringify(entry);
  yield ']}}';
}

export const nativeStepCodec: StepCodec = {
  body: ({ request }) => Buffer.from(JSON.stringify(request)),
  bodyParts: ({ request }) => requestParts(request),
  headers,
  isReply: (headers) => headerOf(headers, NATIVE_PREFIX + PROTOCOL_HEADER) !== undefined,
  read,
  checks: nativeChecks,
};
