/** Endpoints that serve a workflow with the SDK of another dialect than the one in which their run was started. */
import { NATIVE_PREFIX, PROTOCOL_HEADER } from '@everstep/sdk/protocol';
import { type AnswerHeaders, headerOf } from '../answers/http-advice.js';
import type { DialectName } from '../engine/run.js';
import { HEADERS, PREFIX } from './upstash/wire.js';

interface Sdk {
  readonly name: string;
  /** With which its endpoints begin every answer. */
  readonly header: string;
  /** How runs are started that it can answer. */
  readonly start: string;
}

const SDKS: Readonly<Record<DialectName, Sdk>> = {
  native: {
    name: '@everstep/sdk',
    header: NATIVE_PREFIX + PROTOCOL_HEADER,
    start: `with the Client of @everstep/sdk, or with EVERSTEP_TOKEN and no ${PREFIX}* header`,
  },
  upstash: {
    name: '@upstash/workflow',
    header: PREFIX + HEADERS.protocol,
    start: 'with the Client of @upstash/workflow, or with QSTASH_TOKEN',
  },
};

/** Whether an answer is one of a workflow endpoint, whatever its SDK. */
export const isOfWorkflow = (headers: AnswerHeaders): boolean =>
  Object.values(SDKS).some(({ header }) => headerOf(headers, header) !== undefined);

/** What to do when an answer was given by another SDK than that of `dialect`; null when it was not. */
export function otherSdk(headers: AnswerHeaders, dialect: DialectName): string | null {
  if (headerOf(headers, SDKS[dialect].header) !== undefined) return null;
  const other = Object.values(SDKS).find(({ header }) => headerOf(headers, header) !== undefined);
  if (!other) return null;
  return `the workflow at this URL is served with ${other.name}, and the run was started as one of ${SDKS[dialect].name}: start it ${other.start}`;
}
