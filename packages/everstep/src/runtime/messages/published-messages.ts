/** Publishes, reads and cancels plain messages for users. */
import { LIMITS, PART_LIMITS } from '../../config/limits.js';
import { runKeyOfMessage } from '../../engine/ids.js';
import { ADVANCE_SLOT, type MessageSettings, type RunPayload } from '../../engine/runs/run.js';
import { type StartedRun, startRun } from '../../engine/runs/start.js';
import type { WorkSlices } from '../../fairness/work-slices.js';
import type { ControlStore } from '../../ports/stores/control-store.js';
import { readAttempts } from '../../ports/stores/history-parts.js';
import type { HistoryStore } from '../../ports/stores/history-store.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { Listing, Position } from '../../ports/stores/store.js';
import type {
  ListedMessage,
  MessageCommand,
  MessageEvent,
  MessageEventQuery,
  MessageQuery,
  MessageRecord,
  MessageService,
  PublishedMessage,
  PublishOutcome,
} from '../interface/messages.js';
import type { CancelOutcome } from '../interface/runs.js';
import type { RunStarts } from '../runs/run-starts.js';
import { eventsOf, isMessageRun } from './message-log.js';
import { MessagePages } from './message-pages.js';

/** Maximum number of messages per read when their events are collected. */
const PAGE_SIZE = 100;

export interface PublishedMessagesOptions extends RunStarts {
  readonly store: RunStore & HistoryStore & Pick<ControlStore, 'findUrlGroup'>;
  readonly slices: Pick<WorkSlices, 'run'>;
  /** Returns false if the run is not active. */
  readonly cancel: (runKey: string) => Promise<boolean>;
  readonly isInFlight: (ref: { readonly runKey: string; readonly slot: number }) => boolean;
}

interface Recipient {
  readonly url: string;
  readonly endpointName: string | null;
}

/** A message to publish. */
interface MessageDraft {
  readonly recipient: Recipient;
  readonly startedRun: StartedRun;
  readonly payload: RunPayload;
}

function settingsOf(command: MessageCommand, { endpointName }: Recipient): MessageSettings {
  const { method, queue, callback, destination } = command;
  return {
    method,
    ...(queue === null ? {} : { queue }),
    ...(destination.kind === 'url-group' ? { urlGroup: destination.name } : {}),
    ...(endpointName === null ? {} : { endpointName }),
    ...(callback ? { callback } : {}),
  };
}

/** Selects all attempts of a message; their number is limited. */
const ALL_ATTEMPTS = { maxRows: LIMITS.maxRetries + 1, maxBytes: LIMITS.maxPageBytes };

/** Returns the number of bytes of the settings, which every event repeats. */
const settingsBytes = ({ settings }: MessageRecord['run']): number => JSON.stringify(settings).length + LIMITS.assumedRowBytes;

async function countFailedAttempts(store: HistoryStore, runKey: string): Promise<number> {
  let count = 0;
  for await (const attempts of readAttempts(store, { runKey, bounds: PART_LIMITS, slot: ADVANCE_SLOT })) count += attempts.length;
  return count;
}

const publishedMessageOf = (
  { startedRun, recipient }: MessageDraft,
  messageId = startedRun.run.workflowRunId,
  deduplicated = false,
): PublishedMessage => ({
  messageId,
  url: recipient.url,
  endpointName: recipient.endpointName,
  deduplicated,
});

export class PublishedMessages implements MessageService {
  private readonly options: PublishedMessagesOptions;

  constructor(options: PublishedMessagesOptions) {
    this.options = options;
  }

  async publish(commands: readonly MessageCommand[]): Promise<readonly PublishOutcome[]> {
    const recipients = await Promise.all(commands.map((command) => this.recipientsOf(command)));
    const drafts = commands.map((command, index) =>
      (recipients[index] ?? []).map((recipient) => this.createDraft(command, recipient)),
    );
    // Each message is a unit, so that the size of a unit is limited. Units that are submitted in one turn keep their order.
    const publications = drafts.map((commandDrafts) => commandDrafts.map((draft) => this.publishOne(draft)));
    await Promise.allSettled(publications.flat());
    const messagesByCommand = await Promise.all(publications.map((messages) => Promise.all(messages)));
    return commands.map(({ destination }, index) => {
      const messages = messagesByCommand[index] ?? [];
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
    const history = runKey === null ? null : await store.runHistory({ runKey, bounds: PART_LIMITS, maxOutBytes: 0 });
    if (runKey === null || history?.run.instanceId !== instanceId || !isMessageRun(history.run)) return null;
    const { run, tasks } = history;
    const task = tasks.find(({ slot }) => slot === ADVANCE_SLOT);
    return {
      run,
      retried: await countFailedAttempts(store, runKey),
      nextAttemptAt: run.status === 'active' ? (task?.dueAt ?? null) : null,
      inFlight: isInFlight({ runKey, slot: ADVANCE_SLOT }),
    };
  }

  list(query: MessageQuery): Promise<Listing<ListedMessage>> {
    return new MessagePages(this.options).read({ ...query, order: 'newest-first' });
  }

  async events(query: MessageEventQuery): Promise<Listing<MessageEvent>> {
    const { states, limit, order } = query;
    const sortEvents = () => events.sort((a, b) => (order === 'newest-first' ? b.at - a.at : a.at - b.at));
    const events: MessageEvent[] = [];
    const pages = new MessagePages(this.options);
    let examinedMessages = 0;
    let bytes = 0;
    let next = query.after;
    do {
      // Small pages, because the events of one message are never split.
      const pageLimit = Math.max(1, Math.min(PAGE_SIZE, Math.ceil((limit - events.length) / 3)));
      const page = await pages.read({ ...query, after: next, limit: pageLimit });
      next = page.next;
      examinedMessages += page.items.length;
      for (const [index, run] of page.items.entries()) {
        const matchingEvents = (await this.eventsOfRun(run)).filter(({ state }) => states?.includes(state) ?? true);
        bytes +=
          matchingEvents.length * settingsBytes(run) + matchingEvents.reduce((sum, { error = '' }) => sum + error.length, 0);
        events.push(...(order === 'newest-first' ? matchingEvents.reverse() : matchingEvents));
        const isLast = index === page.items.length - 1;
        if (bytes < LIMITS.maxPageBytes || isLast) continue;
        return { items: sortEvents(), next: run.position };
      }
      // Without a limit, the search for a rare state would read all messages.
    } while (
      next !== null &&
      events.length < limit &&
      examinedMessages < LIMITS.maxMessagesScanned &&
      !pages.isSpent &&
      bytes < LIMITS.maxPageBytes
    );
    return { items: sortEvents(), next };
  }

  async cancel(command: { readonly instanceId: string; readonly messageId: string }): Promise<CancelOutcome> {
    const runKey = runKeyOfMessage(command.messageId);
    const run = runKey === null ? null : await this.options.store.findRun({ runKey });
    if (run?.instanceId !== command.instanceId || !isMessageRun(run)) return { kind: 'not-found' };
    return { kind: (await this.options.cancel(run.key)) ? 'canceled' : 'not-active' };
  }

  async cancelAll(query: MessageQuery): Promise<{ readonly canceled: number; readonly next: Position | null }> {
    const { items, next } = await this.list({ ...query, filter: { ...query.filter, statuses: ['active'] } });
    const results = await Promise.all(items.map(({ key }) => this.options.cancel(key)));
    return { canceled: results.filter(Boolean).length, next };
  }

  private async recipientsOf({ instanceId, destination }: MessageCommand): Promise<readonly Recipient[]> {
    if (destination.kind === 'url') return [{ url: destination.url, endpointName: null }];
    const group = await this.options.store.findUrlGroup({ instanceId, name: destination.name });
    return (group?.endpoints ?? []).map(({ url, name }) => ({ url, endpointName: name }));
  }

  private createDraft(command: MessageCommand, recipient: Recipient): MessageDraft {
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
    // Each endpoint of a group has its own message. Ids of users contain no line breaks.
    const deduplicationId = id !== null && destination.kind === 'url-group' ? `${id}\n${recipient.url}` : id;
    const startedRun = startRun(
      {
        instanceId,
        dialect,
        workflowUrl: recipient.url,
        payload,
        settings: { ...settings, message: settingsOf(command, recipient) },
        callerIp,
        workflowRunId: null,
        notBefore,
        deduplicationId,
        admittedAt,
      },
      this.options.context(),
    );
    return { recipient, startedRun, payload };
  }

  private async publishOne(draft: MessageDraft): Promise<PublishedMessage> {
    const { startedRun, payload } = draft;
    const result = await this.options.commit(startedRun.unit);
    if (result.kind === 'duplicate') return publishedMessageOf(draft, result.run.workflowRunId, true);
    if (result.kind !== 'applied') throw new Error(`a message cannot end as ${result.kind}`);
    this.options.drive(startedRun, payload);
    return publishedMessageOf(draft);
  }

  private async eventsOfRun(run: MessageRecord['run']): Promise<readonly MessageEvent[]> {
    const { store, isInFlight, context } = this.options;
    const history = await store.runHistory({ runKey: run.key, bounds: ALL_ATTEMPTS, maxOutBytes: 0 });
    const inFlight = isInFlight({ runKey: run.key, slot: ADVANCE_SLOT });
    return history ? eventsOf(run, history, { inFlight, now: context().now }) : [];
  }
}
