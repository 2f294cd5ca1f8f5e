/** The native step protocol over HTTP: a frame in the body of the request, and one in that of its answer. */
import { NATIVE_PREFIX, NON_RETRYABLE_STATUS, PROTOCOL_HEADER, PROTOCOL_VERSION } from '@everstep/sdk/protocol';
import { describeBody, type EndpointAnswer, endpointFailure, valuesOf } from '../../answers/endpoint-failure.js';
import { headerOf, keptOf } from '../../answers/http-advice.js';
import type { DeliveryFailure } from '../../engine/run.js';
import type { StepAnswer, StepCall } from '../../ports/step-caller.js';
import type { StepCodec, StepEnvelope } from '../dialect.js';
import { headerValue, rememberForwarded } from '../header-text.js';
import { otherSdk } from '../other-sdk.js';
import { nativeChecks, reserves, signaturePairs } from './check-codec.js';
import { parseReply } from './parse-reply.js';

const NEVER = { kind: 'never' } as const;

const forwardedOf = rememberForwarded({ reserves });

function headers({ request, forwardHeaders }: StepCall, { url, userAgent, signatures }: StepEnvelope): string[] {
  return [
    ...forwardedOf(forwardHeaders),
    'content-type',
    'application/json',
    // An answer in another encoding could not be read.
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
    ...signaturePairs(signatures),
  ];
}

function read(answer: EndpointAnswer, { request, discreet }: StepCall, now: number): StepAnswer {
  const { status, headers, body } = answer;
  const envelope = { status, responseHeaders: valuesOf(headers), responseBody: keptOf(body) };
  const failure = (cause: DeliveryFailure['cause'], message: string, retry: DeliveryFailure['retry']): StepAnswer => ({
    kind: 'failure',
    failure: { cause, message, retry, ...envelope },
  });
  const header = NATIVE_PREFIX + PROTOCOL_HEADER;
  const version = headerOf(headers, header);
  const ok = status >= 200 && status < 300;

  if (version !== undefined && version !== String(PROTOCOL_VERSION)) {
    const older = Number(version) < PROTOCOL_VERSION;
    return failure(
      'refused',
      `the endpoint speaks version ${version} of the step protocol and this service version ${PROTOCOL_VERSION}: upgrade ${older ? 'the SDK at the endpoint' : 'the service'}`,
      NEVER,
    );
  }
  const other = otherSdk(headers, 'native');
  if (other !== null) return failure('refused', other, NEVER);
  let problem: string | undefined;
  if (version !== undefined) {
    const parsed = parseReply(body.toString('utf8'), request, now);
    if (parsed.ok) return { kind: 'reply', reply: parsed.reply, ...envelope };
    problem = discreet ? parsed.words : parsed.problem;
  }
  if (problem !== undefined && (ok || status === NON_RETRYABLE_STATUS)) {
    return failure(
      'not-protocol',
      `the endpoint answered ${status} with ${header}: ${version}, but not with a reply of that protocol: ${problem} (${describeBody(answer, discreet)}); is the SDK at the endpoint one that this service knows?`,
      NEVER,
    );
  }
  if (ok) {
    return failure(
      'not-protocol',
      `the endpoint answered ${status} without the header ${header}, so it is no workflow endpoint: ${describeBody(answer, discreet)}; serve the workflow with the SDK at exactly this URL, and let nothing in front of it answer in its place`,
      NEVER,
    );
  }
  const { message, retry } = endpointFailure(answer, { discreet, now });
  return failure('http', problem === undefined ? message : `${message}; it names the step protocol, but ${problem}`, retry);
}

export const nativeSteps: StepCodec = {
  body: ({ request }) => Buffer.from(JSON.stringify(request)),
  headers,
  read,
  checks: nativeChecks,
};
