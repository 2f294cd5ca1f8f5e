/** Filters of messages, and what they ask of the service. Of several values of one filter any will do. */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { MAX_IP_LENGTH } from '../../../http-api/operations/filters.js';
import { Text, UnixMs } from '../../../http-api/parameters/values.js';
import type { MessageFilter } from '../../../runtime/workflow-service.js';

const anyOf = (what: string, maxLength: number) =>
  Type.Optional(
    Type.Array(Text(maxLength, {}), {
      description: `${what}; any of several: repeat the parameter, or put commas between. A comma inside a value is percent-encoded.`,
    }),
  );

/** Of messages, their dead letters and what happened to them. */
export const commonFilters = {
  url: anyOf('URL of the destination', LIMITS.maxWorkflowUrlLength),
  topicName: anyOf('URL group', LIMITS.maxQueueNameLength),
  scheduleId: anyOf('Schedule that published it', LIMITS.maxRunIdLength),
  queueName: anyOf('Queue', LIMITS.maxQueueNameLength),
  fromDate: Type.Optional(UnixMs('At or after this time, Unix ms')),
  toDate: Type.Optional(UnixMs('At or before this time, Unix ms')),
  label: anyOf('Label', LIMITS.maxLabelLength),
  flowControlKey: anyOf('Flow control key', LIMITS.maxFlowControlKeyLength),
  callerIp: anyOf('IP address of the publisher', MAX_IP_LENGTH),
  callerIP: anyOf('The same as callerIp', MAX_IP_LENGTH),
};

/** Of messages and what happened to them. */
export const messageFilters = {
  ...commonFilters,
  messageIds: anyOf('IDs of messages', LIMITS.maxRunIdLength),
  host: anyOf('Host of the destination, with its port where it has one', LIMITS.maxWorkflowUrlLength),
  path: anyOf('Path of the destination, without a query', LIMITS.maxWorkflowUrlLength),
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
