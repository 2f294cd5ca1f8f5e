/**
 * Items that clients publish, alone or in a batch. One request can contain all kinds: submissions of an
 * endpoint that handles a delivery, starts of runs, and plain messages. The headers of an item determine its kind.
 */
import type { Caller } from '../../../accounts/tokens/caller.js';
import type { ApiContext, RequestContext } from '../../operation.js';
import type { ReceivedHeaders } from '../../parameters/prefixed-headers.js';

export interface BatchItem {
  /** A URL or the name of a URL group, as received. */
  readonly destination: string;
  /** Headers with lowercase names, and with values as Node receives them. */
  readonly headers: ReceivedHeaders;
  /** Empty if there is none. */
  readonly body: Uint8Array;
  readonly queue: string | null;
}

export type ItemKind =
  /** Results and plans of a run's steps. */
  | 'submission'
  /** The request of a call step. */
  | 'call'
  /** The run that an invoke step starts. */
  | 'invoke'
  /** A run to start, or an endpoint that introduces itself for its run. */
  | 'trigger'
  | 'message';

/** The result of one item. An item for a URL group has one result for each endpoint. */
export interface PublishedItem {
  readonly messageId: string;
  readonly url?: string;
  readonly deduplicated?: true;
}
export type ItemResult = PublishedItem | PublishedItem[] | { readonly error: string };

/** Publishes plain messages and returns their results in the same order. Throws ApiError for an invalid batch. */
export type PublishItems = (
  items: readonly BatchItem[],
  context: ApiContext,
  request: RequestContext,
  caller: Caller,
) => Promise<readonly ItemResult[]>;

const RUN_ID_HEADER = 'upstash-workflow-runid';
const CALLBACK_RUN_ID_HEADER = 'upstash-callback-workflow-runid';

export function kindOf({ headers }: Pick<BatchItem, 'headers'>): ItemKind {
  if (headers['upstash-workflow-calltype'] === 'toCallback' && headers[CALLBACK_RUN_ID_HEADER] !== undefined) {
    return 'call';
  }
  switch (headers['upstash-workflow-init']) {
    case 'true':
      return headers['upstash-workflow-invoke'] === 'true' ? 'invoke' : 'trigger';
    case 'false':
      return headers[RUN_ID_HEADER] === undefined ? 'message' : 'submission';
    default:
      return 'message';
  }
}
