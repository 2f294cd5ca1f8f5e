/** Names of the step protocol of `@upstash/workflow`, without the prefix, and its version. */

import { ED25519_SIGNATURE_HEADER, SIGNATURE_HEADER } from '@everstep/sdk/protocol';

/** The one version that there is; sent with every delivery, submission and answer. */
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

const OWN: ReadonlySet<string> = new Set(
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

/** Only what the service itself says is reserved: clients forward headers with the prefix to their endpoints. */
export const reserves = (name: string): boolean => OWN.has(name);

/** What to do about an endpoint or a client that speaks another version of the step protocol. */
export function otherVersion(who: string, version: string): string {
  const older = Number(version) < Number(STEP_PROTOCOL_VERSION);
  const todo = older ? 'upgrade @upstash/workflow there to 1.x' : 'upgrade the service, or use @upstash/workflow 1.x there';
  return `${who} speaks version ${JSON.stringify(version.slice(0, 40))} of the step protocol and this service version ${STEP_PROTOCOL_VERSION}: ${todo}`;
}

// The published SDK puts the id into paths as it is, and into headers, which carry Latin-1.
const SENDABLE_RUN_ID = /^[ -~\xa0-\xff]*$/;
const PART_OF_URL = /[/?#%\\]/;

/** Why endpoints with the published SDK could not name the run to the service; null when they can. */
export function whyUnnameable(workflowRunId: string): string | null {
  if (SENDABLE_RUN_ID.test(workflowRunId) && !PART_OF_URL.test(workflowRunId)) return null;
  return 'must have none of / ? # % \\ and no character beyond Latin-1, since @upstash/workflow sends it as it is in paths and headers';
}
