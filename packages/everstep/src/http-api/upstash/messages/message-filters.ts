/** Filters of messages, their dead letters and their events. */
import type { FilterTable } from '../../../contract/filters/filter.js';
import { TRIGGER_FILTERS } from '../../../contract/filters/run-filters.js';
import type { DeadLetterFilter, RunFilter } from '../../../ports/stores/filters.js';
import type { MessageFilter } from '../../../runtime/services/workflow-service.js';

/** Filters of messages, their dead letters and their events. */
export const COMMON_FILTERS = {
  url: {
    kind: 'texts',
    maxLength: 'maxWorkflowUrlLength',
    comma: 'may-be-inside',
    field: 'workflowUrls',
    description: 'URL of the destination',
  },
  topicName: { kind: 'texts', maxLength: 'maxQueueNameLength', field: 'urlGroups', description: 'URL group' },
  scheduleId: {
    kind: 'texts',
    maxLength: 'maxRunIdLength',
    comma: 'may-be-inside',
    field: 'scheduleIds',
    description: 'ID of the schedule that published the message',
  },
  queueName: { kind: 'texts', maxLength: 'maxQueueNameLength', field: 'queues', description: 'Queue' },
  fromDate: { kind: 'time', field: 'fromDate', description: 'At or after this time, Unix ms' },
  toDate: { kind: 'time', field: 'toDate', description: 'At or before this time, Unix ms' },
  ...TRIGGER_FILTERS,
  callerIP: { ...TRIGGER_FILTERS.callerIp, description: 'The same as callerIp' },
} as const satisfies FilterTable<keyof DeadLetterFilter & keyof RunFilter>;

/** Filters of messages and their events. */
export const MESSAGE_FILTERS = {
  ...COMMON_FILTERS,
  messageIds: { kind: 'texts', maxLength: 'maxRunIdLength', field: 'messageIds', description: 'IDs of messages' },
  host: {
    kind: 'texts',
    maxLength: 'maxWorkflowUrlLength',
    comma: 'may-be-inside',
    field: 'hosts',
    description: 'Host of the destination, with the port if the URL has one',
  },
  path: {
    kind: 'texts',
    maxLength: 'maxWorkflowUrlLength',
    comma: 'may-be-inside',
    field: 'paths',
    description: 'Path of the destination, without the query',
  },
} as const satisfies FilterTable<keyof MessageFilter>;
