/** Publishing plain messages: one, or many in one request. */
import type { Caller } from '../../../accounts/authority.js';
import { ApiError } from '../../../contract/error-codes.js';
import { allowRuns, allowSize } from '../../../http-api/allowance.js';
import type { ApiContext, RequestContext } from '../../../http-api/operation.js';
import { shown } from '../../../http-api/parameters/unacceptable.js';
import type { MessageCommand, PublishedMessage, PublishOutcome } from '../../../runtime/workflow-service.js';
import type { BatchItem, ItemAnswer, PublishedItem, PublishItems } from './batch-items.js';
import { messageCommand } from './message-command.js';

const present = ({ messageId, url, deduplicated }: PublishedMessage): PublishedItem =>
  deduplicated ? { messageId, url, deduplicated: true } : { messageId, url };

const noSuchGroup = (name: string): ApiError =>
  new ApiError('not-found', `there is no URL group ${shown(name)}, or it has no endpoint; add one first`);

/** Throws ApiError when it was not published. */
function answerOf(
  { destination }: MessageCommand,
  outcome: PublishOutcome | undefined,
): Exclude<ItemAnswer, { readonly error: string }> {
  if (!outcome) throw new Error('a message has no outcome');
  if (outcome.kind === 'url-group-not-found') throw noSuchGroup(outcome.name);
  const published = outcome.messages.map(present);
  const [only] = published;
  return destination.kind === 'url' && only ? only : published;
}

/** Throws ApiError when the instance may not publish it. */
async function allow(command: MessageCommand, context: ApiContext): Promise<void> {
  const { instanceId, destination, payload } = command;
  allowSize(context, instanceId, payload.body);
  if (destination.kind === 'url') {
    await allowRuns(context, instanceId);
    return;
  }
  const group = await context.service.urlGroup({ instanceId, name: destination.name });
  if (!group || group.endpoints.length === 0) throw noSuchGroup(destination.name);
  await allowRuns(context, instanceId, group.endpoints.length);
}

const inWords = (error: unknown, context: ApiContext): { readonly error: string } => {
  if (error instanceof ApiError) return { error: error.message };
  context.log.error({ error: String(error) }, 'an item of a batch could not be published');
  return { error: 'something went wrong inside the service; whether the message was published is not known' };
};

/** An item that cannot be published is answered with its error; the others are published. */
export const publishItems: PublishItems = async (items, context, request, caller) => {
  const answers: ItemAnswer[] = [];
  const accepted: { readonly index: number; readonly command: MessageCommand }[] = [];
  for (const [index, item] of items.entries()) {
    try {
      const command = messageCommand(item, context, request, caller);
      await allow(command, context);
      accepted.push({ index, command });
    } catch (error) {
      answers[index] = inWords(error, context);
    }
  }
  const outcomes = accepted.length === 0 ? [] : await context.service.publish(accepted.map(({ command }) => command));
  for (const [at, { index, command }] of accepted.entries()) {
    try {
      answers[index] = answerOf(command, outcomes[at]);
    } catch (error) {
      answers[index] = inWords(error, context);
    }
  }
  return answers;
};

/** Publishes one. Throws ApiError when it is not published. */
export async function publishOne(
  item: BatchItem,
  context: ApiContext,
  request: RequestContext,
  caller: Caller,
): Promise<PublishedItem | PublishedItem[]> {
  const command = messageCommand(item, context, request, caller);
  await allow(command, context);
  const [outcome] = await context.service.publish([command]);
  return answerOf(command, outcome);
}
