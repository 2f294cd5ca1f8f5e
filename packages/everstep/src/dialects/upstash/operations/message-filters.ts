/** Filters of messages, and what they ask of the service. Of several values of one filter any will do. */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { MAX_IP_LENGTH } from '../../../http-api/operations/filters.js';
import { AnyOf, type CommaRule } from '../../../http-api/parameters/several.js';
import { Text, UnixMs } from '../../../http-api/parameters/values.js';
import type { MessageFilter } from '../../../runtime/workflow-service.js';

const anyOf = (what: string, maxLength: number, comma?: CommaRule) => Type.Optional(AnyOf(Text(maxLength, {}), what, comma));

/** Of messages, their dead letters and what happened to them. */
export const commonFilters = {
  url: anyOf('URL of the destination', LIMITS.maxWorkflowUrlLength, 'may-be-inside'),
  topicName: anyOf('URL group', LIMITS.maxQueueNameLength),
  scheduleId: anyOf('Schedule that published it', LIMITS.maxRunIdLength, 'may-be-inside'),
  queueName: anyOf('Queue', LIMITS.maxQueueNameLength),
  fromDate: Type.Optional(UnixMs('At or after this time, Unix ms')),
  toDate: Type.Optional(UnixMs('At or before this time, Unix ms')),
  label: anyOf('Label', LIMITS.maxLabelLength),
  flowControlKey: anyOf('Flow control key', LIMITS.maxFlowControlKeyLength, 'may-be-inside'),
  callerIp: anyOf('IP address of the publisher', MAX_IP_LENGTH),
  callerIP: anyOf('The same as callerIp', MAX_IP_LENGTH),
};

/** Of messages and what happened to them. */
export const messageFilters = {
  ...commonFilters,
  messageIds: anyOf('IDs of messages', LIMITS.maxRunIdLength),
  host: anyOf('Host of the destination, with its port where it has one', LIMITS.maxWorkflowUrlLength, 'may-be-inside'),
  path: anyOf('Path of the destination, without a query', LIMITS.maxWorkflowUrlLength, 'may-be-inside'),
};

const Filters = Type.Object(messageFilters);
export type AskedMessages = StaticDecode<typeof Filters>;

/** `undefined` asks for nothing. */
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
