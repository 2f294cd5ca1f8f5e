/** The dead letter queue, as calls. */
import type { DeadLetterCheckOptions, DeadLetterCheckPage } from './run-tool-types.js';
import { overrideHeaders, type RunOverrides, type SingleRecoverOptions } from './settings.js';
import { asLists, type Call, jsonCall } from './transport.js';
import type {
  DeadLetterEntry,
  DeadLetterGroup,
  DeadLetterGroupPage,
  DeadLetterGroupState,
  DeadLetterPage,
  DeletedDeadLetters,
  FailureFunctionChange,
  FailureFunctionState,
  RecoveredRuns,
  RunReference,
} from './types.js';

type OneOrMore<T> = T | readonly T[];

/** Filters are combined with AND; the values of one filter with OR. Dates are Unix ms or Date, inclusive. */
export interface DeadLetterFilter {
  readonly fromDate?: number | Date;
  readonly toDate?: number | Date;
  readonly workflowUrl?: OneOrMore<string>;
  readonly workflowRunId?: string;
  readonly workflowCreatedAt?: number;
  readonly label?: OneOrMore<string>;
  readonly failureFunctionState?: OneOrMore<FailureFunctionState>;
  readonly callerIp?: OneOrMore<string>;
  readonly flowControlKey?: OneOrMore<string>;
  /** Of groups of those that failed alike. */
  readonly fingerprint?: OneOrMore<string>;
}

export interface DeadLetterListOptions extends DeadLetterFilter {
  readonly cursor?: string;
  /** Entries per page, 1 to 100. */
  readonly count?: number;
}

/** Which entries a bulk operation covers. With `dlqIds` (at most 50) the other filters are ignored. */
export interface BulkOptions extends DeadLetterFilter {
  readonly dlqIds?: readonly string[];
  readonly cursor?: string;
  /** At most so many in all, over all requests. */
  readonly count?: number;
}

/** Filters are combined with AND; the values of one filter with OR. Dates are Unix ms or Date, inclusive. */
export interface DeadLetterGroupOptions {
  readonly state?: OneOrMore<DeadLetterGroupState>;
  /** Groups that have entries of this workflow now. */
  readonly workflowUrl?: OneOrMore<string>;
  /** Groups that were seen last at or after this time. */
  readonly fromDate?: number | Date;
  /** Groups that were seen first at or before this time. */
  readonly toDate?: number | Date;
  /** Of runs of workflows when absent. */
  readonly kind?: DeadLetterGroup['kind'];
  /** Also those whose entries have all left the queue. */
  readonly withEmpty?: boolean;
  readonly cursor?: string;
  /** Groups per page, 1 to 100. */
  readonly count?: number;
}

const DLQ = '/v2/workflows/dlq';
/** Filters of which any of several values matches. */
const LISTS = ['workflowUrl', 'label', 'failureFunctionState', 'callerIp', 'flowControlKey', 'fingerprint'] as const;
const groupPath = (fingerprint: string, verb = '') => `${DLQ}/groups/${encodeURIComponent(fingerprint)}${verb}`;
const entryPath = (dlqId: string, verb = '') => `${DLQ}${verb}/${encodeURIComponent(dlqId)}`;

export class DeadLetters {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** One page, newest first. */
  list(options: DeadLetterListOptions = {}): Promise<DeadLetterPage> {
    return this.call({ method: 'GET', path: DLQ, query: asLists(options, LISTS) });
  }

  /** All entries, newest first, page by page as they are asked for. */
  async *entries(filter: DeadLetterListOptions = {}): AsyncGenerator<DeadLetterEntry, void, undefined> {
    let cursor = filter.cursor;
    do {
      const page = await this.list({ ...filter, ...(cursor ? { cursor } : {}) });
      yield* page.messages;
      cursor = page.cursor;
    } while (cursor);
  }

  get(dlqId: string): Promise<DeadLetterEntry> {
    return this.call({ method: 'GET', path: entryPath(dlqId) });
  }

  /** A new run that goes on from the failed step, with the results so far. */
  async resume(dlqId: string, options: SingleRecoverOptions = {}): Promise<RunReference> {
    return this.call({ method: 'POST', path: entryPath(dlqId, '/resume'), headers: overrideHeaders(options) });
  }

  /** A new run from the first step, with the original payload and settings. */
  async restart(dlqId: string, options: SingleRecoverOptions = {}): Promise<RunReference> {
    return this.call({ method: 'POST', path: entryPath(dlqId, '/restart'), headers: overrideHeaders(options) });
  }

  /**
   * Asks endpoints whether their present code would replay these runs, newest first: one request, at most 100; see `cursor`
   * for the rest. No step is executed, and nothing recorded.
   */
  check(options: DeadLetterCheckOptions = {}): Promise<DeadLetterCheckPage> {
    return this.call(jsonCall('POST', `${DLQ}/check`, options));
  }

  /** Deletes the entry; the run stays in the log. */
  async delete(dlqId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: entryPath(dlqId) });
  }

  /** One page of what went wrong: regressed groups first, then new ones, then known ones. */
  groups(options: DeadLetterGroupOptions = {}): Promise<DeadLetterGroupPage> {
    return this.call({ method: 'GET', path: `${DLQ}/groups`, query: asLists(options, ['workflowUrl', 'state']) });
  }

  /** All groups, page by page as they are asked for. */
  async *allGroups(options: DeadLetterGroupOptions = {}): AsyncGenerator<DeadLetterGroup, void, undefined> {
    let cursor = options.cursor;
    do {
      const page = await this.groups({ ...options, ...(cursor ? { cursor } : {}) });
      yield* page.groups;
      cursor = page.cursor;
    } while (cursor);
  }

  group(fingerprint: string): Promise<DeadLetterGroup> {
    return this.call({ method: 'GET', path: groupPath(fingerprint) });
  }

  /** Somebody knows of it: it is neither new nor regressed any more. */
  acknowledgeGroup(fingerprint: string): Promise<DeadLetterGroup> {
    return this.call({ method: 'POST', path: groupPath(fingerprint, '/acknowledge') });
  }

  /** Its cause is mended: the next entry makes it regressed. */
  resolveGroup(fingerprint: string): Promise<DeadLetterGroup> {
    return this.call({ method: 'POST', path: groupPath(fingerprint, '/resolve') });
  }

  /** Tells the failure callback, or the failure function, again: from the first attempt on. */
  retryCallback(dlqId: string): Promise<FailureFunctionChange> {
    return this.call({ method: 'POST', path: entryPath(dlqId, '/callback') });
  }

  /** Tells it no more. */
  cancelCallback(dlqId: string): Promise<FailureFunctionChange> {
    return this.call({ method: 'DELETE', path: entryPath(dlqId, '/callback') });
  }

  /** One request, at most 50 runs; see `cursor` for the rest. */
  async resumeMany(options: BulkOptions = {}, overrides: RunOverrides = {}): Promise<RecoveredRuns> {
    return this.call({
      method: 'POST',
      path: `${DLQ}/resume`,
      query: asLists(options, LISTS),
      headers: overrideHeaders(overrides),
    });
  }

  /** One request, at most 50 runs; see `cursor` for the rest. */
  async restartMany(options: BulkOptions = {}, overrides: RunOverrides = {}): Promise<RecoveredRuns> {
    return this.call({
      method: 'POST',
      path: `${DLQ}/restart`,
      query: asLists(options, LISTS),
      headers: overrideHeaders(overrides),
    });
  }

  /** One request, at most 50 entries; see `cursor` for the rest. The service refuses a deletion without any filter. */
  deleteMany(options: BulkOptions): Promise<DeletedDeadLetters> {
    return this.call({ method: 'DELETE', path: DLQ, query: asLists(options, LISTS) });
  }

  /** Resumes all that match, request after request, and gives the new runs as they come. */
  resumeAll(options: BulkOptions = {}, overrides: RunOverrides = {}): AsyncGenerator<RunReference, void, undefined> {
    return followRuns(options, (page) => this.resumeMany(page, overrides));
  }

  /** Restarts all that match, request after request, and gives the new runs as they come. */
  restartAll(options: BulkOptions = {}, overrides: RunOverrides = {}): AsyncGenerator<RunReference, void, undefined> {
    return followRuns(options, (page) => this.restartMany(page, overrides));
  }

  /** Deletes all that match, request after request. Resolves with how many. */
  async deleteAll(options: BulkOptions): Promise<number> {
    let deleted = 0;
    let cursor = options.cursor;
    do {
      const page = await this.deleteMany({ ...options, ...(cursor ? { cursor } : {}) });
      deleted += page.deleted;
      cursor = page.cursor;
    } while (cursor);
    return deleted;
  }
}

async function* followRuns(
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
