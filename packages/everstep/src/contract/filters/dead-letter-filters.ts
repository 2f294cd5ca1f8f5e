/** Filters of dead letters. */
import type { DeadLetterFilter } from '../../ports/stores/filters.js';
import { FAILURE_FUNCTION_STATES } from '../states.js';
import type { FilterTable } from './filter.js';
import { TRIGGER_FILTERS } from './run-filters.js';

/** Filters of the dead letter queue. */
export const DEAD_LETTER_FILTERS = {
  workflowUrl: {
    kind: 'texts',
    maxLength: 'maxWorkflowUrlLength',
    comma: 'may-be-inside',
    field: 'workflowUrls',
    description: 'URL of the workflow',
    label: 'Workflow URL',
    option: { flag: '--workflow-url <url>', help: 'of this workflow' },
  },
  workflowRunId: {
    kind: 'text',
    maxLength: 'maxRunIdLength',
    field: 'workflowRunId',
    description: 'Id of the run.',
    label: 'Run id',
    option: { flag: '--run-id <id>', help: 'of this run' },
  },
  workflowCreatedAt: {
    kind: 'time',
    field: 'workflowCreatedAt',
    description: 'Time when the run was created, in Unix milliseconds.',
    label: 'Run created at',
    option: { flag: '--created-at <instant>', help: 'of the run created at this time' },
  },
  fromDate: {
    kind: 'time',
    field: 'fromDate',
    description: 'Only entries of runs that failed at or after this time, in Unix milliseconds.',
    label: 'Failed after',
    option: { flag: '--from <instant>', help: 'at or after this time: Unix ms or a date' },
  },
  toDate: {
    kind: 'time',
    field: 'toDate',
    description: 'Only entries of runs that failed at or before this time, in Unix milliseconds.',
    label: 'Failed before',
    option: { flag: '--to <instant>', help: 'at or before this time' },
  },
  ...TRIGGER_FILTERS,
  failureFunctionState: {
    kind: 'choices',
    values: FAILURE_FUNCTION_STATES,
    field: 'failureFunctionStates',
    description: 'State of the failure function',
    label: 'Failure callback',
    option: { flag: '--failure-function-state <state>', help: 'whose failure function is in this state' },
  },
  fingerprint: {
    kind: 'patterns',
    pattern: 'fingerprint',
    field: 'fingerprints',
    description: 'Fingerprint of the dead letter group',
    label: 'Error group',
    option: { flag: '--fingerprint <fingerprint>', help: 'of this group' },
  },
} as const satisfies FilterTable<keyof DeadLetterFilter>;

/** Filters of the dead letter queue that match a prefix of the run id. */
export const PREFIX_FILTERS = {
  ...DEAD_LETTER_FILTERS,
  workflowRunId: {
    ...DEAD_LETTER_FILTERS.workflowRunId,
    field: 'workflowRunIdPrefix',
    description: 'Id of the run, or a prefix of it.',
    label: 'Run id starts with',
  },
} as const satisfies FilterTable<keyof DeadLetterFilter>;

/** Filters of repairs and of replay checks. */
export const REPAIR_FILTERS = {
  dlqIds: {
    kind: 'texts',
    maxLength: 'maxRunIdLength',
    maxItems: 'maxRepairEntriesById',
    field: 'dlqIds',
    description: 'Ids of the entries; ids that are not in the queue are ignored',
    label: 'Dead letters',
    option: { flag: '--dlq-id <id>', help: 'with this id' },
  },
  ...PREFIX_FILTERS,
} as const satisfies FilterTable<keyof DeadLetterFilter>;
