/** Filters that several operations share, and their conversion to store filters. */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { FINGERPRINT_LENGTH } from '../../contract/dead-letter-groups.js';
import { FailureFunctionStateSchema } from '../../contract/dead-letters.js';
import type { DeadLetterFilter } from '../../ports/stores/store.js';
import { AnyOf } from '../parameters/several.js';
import { Text, UnixMs } from '../parameters/values.js';

/** Longest IP address: an IPv6 address has up to 45 characters, plus a zone. */
export const MAX_IP_LENGTH = 64;

/** Schema of the fingerprint of a dead letter group. */
export const Fingerprint = (description: string) =>
  Type.String({
    pattern: `^[0-9a-f]{${FINGERPRINT_LENGTH}}$`,
    ...(description === '' ? {} : { description }),
  });

/** Filters by settings that the run was triggered with. */
export const triggerFilters = {
  label: Type.Optional(AnyOf(Text(LIMITS.maxLabelLength, {}), 'Labels of the run')),
  callerIp: Type.Optional(AnyOf(Text(MAX_IP_LENGTH, {}), 'IP address of the publisher')),
  flowControlKey: Type.Optional(AnyOf(Text(LIMITS.maxFlowControlKeyLength, {}), 'Flow control key of the run', 'may-be-inside')),
};

export const deadLetterFilters = {
  fromDate: Type.Optional(UnixMs('Only entries of runs that failed at or after this time, in Unix milliseconds.')),
  toDate: Type.Optional(UnixMs('Only entries of runs that failed at or before this time, in Unix milliseconds.')),
  workflowUrl: Type.Optional(AnyOf(Text(LIMITS.maxWorkflowUrlLength, {}), 'URL of the workflow', 'may-be-inside')),
  workflowCreatedAt: Type.Optional(UnixMs('Time when the run was created, in Unix milliseconds.')),
  ...triggerFilters,
  failureFunctionState: Type.Optional(AnyOf(FailureFunctionStateSchema, 'State of the failure function')),
  fingerprint: Type.Optional(AnyOf(Fingerprint(''), 'Fingerprint of the dead letter group')),
};

export const RunIdFilter = Text(LIMITS.maxRunIdLength, { description: 'Id of the run.' });
export const RunIdPrefixFilter = Text(LIMITS.maxRunIdLength, { description: 'Id of the run, or a prefix of it.' });

const DeadLetterFilters = Type.Object(deadLetterFilters);

/** Returns the store filter of a query for workflow entries. Undefined fields do not filter. */
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

/** Returns whether the range ends before it starts, so that nothing can match. */
export const isEmptyRange = ({ fromDate, toDate }: { readonly fromDate?: number; readonly toDate?: number }): boolean =>
  fromDate !== undefined && toDate !== undefined && fromDate > toDate;
