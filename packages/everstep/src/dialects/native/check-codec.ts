/** The question whether an endpoint would replay a run, over HTTP. */
import { NATIVE_PREFIX, PROTOCOL_HEADER, PROTOCOL_VERSION, parseJson } from '@everstep/sdk/protocol';
import { type EndpointAnswer, endpointFailure } from '../../answers/endpoint-failure.js';
import { headerOf } from '../../answers/http-advice.js';
import { LIMITS } from '../../config/limits.js';
import type { ReplayCheck, ReplayVerdict } from '../../ports/step-caller.js';
import type { CheckCodec, StepEnvelope } from '../dialect.js';
import { headerValue, rememberForwarded } from '../header-text.js';
import { otherSdk } from '../other-sdk.js';

export const reserves = (name: string): boolean => name.startsWith(NATIVE_PREFIX.toLowerCase());
export const signaturePairs = (signatures: StepEnvelope['signatures']): readonly string[] =>
  Object.entries(signatures).flatMap(([name, value]) => [NATIVE_PREFIX + name, value]);
const forwardedOf = rememberForwarded({ reserves });

const cannotTell = (message: string): ReplayVerdict => ({ outcome: 'cannot-tell', message });
const TOO_OLD =
  'the SDK at the endpoint cannot be asked yet: upgrade @everstep/sdk in this app; to be safe without, try one run before the others';

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

function frameOf({ body }: EndpointAnswer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJson(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
  } catch {
    return {};
  }
}

function read(answer: EndpointAnswer, { request, discreet }: ReplayCheck, now: number): ReplayVerdict {
  const other = otherSdk(answer.headers, 'native');
  if (other !== null) return cannotTell(other);
  const frame = headerOf(answer.headers, NATIVE_PREFIX + PROTOCOL_HEADER) === undefined ? {} : frameOf(answer);
  const words = typeof frame.message === 'string' ? frame.message.slice(0, LIMITS.maxKeptErrorLength) : '';
  if (frame.kind === 'checked' && frame.protocol === PROTOCOL_VERSION) {
    const { outcome, stepId } = frame;
    const known = [...request.journal, ...request.open].find((step) => step.stepId === stepId);
    if (outcome === 'differs' && known) return { outcome, stepId: known.stepId, message: words };
    if (outcome === 'fits' || outcome === 'cannot-tell') return { outcome, message: words };
  }
  if (frame.kind === 'refused') return cannotTell(frame.code === 'bad-request' ? TOO_OLD : words);
  // Of a signature that is not good, for instance.
  const error = typeof frame.error === 'object' && frame.error !== null && 'message' in frame.error ? frame.error.message : null;
  if (frame.kind === 'failed' && typeof error === 'string')
    return cannotTell(`the endpoint refused the question: ${error.slice(0, LIMITS.maxKeptErrorLength)}`);
  if (answer.status >= 200 && answer.status < 300)
    return cannotTell(
      `the endpoint answered ${answer.status} with something else; is it a workflow endpoint with @everstep/sdk?`,
    );
  return cannotTell(endpointFailure(answer, { discreet, now }).message);
}

export const nativeChecks: CheckCodec = {
  body: ({ request }) => Buffer.from(JSON.stringify(request)),
  headers,
  read,
};
