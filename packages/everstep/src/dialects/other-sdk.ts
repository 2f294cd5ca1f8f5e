/** Detects an endpoint that serves a workflow with the SDK of a dialect other than that of the run. */
import { NATIVE_PREFIX, PROTOCOL_HEADER } from '@everstep/sdk/protocol';
import type { DialectName } from '../engine/runs/run.js';
import { headerOf, type ResponseHeaders } from '../responses/retry-advice.js';
import { HEADERS, PREFIX } from './upstash/wire.js';

interface Sdk {
  readonly name: string;
  /** Header that its endpoints set on every response. */
  readonly header: string;
  /** How to start runs that it can execute. */
  readonly startAdvice: string;
}

const SDKS: Readonly<Record<DialectName, Sdk>> = {
  native: {
    name: '@everstep/sdk',
    header: NATIVE_PREFIX + PROTOCOL_HEADER,
    startAdvice: `with the Client of @everstep/sdk, or with EVERSTEP_TOKEN and no ${PREFIX}* header`,
  },
  upstash: {
    name: '@upstash/workflow',
    header: PREFIX + HEADERS.protocol,
    startAdvice: 'with the Client of @upstash/workflow, or with QSTASH_TOKEN',
  },
};

/** Returns whether a workflow endpoint of any SDK sent the response. */
export const isWorkflowResponse = (headers: ResponseHeaders): boolean =>
  Object.values(SDKS).some(({ header }) => headerOf(headers, header) !== undefined);

/** Returns an error text with advice if the SDK of a dialect other than `dialect` responded; null otherwise. */
export function otherSdkProblem(headers: ResponseHeaders, dialect: DialectName): string | null {
  if (headerOf(headers, SDKS[dialect].header) !== undefined) return null;
  const otherSdk = Object.values(SDKS).find(({ header }) => headerOf(headers, header) !== undefined);
  if (!otherSdk) return null;
  return `the workflow at this URL is served with ${otherSdk.name}, but the run was started with ${SDKS[dialect].name}: start it ${otherSdk.startAdvice}`;
}
