/** Filters that operations share, and what they ask of the store. */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { FINGERPRINT_LENGTH } from '../../contract/dead-letter-groups.js';
import { FailureFunctionStateSchema } from '../../contract/dead-letters.js';
import type { DeadLetterFilter } from '../../ports/store.js';
import { Text, UnixMs } from '../parameters/values.js';

/** The longest text of an IPv6 address has 45 characters; a zone may follow. */
export const MAX_IP_LENGTH = 64;

const anyOf = (what: string, maxLength: number) =>
  Type.Array(Text(maxLength, {}), {
    description: `${what}; any of several: repeat the parameter, or put commas between. A comma inside a value is percent-encoded.`,
  });

/** Of a group of dead letters. */
export const Fingerprint = (description: string) =>
  Type.String({
    pattern: `^[0-9a-f]{${FINGERPRINT_LENGTH}}$`,
    ...(description === '' ? {} : { description }),
  });

/** Filters by what the run was triggered with. */
export const triggerFilters = {
  label: Type.Optional(anyOf('Label of the run', LIMITS.maxLabelLength)),
  callerIp: Type.Optional(anyOf('IP address of the publisher', MAX_IP_LENGTH)),
  flowControlKey: Type.Optional(anyOf('Flow control key', LIMITS.maxFlowControlKeyLength)),
};

export const deadLetterFilters = {
  fromDate: Type.Optional(UnixMs('Entries of runs that failed at or after this time, Unix ms')),
  toDate: Type.Optional(UnixMs('Entries of runs that failed at or before this time, Unix ms')),
  workflowUrl: Type.Optional(anyOf('URL of the workflow', LIMITS.maxWorkflowUrlLength)),
  workflowCreatedAt: Type.Optional(UnixMs('Creation of the run, Unix ms')),
  ...triggerFilters,
  failureFunctionState: Type.Optional(
    Type.Array(FailureFunctionStateSchema, { description: 'State of the failure function; any of several' }),
  ),
  fingerprint: Type.Optional(
    Type.Array(Fingerprint(''), { description: 'Fingerprint of the group of those that failed alike; any of several' }),
  ),
};

export const RunIdFilter = Text(LIMITS.maxRunIdLength, { description: 'ID of the run' });
export const RunIdPrefixFilter = Text(LIMITS.maxRunIdLength, { description: 'ID of the run, or what it begins with' });

const DeadLetterFilters = Type.Object(deadLetterFilters);

/** Entries of workflows. `undefined` in a filter of the store asks for nothing. */
export function deadLetterFilterOf(query: StaticDecode<typeof DeadLetterFilters>): DeadLetterFilter {
  return {
    kind: 'workflow',
    fromDate: query.fromDate,
    toDate: query.toDate,
    workflowUrls: query.workflowUrl,
    workflowCreatedAt: query.workflowCreatedAt,
    labels: query.label,
    callerIps: query.callerIp,
    flowControlKeys: query.flowControlKey,
    failureFunctionStates: query.failureFunctionState,
    fingerprints: query.fingerprint,
  };
}

/** A range that ends before it begins has nothing in it. */
export const isEmptyRange = ({ fromDate, toDate }: { readonly fromDate?: number; readonly toDate?: number }): boolean =>
  fromDate !== undefined && toDate !== undefined && fromDate > toDate;
