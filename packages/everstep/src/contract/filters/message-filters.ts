/** Filters of messages, their dead letters and their events. */
import type { DestinationFilter } from '../../engine/messages/destination-filter.js';
import type { DeadLetterFilter, RunFilter } from '../../ports/stores/filters.js';
import type { FilterTable } from './filter.js';
import { TRIGGER_FILTERS } from './run-filters.js';

const { option: _unusedOption, ...CALLER_IP } = TRIGGER_FILTERS.callerIp;

/** Filters of messages, their dead letters and their events. */
export const COMMON_FILTERS = {
  url: {
    kind: 'texts',
    maxLength: 'maxWorkflowUrlLength',
    comma: 'may-be-inside',
    field: 'workflowUrls',
    description: 'URL of the destination',
    option: { flag: '--to <url>', help: 'to this URL' },
  },
  topicName: {
    kind: 'texts',
    maxLength: 'maxQueueNameLength',
    field: 'urlGroups',
    description: 'URL group',
    option: { flag: '--group <name>', help: 'of this URL group' },
  },
  scheduleId: {
    kind: 'texts',
    maxLength: 'maxRunIdLength',
    comma: 'may-be-inside',
    field: 'scheduleIds',
    description: 'Id of the schedule that published the message',
    option: { flag: '--schedule <id>', help: 'published by this schedule' },
  },
  queueName: {
    kind: 'texts',
    maxLength: 'maxQueueNameLength',
    field: 'queues',
    description: 'Queue',
    option: { flag: '--queue <name>', help: 'of this queue' },
  },
  fromDate: {
    kind: 'time',
    field: 'fromDate',
    description: 'Only items at or after this time, in Unix milliseconds.',
    option: { flag: '--since <instant>', help: 'at or after this time: Unix ms or a date' },
  },
  toDate: {
    kind: 'time',
    field: 'toDate',
    description: 'Only items at or before this time, in Unix milliseconds.',
    option: { flag: '--until <instant>', help: 'at or before this time' },
  },
  ...TRIGGER_FILTERS,
  callerIP: { ...CALLER_IP, description: 'The same as callerIp' },
} as const satisfies FilterTable<keyof DeadLetterFilter & keyof RunFilter>;

/** Filters of messages and their events. */
export const MESSAGE_FILTERS = {
  ...COMMON_FILTERS,
  messageIds: {
    kind: 'texts',
    maxLength: 'maxRunIdLength',
    field: 'messageIds',
    description: 'Ids of messages',
    option: { flag: '--id <messageId>', help: 'with this id' },
  },
  host: {
    kind: 'texts',
    maxLength: 'maxWorkflowUrlLength',
    comma: 'may-be-inside',
    field: 'hosts',
    description: 'Host of the destination, with the port if the URL has one',
    option: { flag: '--host <host>', help: 'to this host, with its port if the URL has one' },
  },
  path: {
    kind: 'texts',
    maxLength: 'maxWorkflowUrlLength',
    comma: 'may-be-inside',
    field: 'paths',
    description: 'Path of the destination, without the query',
    option: { flag: '--path <path>', help: 'to this path' },
  },
} as const satisfies FilterTable<keyof RunFilter | keyof DestinationFilter | 'messageIds'>;
