/** Filters that operations share, and what they ask of the store. */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { FINGERPRINT_LENGTH } from '../../contract/dead-letter-groups.js';
import { FailureFunctionStateSchema } from '../../contract/dead-letters.js';
import type { DeadLetterFilter } from '../../ports/store.js';
import { AnyOf } from '../parameters/several.js';
import { Text, UnixMs } from '../parameters/values.js';

/** The longest text of an IPv6 address has 45 characters; a zone may follow. */
export const MAX_IP_LENGTH = 64;

/** Of a group of dead letters. */
export const Fingerprint = (description: string) =>
  Type.String({
    pattern: `^[0-9a-f]{${FINGERPRINT_LENGTH}}$`,
    ...(description === '' ? {} : { description }),
  });

/** Filters by what the run was triggered with. */
export const triggerFilters = {
  label: Type.Optional(AnyOf(Text(LIMITS.maxLabelLength, {}), 'Label of the run')),
  callerIp: Type.Optional(AnyOf(Text(MAX_IP_LENGTH, {}), 'IP address of the publisher')),
  flowControlKey: Type.Optional(AnyOf(Text(LIMITS.maxFlowControlKeyLength, {}), 'Flow control key', 'may-be-inside')),
};

export const deadLetterFilters = {
  fromDate: Type.Optional(UnixMs('Entries of runs that failed at or after this time, Unix ms')),
  toDate: Type.Optional(UnixMs('Entries of runs that failed at or before this time, Unix ms')),
  workflowUrl: Type.Optional(AnyOf(Text(LIMITS.maxWorkflowUrlLength, {}), 'URL of the workflow', 'may-be-inside')),
  workflowCreatedAt: Type.Optional(UnixMs('Creation of the run, Unix ms')),
  ...triggerFilters,
  failureFunctionState: Type.Optional(AnyOf(FailureFunctionStateSchema, 'State of the failure function')),
  fingerprint: Type.Optional(AnyOf(Fingerprint(''), 'Fingerprint of the group of those that failed alike')),
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
