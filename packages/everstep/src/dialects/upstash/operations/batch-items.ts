/**
 * Items that clients publish, alone or in a batch. One request can contain all kinds: submissions of a run that
 * answers a delivery, starts of runs, and plain messages. The headers of an item determine its kind.
 */
import type { Caller } from '../../../accounts/authority.js';
import type { ApiContext, RequestContext } from '../../../http-api/operation.js';
import type { ReceivedHeaders } from '../../../http-api/parameters/prefixed-headers.js';

export interface BatchItem {
  /** A URL or the name of a URL group, as it was given. */
  readonly destination: string;
  /** Lower-case names; values as Node receives them. */
  readonly headers: ReceivedHeaders;
  /** Empty when there is none. */
  readonly body: Uint8Array;
  readonly queue: string | null;
}

export type ItemKind =
  /** Results and plans of steps of a run. */
  | 'submission'
  /** The request of a call step. */
  | 'call'
  /** The run that an invoke step starts. */
  | 'invoke'
  /** A run to be started, or the endpoint of one that introduces itself. */
  | 'trigger'
  | 'message';

/** As it is answered in its place. An item for a group has one of these for each endpoint. */
export interface PublishedItem {
  readonly messageId: string;
  readonly url?: string;
  readonly deduplicated?: true;
}
export type ItemAnswer = PublishedItem | PublishedItem[] | { readonly error: string };

/** Publishes plain messages; each is answered in its place. Throws ApiError for a request that is no batch. */
export type PublishItems = (
  items: readonly BatchItem[],
  context: ApiContext,
  request: RequestContext,
  caller: Caller,
) => Promise<readonly ItemAnswer[]>;

const RUN_ID = 'upstash-workflow-runid';
const CALLBACK_RUN_ID = 'upstash-callback-workflow-runid';

export function kindOf({ headers }: Pick<BatchItem, 'headers'>): ItemKind {
  if (headers['upstash-workflow-calltype'] === 'toCallback' && headers[CALLBACK_RUN_ID] !== undefined) {
    return 'call';
  }
  switch (headers['upstash-workflow-init']) {
    case 'true':
      return headers['upstash-workflow-invoke'] === 'true' ? 'invoke' : 'trigger';
    case 'false':
      return headers[RUN_ID] === undefined ? 'message' : 'submission';
    default:
      return 'message';
  }
}
