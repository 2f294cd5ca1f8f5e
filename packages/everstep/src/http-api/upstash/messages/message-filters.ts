/** Filters of messages, and their conversion to store filters. A filter with several values matches any of them. */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import type { MessageFilter } from '../../../runtime/services/workflow-service.js';
import { MAX_IP_LENGTH } from '../../operations/filters.js';
import { AnyOf, type CommaRule } from '../../parameters/several.js';
import { Text, UnixMs } from '../../parameters/values.js';

const anyOf = (what: string, maxLength: number, comma?: CommaRule) => Type.Optional(AnyOf(Text(maxLength, {}), what, comma));

/** Filters of messages, their dead letters and their events. */
export const commonFilters = {
  url: anyOf('URL of the destination', LIMITS.maxWorkflowUrlLength, 'may-be-inside'),
  topicName: anyOf('URL group', LIMITS.maxQueueNameLength),
  scheduleId: anyOf('ID of the schedule that published the message', LIMITS.maxRunIdLength, 'may-be-inside'),
  queueName: anyOf('Queue', LIMITS.maxQueueNameLength),
  fromDate: Type.Optional(UnixMs('At or after this time, Unix ms')),
  toDate: Type.Optional(UnixMs('At or before this time, Unix ms')),
  label: anyOf('Label', LIMITS.maxLabelLength),
  flowControlKey: anyOf('Flow control key', LIMITS.maxFlowControlKeyLength, 'may-be-inside'),
  callerIp: anyOf('IP address of the publisher', MAX_IP_LENGTH),
  callerIP: anyOf('The same as callerIp', MAX_IP_LENGTH),
};

/** Filters of messages and their events. */
export const messageFilters = {
  ...commonFilters,
  messageIds: anyOf('IDs of messages', LIMITS.maxRunIdLength),
  host: anyOf('Host of the destination, with the port if the URL has one', LIMITS.maxWorkflowUrlLength, 'may-be-inside'),
  path: anyOf('Path of the destination, without the query', LIMITS.maxWorkflowUrlLength, 'may-be-inside'),
};

const Filters = Type.Object(messageFilters);
export type AskedMessages = StaticDecode<typeof Filters>;

/** `undefined` matches everything. */
export function messageFilterOf(asked: AskedMessages): MessageFilter {
  return {
    messageIds: asked.messageIds,
    workflowUrls: asked.url,
    hosts: asked.host,
    paths: asked.path,
    urlGroups: asked.topicName,
    scheduleIds: asked.scheduleId,
    queues: asked.queueName,
    fromDate: asked.fromDate,
    toDate: asked.toDate,
    labels: asked.label,
    flowControlKeys: asked.flowControlKey,
    callerIps: asked.callerIp ?? asked.callerIP,
  };
}
