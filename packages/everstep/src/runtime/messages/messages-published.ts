/** Plain messages as users ask for them: published, looked at, canceled. */
import { LIMITS, PART } from '../../config/limits.js';
import type { DecisionContext } from '../../engine/ids.js';
import { runKeyOfMessage } from '../../engine/ids.js';
import { ADVANCE_SLOT, type MessageSettings, type RunPayload } from '../../engine/runs/run.js';
import { type Started, startRun } from '../../engine/runs/start.js';
import type { CommitResult, CommitUnit } from '../../engine/writes.js';
import { attemptsOf } from '../../ports/stores/history-parts.js';
import type { Listing, Position, Store } from '../../ports/stores/store.js';
import type {
  ListedMessage,
  MessageCommand,
  MessageEvent,
  MessageQuery,
  MessageRecord,
  MessageService,
  PublishedMessage,
  PublishOutcome,
} from '../interface/messages.js';
import type { CancelOutcome } from '../interface/runs.js';
import { eventsOf, isMessageRun } from './message-log.js';

/** Messages that are looked at in one go when what is shown of them has to be gathered. */
const PAGE = 100;

export interface PublishedMessagesOptions {
  readonly store: Pick<Store, 'runRecord' | 'runHistory' | 'listAttempts' | 'listRuns' | 'findUrlGroup'>;
  readonly context: () => DecisionContext;
  /** Makes a unit durable; rejects when that may not have happened. */
  readonly commit: (unit: CommitUnit) => Promise<CommitResult>;
  /** Acts on a run that is durable. */
  readonly begin: (started: Started, payload: RunPayload) => void;
  /** False when it is not active (any more). */
  readonly cancel: (runKey: string) => Promise<boolean>;
  readonly isInFlight: (ticket: { readonly runKey: string; readonly slot: number }) => boolean;
}

interface Addressee {
  readonly url: string;
  readonly endpointName: string | null;
}

/** One message that is to be made, with the place in which its outcome stands. */
interface Draft {
  readonly addressee: Addressee;
  readonly started: Started;
  readonly payload: RunPayload;
  readonly deduplicated: boolean;
}

function settingsOf(command: MessageCommand, { endpointName }: Addressee): MessageSettings {
  const { method, queue, callback, destination } = command;
  return {
    method,
    ...(queue === null ? {} : { queue }),
    ...(destination.kind === 'url-group' ? { urlGroup: destination.name } : {}),
    ...(endpointName === null ? {} : { endpointName }),
    ...(callback ? { callback } : {}),
  };
}

/** A message is tried at most so often, so its attempts are few. */
const WHOLE = { maxRows: LIMITS.maxRetries + 1, maxBytes: LIMITS.maxPageBytes };

/** Every event repeats them. */
const settingsBytes = ({ settings }: MessageRecord['run']): number => JSON.stringify(settings).length + LIMITS.rowBytes;

async function failedAttempts(store: Pick<Store, 'listAttempts'>, runKey: string): Promise<number> {
  let failed = 0;
  for await (const attempts of attemptsOf(store, { runKey, bounds: PART, slot: ADVANCE_SLOT })) failed += attempts.length;
  return failed;
}

const shown = ({ started, addressee }: Draft, messageId = started.run.workflowRunId, deduplicated = false): PublishedMessage => ({
  messageId,
  url: addressee.url,
  endpointName: addressee.endpointName,
  deduplicated,
});

export class PublishedMessages implements MessageService {
  private readonly options: PublishedMessagesOptions;

  constructor(options: PublishedMessagesOptions) {
    this.options = options;
  }

  async publish(commands: readonly MessageCommand[]): Promise<readonly PublishOutcome[]> {
    const addressees = await Promise.all(commands.map((command) => this.addresseesOf(command)));
    const drafts = commands.map((command, index) => (addressees[index] ?? []).map((addressee) => this.draft(command, addressee)));
    const together = drafts.flat().filter(({ deduplicated }) => !deduplicated);
    const joined = this.publishTogether(together);
    // In the same turn of the event loop, so they become durable together, too; but one that was there refuses no other.
    const single = drafts.map((ofCommand) =>
      Promise.all(ofCommand.map((draft) => (draft.deduplicated ? this.publishOne(draft) : joined.then(() => shown(draft))))),
    );
    const published = await Promise.all(single);
    return commands.map(({ destination }, index) => {
      const messages = published[index] ?? [];
      return messages.length === 0 && destination.kind === 'url-group'
        ? { kind: 'url-group-not-found', name: destination.name }
        : { kind: 'published', messages };
    });
  }

  async find({
    instanceId,
    messageId,
  }: {
    readonly instanceId: string;
    readonly messageId: string;
  }): Promise<MessageRecord | null> {
    const { store, isInFlight } = this.options;
    const runKey = runKeyOfMessage(messageId);
    const history = runKey === null ? null : await store.runHistory({ runKey, bounds: PART, maxOutBytes: 0 });
    if (runKey === null || history?.run.instanceId !== instanceId || !isMessageRun(history.run)) return null;
    const { run, tasks } = history;
    const task = tasks.find(({ slot }) => slot === ADVANCE_SLOT);
    return {
      run,
      retried: await failedAttempts(store, runKey),
      nextAttemptAt: run.status === 'active' ? (task?.dueAt ?? null) : null,
      inFlight: isInFlight({ runKey, slot: ADVANCE_SLOT }),
    };
  }

  list(query: MessageQuery): Promise<Listing<ListedMessage>> {
    return this.page(query, query.after, query.limit);
  }

  async events(query: Parameters<MessageService['events']>[0]): Promise<Listing<MessageEvent>> {
    const { states, limit } = query;
    const events: MessageEvent[] = [];
    let looked = 0;
    let bytes = 0;
    let next = query.after;
    do {
      // Few at a time: what happened to one message is never torn apart.
      const page = await this.page(query, next, Math.max(1, Math.min(PAGE, Math.ceil((limit - events.length) / 3))));
      next = page.next;
      looked += page.items.length;
      for (const [index, run] of page.items.entries()) {
        const wanted = (await this.eventsOfRun(run)).filter(({ state }) => states?.includes(state) ?? true);
        bytes += wanted.length * settingsBytes(run) + wanted.reduce((sum, { error = '' }) => sum + error.length, 0);
        events.push(...wanted.reverse());
        const isLast = index === page.items.length - 1;
        if (bytes < LIMITS.maxPageBytes || isLast) continue;
        return { items: events.sort((a, b) => b.at - a.at), next: run.position };
      }
      // A state that hardly any message has been in would be looked for in all of them.
    } while (next !== null && events.length < limit && looked < LIMITS.maxMessagesScanned && bytes < LIMITS.maxPageBytes);
    return { items: events.sort((a, b) => b.at - a.at), next };
  }

  async cancel(command: { readonly instanceId: string; readonly messageId: string }): Promise<CancelOutcome> {
    const runKey = runKeyOfMessage(command.messageId);
    const run = runKey === null ? null : await this.options.store.runRecord({ runKey });
    if (run?.instanceId !== command.instanceId || !isMessageRun(run)) return { kind: 'not-found' };
    return { kind: (await this.options.cancel(run.key)) ? 'canceled' : 'not-active' };
  }

  async cancelAll(query: MessageQuery): Promise<{ readonly canceled: number; readonly next: Position | null }> {
    const { items, next } = await this.list({ ...query, filter: { ...query.filter, statuses: ['active'] } });
    const canceled = await Promise.all(items.map(({ key }) => this.options.cancel(key)));
    return { canceled: canceled.filter(Boolean).length, next };
  }

  private async addresseesOf({ instanceId, destination }: MessageCommand): Promise<readonly Addressee[]> {
    if (destination.kind === 'url') return [{ url: destination.url, endpointName: null }];
    const group = await this.options.store.findUrlGroup({ instanceId, name: destination.name });
    return (group?.endpoints ?? []).map(({ url, name }) => ({ url, endpointName: name }));
  }

  private draft(command: MessageCommand, addressee: Addressee): Draft {
    const {
      instanceId,
      dialect,
      payload,
      settings,
      callerIp,
      notBefore,
      destination,
      deduplicationId: id,
      admittedAt = null,
    } = command;
    // Of a group each endpoint has its message. A line break cannot stand in an id that somebody gave.
    const deduplicationId = id !== null && destination.kind === 'url-group' ? `${id}\n${addressee.url}` : id;
    const started = startRun(
      {
        instanceId,
        dialect,
        workflowUrl: addressee.url,
        payload,
        settings: { ...settings, message: settingsOf(command, addressee) },
        callerIp,
        workflowRunId: null,
        notBefore,
        deduplicationId,
        admittedAt,
      },
      this.options.context(),
    );
    return { addressee, started, payload, deduplicated: deduplicationId !== null };
  }

  private async publishTogether(drafts: readonly Draft[]): Promise<void> {
    if (drafts.length === 0) return;
    const units = drafts.map(({ started }) => started.unit);
    const result = await this.options.commit({
      guards: units.flatMap(({ guards }) => guards),
      writes: units.flatMap(({ writes }) => writes),
    });
    if (result.kind !== 'applied') throw new Error(`messages cannot end as ${result.kind}`);
    for (const { started, payload } of drafts) this.options.begin(started, payload);
  }

  private async publishOne(draft: Draft): Promise<PublishedMessage> {
    const { started, payload } = draft;
    const result = await this.options.commit(started.unit);
    if (result.kind === 'duplicate') return shown(draft, result.run.workflowRunId, true);
    if (result.kind !== 'applied') throw new Error(`a message cannot end as ${result.kind}`);
    this.options.begin(started, payload);
    return shown(draft);
  }

  private async page(query: MessageQuery, after: Position | null, limit: number): Promise<Listing<ListedMessage>> {
    const { instanceId } = query;
    const { messageIds, ...filter } = query.filter;
    const runKeys = messageIds?.map(runKeyOfMessage).filter((key) => key !== null);
    const asked = { ...filter, kind: 'message', ...(runKeys ? { runKeys } : {}) } as const;
    const page = await this.options.store.listRuns({
      instanceId,
      filter: asked,
      order: 'newest-first',
      after,
      horizon: null,
      limit,
    });
    return { items: page.items.filter((run): run is ListedMessage => isMessageRun(run)), next: page.next };
  }

  private async eventsOfRun(run: MessageRecord['run']): Promise<readonly MessageEvent[]> {
    const { store, isInFlight, context } = this.options;
    const history = await store.runHistory({ runKey: run.key, bounds: WHOLE, maxOutBytes: 0 });
    const inFlight = isInFlight({ runKey: run.key, slot: ADVANCE_SLOT });
    return history ? eventsOf(run, history, { inFlight, now: context().now }) : [];
  }
}
