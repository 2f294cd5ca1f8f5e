/**
 * Headers with the prefix that clients of this dialect send with requests to
 * which they say nothing: about themselves, about steps, and what an endpoint
 * received and passes on with all its headers. Every other name that an
 * operation does not know is a misspelt setting.
 */

/** Beginnings, in lower case, without the prefix. */
const FAMILIES: readonly string[] = ['telemetry-', 'feature-set', 'workflow-', 'callback-', 'failure-callback-', 'forward-'];

const NAMES: ReadonlySet<string> = new Set([
  // Of every message, also of one that starts a run.
  'method',
  // Of what the service delivered: clients do not put these into the family that is forwarded.
  'message-id',
  'retried',
  'signature',
  'signature-ed25519',
  'region',
  'caller-ip',
  'schedule-id',
  'queue-name',
  'url-group',
  'topic-name',
  'endpoint-name',
  'source-message-id',
  'error-step-name',
  'nonretryable-error',
]);

export const sentAnyway = (name: string): boolean => NAMES.has(name) || FAMILIES.some((start) => name.startsWith(start));
