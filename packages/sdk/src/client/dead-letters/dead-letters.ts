/** Client for the dead letter queue. */
import { DEAD_LETTER_LISTS } from '../generated/filters.js';
import type {
  DeadLetterAssignees,
  DeadLetterCheckOptions,
  DeadLetterCheckPage,
  DeadLetterEntry,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterGroupPage,
  DeadLetterGroupState,
  DeadLetterPage,
  DeletedDeadLetters,
  FailureFunctionChange,
  RecoveredRuns,
  RunReference,
} from '../generated/index.js';
import { type ListOrder, overrideHeaders, type RunOverrides, type SingleRecoverOptions } from '../settings.js';
import { type Call, jsonCall, withListValues } from '../transport.js';

type OneOrMore<T> = T | readonly T[];

/** Options for a page of dead letters. */
export interface DeadLetterListOptions extends DeadLetterFilter {
  /** Order by the time of the failure. Default: newest first. */
  readonly order?: ListOrder;
  /** Cursor from the previous page, with the same filters and order. */
  readonly cursor?: string;
  /** Number of entries per page, 1 to 100. */
  readonly count?: number;
}

/** Entries of a bulk operation. With `dlqIds` (at most 50), the other filters are ignored. */
export interface BulkOptions extends DeadLetterFilter {
  /** Ids of the entries. */
  readonly dlqIds?: readonly string[];
  /** Cursor from the previous page, with the same filters. */
  readonly cursor?: string;
  /** Maximum number of entries across all requests. */
  readonly count?: number;
}

/** Filters are combined with AND, the values of one filter with OR. Dates are Unix milliseconds or Date, inclusive. */
export interface DeadLetterGroupOptions {
  /** Only groups in this state. */
  readonly state?: OneOrMore<DeadLetterGroupState>;
  /** Only groups that currently have entries of this workflow. */
  readonly workflowUrl?: OneOrMore<string>;
  /** Only groups that were last seen at or after this time. */
  readonly fromDate?: number | Date;
  /** Only groups that were first seen at or before this time. */
  readonly toDate?: number | Date;
  /** Kind of the groups. Default: groups of workflow runs. */
  readonly kind?: DeadLetterGroup['kind'];
  /** Includes groups whose entries have all left the queue. */
  readonly withEmpty?: boolean;
  /** Cursor from the previous page, with the same filters. */
  readonly cursor?: string;
  /** Number of groups per page, 1 to 100. */
  readonly count?: number;
}

const DLQ = '/v2/workflows/dlq';
const groupPath = (fingerprint: string, verb = '') => `${DLQ}/groups/${encodeURIComponent(fingerprint)}${verb}`;
const entryPath = (dlqId: string, verb = '') => `${DLQ}${verb}/${encodeURIComponent(dlqId)}`;

/** Operations on the dead letter queue. Use it through `Client.dlq`. Methods reject with EverstepError. */
export class DeadLetters {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Returns one page, newest first or in the given order. */
  list(options: DeadLetterListOptions = {}): Promise<DeadLetterPage> {
    return this.call({ method: 'GET', path: DLQ, query: withListValues(options, DEAD_LETTER_LISTS) });
  }

  /** Returns all entries, newest first or in the given order, fetching pages as needed. */
  async *entries(filter: DeadLetterListOptions = {}): AsyncGenerator<DeadLetterEntry, void, undefined> {
    let cursor = filter.cursor;
    do {
      const page = await this.list({ ...filter, ...(cursor ? { cursor } : {}) });
      yield* page.messages;
      cursor = page.cursor;
    } while (cursor);
  }

  /** Returns one entry. */
  get(dlqId: string): Promise<DeadLetterEntry> {
    return this.call({ method: 'GET', path: entryPath(dlqId) });
  }

  /** Creates a new run that continues from the failed step with the recorded results. */
  async resume(dlqId: string, options: SingleRecoverOptions = {}): Promise<RunReference> {
    return this.call({ method: 'POST', path: entryPath(dlqId, '/resume'), headers: overrideHeaders(options) });
  }

  /** Creates a new run from the first step, with the original payload and settings. */
  async restart(dlqId: string, options: SingleRecoverOptions = {}): Promise<RunReference> {
    return this.call({ method: 'POST', path: entryPath(dlqId, '/restart'), headers: overrideHeaders(options) });
  }

  /**
   * Checks whether the current code of the endpoints would replay these runs, newest first. One request checks at
   * most 100 runs; continue with `cursor`. No step is executed and nothing is recorded.
   */
  check(options: DeadLetterCheckOptions = {}): Promise<DeadLetterCheckPage> {
    return this.call(jsonCall('POST', `${DLQ}/check`, options));
  }

  /** Deletes the entry. The run stays in the log. */
  async delete(dlqId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: entryPath(dlqId) });
  }

  /** Returns one page of groups of failures: regressed groups first, then new ones, then known ones. */
  groups(options: DeadLetterGroupOptions = {}): Promise<DeadLetterGroupPage> {
    return this.call({ method: 'GET', path: `${DLQ}/groups`, query: withListValues(options, ['workflowUrl', 'state']) });
  }

  /** Returns all groups, fetching pages as needed. */
  async *allGroups(options: DeadLetterGroupOptions = {}): AsyncGenerator<DeadLetterGroup, void, undefined> {
    let cursor = options.cursor;
    do {
      const page = await this.groups({ ...options, ...(cursor ? { cursor } : {}) });
      yield* page.groups;
      cursor = page.cursor;
    } while (cursor);
  }

  /** Returns one group. */
  group(fingerprint: string): Promise<DeadLetterGroup> {
    return this.call({ method: 'GET', path: groupPath(fingerprint) });
  }

  /** Acknowledges the group: it is no longer new or regressed. */
  acknowledgeGroup(fingerprint: string): Promise<DeadLetterGroup> {
    return this.call({ method: 'POST', path: groupPath(fingerprint, '/acknowledge') });
  }

  /** Marks the cause as fixed. The next entry makes the group regressed. */
  resolveGroup(fingerprint: string): Promise<DeadLetterGroup> {
    return this.call({ method: 'POST', path: groupPath(fingerprint, '/resolve') });
  }

  /** Returns the emails of users who can be assigned to groups. */
  async assignees(): Promise<readonly string[]> {
    return (await this.call<DeadLetterAssignees>({ method: 'GET', path: `${DLQ}/assignees` })).assignees;
  }

  /** Sets the user who works on the group, by email. Null removes the assignment. */
  assignGroup(fingerprint: string, assignee: string | null): Promise<DeadLetterGroup> {
    return this.call(jsonCall('PUT', groupPath(fingerprint, '/assignee'), { assignee }));
  }

  /**
   * Snoozes the group: until that time (at most 90 days from now) it needs no attention and raises no alert, unless it
   * regresses. Null ends the snooze.
   */
  snoozeGroup(fingerprint: string, until: number | Date | null): Promise<DeadLetterGroup> {
    return this.call(jsonCall('PUT', groupPath(fingerprint, '/snooze'), { until: until === null ? null : Number(until) }));
  }

  /** Adds a note of at most 1,000 characters. A group has at most 20 notes. */
  addGroupNote(fingerprint: string, text: string): Promise<DeadLetterGroup> {
    return this.call(jsonCall('POST', groupPath(fingerprint, '/notes'), { text }));
  }

  /** Deletes a note. */
  deleteGroupNote(fingerprint: string, noteId: string): Promise<DeadLetterGroup> {
    return this.call({ method: 'DELETE', path: groupPath(fingerprint, `/notes/${encodeURIComponent(noteId)}`) });
  }

  /** Calls the failure callback or failure function again, starting with the first attempt. */
  retryCallback(dlqId: string): Promise<FailureFunctionChange> {
    return this.call({ method: 'POST', path: entryPath(dlqId, '/callback') });
  }

  /** Cancels further attempts of the failure callback or failure function. */
  cancelCallback(dlqId: string): Promise<FailureFunctionChange> {
    return this.call({ method: 'DELETE', path: entryPath(dlqId, '/callback') });
  }

  /** Resumes at most 50 runs in one request. Continue with `cursor`. */
  async resumeMany(options: BulkOptions = {}, overrides: RunOverrides = {}): Promise<RecoveredRuns> {
    return this.call({
      method: 'POST',
      path: `${DLQ}/resume`,
      query: withListValues(options, DEAD_LETTER_LISTS),
      headers: overrideHeaders(overrides),
    });
  }

  /** Restarts at most 50 runs in one request. Continue with `cursor`. */
  async restartMany(options: BulkOptions = {}, overrides: RunOverrides = {}): Promise<RecoveredRuns> {
    return this.call({
      method: 'POST',
      path: `${DLQ}/restart`,
      query: withListValues(options, DEAD_LETTER_LISTS),
      headers: overrideHeaders(overrides),
    });
  }

  /**
   * Deletes at most 50 entries in one request. Continue with `cursor`. The server rejects a deletion without any
   * filter.
   */
  deleteMany(options: BulkOptions): Promise<DeletedDeadLetters> {
    return this.call({ method: 'DELETE', path: DLQ, query: withListValues(options, DEAD_LETTER_LISTS) });
  }

  /** Resumes all matching runs, request after request, and yields the new runs. */
  resumeAll(options: BulkOptions = {}, overrides: RunOverrides = {}): AsyncGenerator<RunReference, void, undefined> {
    return runsOfAllPages(options, (page) => this.resumeMany(page, overrides));
  }

  /** Restarts all matching runs, request after request, and yields the new runs. */
  restartAll(options: BulkOptions = {}, overrides: RunOverrides = {}): AsyncGenerator<RunReference, void, undefined> {
    return runsOfAllPages(options, (page) => this.restartMany(page, overrides));
  }

  /** Deletes all matching entries, request after request, and returns their number. */
  async deleteAll(options: BulkOptions): Promise<number> {
    let deletedCount = 0;
    let cursor = options.cursor;
    do {
      const page = await this.deleteMany({ ...options, ...(cursor ? { cursor } : {}) });
      deletedCount += page.deleted;
      cursor = page.cursor;
    } while (cursor);
    return deletedCount;
  }
}

async function* runsOfAllPages(
  options: BulkOptions,
  request: (page: BulkOptions) => Promise<RecoveredRuns>,
): AsyncGenerator<RunReference, void, undefined> {
  let cursor = options.cursor;
  do {
    const page = await request({ ...options, ...(cursor ? { cursor } : {}) });
    yield* page.workflowRuns;
    cursor = page.cursor;
  } while (cursor);
}
