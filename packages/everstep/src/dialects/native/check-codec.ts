/** Codec of replay checks over HTTP, which determine whether an endpoint would replay a run. */
import { NATIVE_PREFIX, PROTOCOL_HEADER, PROTOCOL_VERSION, parseJson, truncateText } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { ReplayCheck, ReplayVerdict } from '../../ports/step-caller.js';
import { type EndpointResponse, endpointFailure } from '../../responses/endpoint-failure.js';
import { headerOf } from '../../responses/retry-advice.js';
import type { CheckCodec, StepEnvelope } from '../dialect.js';
import { cacheForwarded, headerValue } from '../header-text.js';
import { otherSdkProblem } from '../other-sdk.js';

export const reserves = (name: string): boolean => name.startsWith(NATIVE_PREFIX.toLowerCase());
export const signaturePairs = (signatures: StepEnvelope['signatures']): readonly string[] =>
  Object.entries(signatures).flatMap(([name, value]) => [NATIVE_PREFIX + name, value]);
const forwardedOf = cacheForwarded({ reserves });

const cannotTell = (message: string): ReplayVerdict => ({ outcome: 'cannot-tell', message });
const TOO_OLD =
  'the SDK at the endpoint does not support replay checks: upgrade @everstep/sdk in this app, or try one run before the others';

function headers({ request, forwardHeaders }: ReplayCheck, { url, userAgent, signatures }: StepEnvelope): string[] {
  return [
    ...forwardedOf(forwardHeaders),
    'content-type',
    'application/json',
    'accept-encoding',
    'identity',
    'user-agent',
    userAgent,
    NATIVE_PREFIX + PROTOCOL_HEADER,
    String(PROTOCOL_VERSION),
    `${NATIVE_PREFIX}Workflow-RunId`,
    headerValue(request.run.id),
    `${NATIVE_PREFIX}Workflow-Url`,
    url,
    ...signaturePairs(signatures),
  ];
}

function frameOf({ body }: EndpointResponse): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJson(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
  } catch {
    return {};
  }
}

/** Returns the verdict of a frame, or null if it is not the result of a check. */
export function readVerdict(frame: Readonly<Record<string, unknown>>, { request }: ReplayCheck): ReplayVerdict | null {
  const message = typeof frame.message === 'string' ? truncateText(frame.message, LIMITS.maxKeptErrorLength) : '';
  if (frame.kind === 'checked' && frame.protocol === PROTOCOL_VERSION) {
    const { outcome, stepId } = frame;
    const knownStep = [...request.journal, ...request.open].find((step) => step.stepId === stepId);
    if (outcome === 'differs' && knownStep) return { outcome, stepId: knownStep.stepId, message };
    if (outcome === 'fits' || outcome === 'cannot-tell') return { outcome, message };
  }
  if (frame.kind === 'refused') return cannotTell(frame.code === 'bad-request' ? TOO_OLD : message);
  // For example, an invalid signature.
  const error = typeof frame.error === 'object' && frame.error !== null && 'message' in frame.error ? frame.error.message : null;
  if (frame.kind === 'failed' && typeof error === 'string')
    return cannotTell(`the endpoint rejected the replay check: ${truncateText(error, LIMITS.maxKeptErrorLength)}`);
  return null;
}

function read(response: EndpointResponse, check: ReplayCheck, now: number): ReplayVerdict {
  const { hidesData } = check;
  const otherSdk = otherSdkProblem(response.headers, 'native');
  if (otherSdk !== null) return cannotTell(otherSdk);
  const verdict =
    headerOf(response.headers, NATIVE_PREFIX + PROTOCOL_HEADER) === undefined ? null : readVerdict(frameOf(response), check);
  if (verdict) return verdict;
  if (response.status >= 200 && response.status < 300)
    return cannotTell(
      `the endpoint returned ${response.status} with an unexpected body; check that it is a workflow endpoint with @everstep/sdk`,
    );
  return cannotTell(endpointFailure(response, { hidesData, now }).message);
}

export const nativeChecks: CheckCodec = {
  body: ({ request }) => Buffer.from(JSON.stringify(request)),
  headers,
  read,
};
