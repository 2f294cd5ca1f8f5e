/** Publishing plain messages: one, or many in one request. */

import type { Caller } from '../../../accounts/authority.js';
import { ApiError } from '../../../contract/error-codes.js';
import { type AllowedRuns, allowRuns, allowSize, startAllAllowed } from '../../../http-api/allowance.js';
import type { ApiContext, RequestContext } from '../../../http-api/operation.js';
import { shown } from '../../../http-api/parameters/unacceptable.js';
import { allowNames } from '../../../http-api/quotas/named-things.js';
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

/** A message to each addressee, of which so many count for the day until it is known what was published. */
interface Allowed extends AllowedRuns {
  readonly command: MessageCommand;
}

/** Throws ApiError when the instance may not publish it. */
async function allow(command: MessageCommand, context: ApiContext): Promise<Allowed> {
  const { instanceId, destination, payload } = command;
  allowSize(context, instanceId, payload.body);
  let runs = 1;
  if (destination.kind === 'url-group') {
    const group = await context.service.urlGroup({ instanceId, name: destination.name });
    if (!group || group.endpoints.length === 0) throw noSuchGroup(destination.name);
    runs = group.endpoints.length;
  }
  await allowNames(context, instanceId, [command.settings]);
  const letIn = await allowRuns(context, instanceId, runs);
  return { command: { ...command, letInAt: letIn.at }, runs, letIn };
}

/** How many are new. A group may have got, or lost, an endpoint since it was looked at. */
const newIn = (outcome: PublishOutcome | undefined): number =>
  outcome?.kind === 'published' ? outcome.messages.filter(({ deduplicated }) => !deduplicated).length : 0;

/** Publishes them together. Messages that were there already do not count for the day. */
function publishAllowed(
  allowed: readonly Allowed[],
  context: ApiContext,
  { instanceId }: Pick<Caller, 'instanceId'>,
): Promise<readonly PublishOutcome[]> {
  const commands = allowed.map(({ command }) => command);
  return startAllAllowed(context, instanceId, allowed, () => context.service.publish(commands), newIn);
}

const inWords = (error: unknown, context: ApiContext): { readonly error: string } => {
  if (error instanceof ApiError) return { error: error.message };
  context.log.error({ error: String(error) }, 'could not publish a batch item');
  return { error: 'something went wrong inside the service; whether the message was published is not known' };
};

/** An item that cannot be published is answered with its error; the others are published. */
export const publishItems: PublishItems = async (items, context, request, caller) => {
  const answers: ItemAnswer[] = [];
  const accepted: { readonly index: number; readonly allowed: Allowed }[] = [];
  for (const [index, item] of items.entries()) {
    try {
      const command = messageCommand(item, context, request, caller);
      accepted.push({ index, allowed: await allow(command, context) });
    } catch (error) {
      answers[index] = inWords(error, context);
    }
  }
  if (accepted.length === 0) return answers;
  const outcomes = await publishAllowed(
    accepted.map(({ allowed }) => allowed),
    context,
    caller,
  );
  for (const [at, { index, allowed }] of accepted.entries()) {
    try {
      answers[index] = answerOf(allowed.command, outcomes[at]);
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
  const [outcome] = await publishAllowed([await allow(command, context)], context, caller);
  return answerOf(command, outcome);
}
