/** Header names of the step protocol of `@upstash/workflow`, without the prefix, and the protocol version. */

import { ED25519_SIGNATURE_HEADER, SIGNATURE_HEADER } from '@everstep/sdk/protocol';

/** The only version that exists. It is sent with every delivery, submission and response. */
export const STEP_PROTOCOL_VERSION = '1';

export const HEADERS = Object.freeze({
  protocol: 'Workflow-Sdk-Version',
  unknownSdk: 'Workflow-Unknown-Sdk',
  runId: 'Workflow-RunId',
  url: 'Workflow-Url',
  createdAt: 'Workflow-CreatedAt',
  messageId: 'Message-Id',
  retried: 'Retried',
  label: 'Label',
  signature: SIGNATURE_HEADER,
  ed25519Signature: ED25519_SIGNATURE_HEADER,
  region: 'Region',
  errorStepName: 'Error-Step-Name',
  isFailure: 'Workflow-Is-Failure',
  failureCallback: 'Workflow-Failure-Callback',
  failureFunctionMissing: 'Workflow-Failure-Callback-Notfound',
});

export const PREFIX = 'Upstash-';

const OWN_HEADERS: ReadonlySet<string> = new Set(
  [
    HEADERS.protocol,
    HEADERS.unknownSdk,
    HEADERS.runId,
    HEADERS.url,
    HEADERS.createdAt,
    HEADERS.messageId,
    HEADERS.retried,
    HEADERS.label,
    HEADERS.signature,
    HEADERS.ed25519Signature,
    HEADERS.region,
  ].map((name) => (PREFIX + name).toLowerCase()),
);

/** Returns whether the server sets this header itself. Other headers with the prefix are forwarded to endpoints. */
export const reserves = (name: string): boolean => OWN_HEADERS.has(name);

/** Returns an error text for an endpoint or client with another version of the step protocol. */
export function versionMismatch(sender: string, version: string): string {
  const isOlder = Number(version) < Number(STEP_PROTOCOL_VERSION);
  const solution = isOlder ? 'upgrade @upstash/workflow there to 1.x' : 'upgrade Everstep, or use @upstash/workflow 1.x there';
  return `${sender} uses version ${JSON.stringify(version.slice(0, 40))} of the step protocol, but Everstep uses version ${STEP_PROTOCOL_VERSION}: ${solution}`;
}

// The published SDK does not encode the id in paths and headers, and headers carry only Latin-1.
const SENDABLE_RUN_ID = /^[ -~\xa0-\xff]*$/;
const URL_DELIMITER = /[/?#%\\]/;

/** Returns the reason why endpoints with the published SDK could not refer to the run, or null if they can. */
export function runIdProblem(workflowRunId: string): string | null {
  if (SENDABLE_RUN_ID.test(workflowRunId) && !URL_DELIMITER.test(workflowRunId)) return null;
  return 'must not contain / ? # % \\ or characters outside Latin-1, because @upstash/workflow sends it unencoded in paths and headers';
}
