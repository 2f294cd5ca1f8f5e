/** Publishes plain messages, one or many per request. */

import type { Caller } from '../../../accounts/tokens/caller.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { MessageCommand, PublishedMessage, PublishOutcome } from '../../../runtime/services/workflow-service.js';
import { type AllowedRuns, allowRuns, allowSize, startAllowedBatches } from '../../admission/plan-limits.js';
import { allowPublication } from '../../admission/publication-size.js';
import type { ApiContext, RequestContext } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { allowNamedObjects, NewNames } from '../../quotas/named-objects.js';
import type { BatchItem, ItemResult, PublishedItem, PublishItems } from './batch-items.js';
import { messageCommand } from './message-command.js';

const present = ({ messageId, url, deduplicated }: PublishedMessage): PublishedItem =>
  deduplicated ? { messageId, url, deduplicated: true } : { messageId, url };

const groupNotFound = (name: string): ApiError =>
  new ApiError('not-found', `URL group ${quoteValue(name)} does not exist or has no endpoints; add an endpoint first`);

/** Returns the result of publishing a message. Throws ApiError if the message was not published. */
function resultOf(
  { destination }: MessageCommand,
  outcome: PublishOutcome | undefined,
): Exclude<ItemResult, { readonly error: string }> {
  if (!outcome) throw new Error('a message has no outcome');
  if (outcome.kind === 'url-group-not-found') throw groupNotFound(outcome.name);
  const publishedItems = outcome.messages.map(present);
  const [firstItem] = publishedItems;
  return destination.kind === 'url' && firstItem ? firstItem : publishedItems;
}

/** A message that may be published. Until the outcome is known, one message for each endpoint counts toward the daily limit. */
interface AllowedMessage extends AllowedRuns {
  readonly command: MessageCommand;
  /** Total size for all endpoints. */
  readonly bytes: number;
}

/**
 * Checks the message against the limits of the instance. Throws ApiError if the instance may not publish the message.
 * `earlierBytes` is the size of the earlier messages of the request.
 */
async function allowMessage(
  command: MessageCommand,
  context: ApiContext,
  newNames: NewNames,
  earlierBytes = 0,
): Promise<AllowedMessage> {
  const { instanceId, destination, payload, settings, callback } = command;
  allowSize(context, instanceId, payload.body);
  let runs = 1;
  if (destination.kind === 'url-group') {
    const group = await context.service.urlGroups.find({ instanceId, name: destination.name });
    if (!group || group.endpoints.length === 0) throw groupNotFound(destination.name);
    runs = group.endpoints.length;
  }
  const bytes = allowPublication({ payload, settings: { ...settings, callback } }, runs, earlierBytes);
  await allowNamedObjects(context, instanceId, [settings], newNames);
  const runAdmission = await allowRuns(context, instanceId, runs);
  return { command: { ...command, admittedAt: runAdmission.at }, runs, runAdmission, bytes };
}

/** Returns the number of new messages. It can differ from the number admitted if the endpoints of a group have changed. */
const countNew = (outcome: PublishOutcome | undefined): number =>
  outcome?.kind === 'published' ? outcome.messages.filter(({ deduplicated }) => !deduplicated).length : 0;

/** Publishes the messages. Duplicates do not count toward the daily limit. */
function publishAllowed(
  allowedMessages: readonly AllowedMessage[],
  context: ApiContext,
  { instanceId }: Pick<Caller, 'instanceId'>,
): Promise<readonly PublishOutcome[]> {
  const commands = allowedMessages.map(({ command }) => command);
  return startAllowedBatches(context, instanceId, allowedMessages, () => context.service.messages.publish(commands), countNew);
}

const errorResult = (error: unknown, context: ApiContext): { readonly error: string } => {
  if (error instanceof ApiError) return { error: error.message };
  context.log.error({ error: String(error) }, 'could not publish a batch item');
  return {
    error: 'internal error; the message may have been published: check first, or repeat it with the same deduplication id',
  };
};

/** Publishes the valid items. An item that cannot be published gets its own error. */
export const publishItems: PublishItems = async (items, context, request, caller) => {
  const results: ItemResult[] = [];
  const acceptedItems: { readonly index: number; readonly allowed: AllowedMessage }[] = [];
  const newNames = new NewNames();
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    try {
      const command = messageCommand(item, context, request, caller);
      const allowed = await allowMessage(command, context, newNames, bytes);
      bytes += allowed.bytes;
      acceptedItems.push({ index, allowed });
    } catch (error) {
      results[index] = errorResult(error, context);
    }
  }
  if (acceptedItems.length === 0) return results;
  const outcomes = await publishAllowed(
    acceptedItems.map(({ allowed }) => allowed),
    context,
    caller,
  );
  for (const [position, { index, allowed }] of acceptedItems.entries()) {
    try {
      results[index] = resultOf(allowed.command, outcomes[position]);
    } catch (error) {
      results[index] = errorResult(error, context);
    }
  }
  return results;
};

/** Publishes one message. Throws ApiError if it is not published. */
export async function publishOne(
  item: BatchItem,
  context: ApiContext,
  request: RequestContext,
  caller: Caller,
): Promise<PublishedItem | PublishedItem[]> {
  const command = messageCommand(item, context, request, caller);
  const [outcome] = await publishAllowed([await allowMessage(command, context, new NewNames())], context, caller);
  return resultOf(command, outcome);
}
