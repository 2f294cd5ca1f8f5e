/**
 * Prefixed headers that clients of this dialect send although the operation does not use them: SDK metadata, step
 * headers, and headers that an endpoint received and passes on. Any other unknown name is a misspelled setting.
 */

/** Lowercase prefixes of names, without the dialect's prefix. */
const PREFIXES: readonly string[] = ['telemetry-', 'feature-set', 'workflow-', 'callback-', 'failure-callback-', 'forward-'];

const NAMES: ReadonlySet<string> = new Set([
  // Sent with every message, even with one that starts a run.
  'method',
  // Sent with deliveries. Endpoints pass them on unchanged, without the `Forward-` prefix.
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

export const isIgnoredHeader = (name: string): boolean => NAMES.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix));
