/** Client for runs. */
import type { Duration } from '../../duration.js';
import { type EncryptionOptions, sealText, sealValue } from '../../encryption/envelope.js';
import { RUN_LISTS } from '../generated/filters.js';
import type {
  ActiveRun,
  CancelFilter,
  ForkOptions,
  JournalStep,
  RunAttemptPage,
  RunCheck,
  RunComparison,
  RunExplanation,
  RunFilter,
  RunJournal,
  RunLineage,
  RunLogEntry,
  RunLogPage,
  RunReference,
  RunResult,
  RunSearchPage,
} from '../generated/index.js';
import { durationText, type ListOrder } from '../settings.js';
import { type Call, jsonCall, withListValues } from '../transport.js';

/** Options for comparing two runs. */
export interface CompareOptions {
  /** Creation time of the run in Unix milliseconds. Default: the latest run with the id. */
  readonly createdAt?: number;
  /** Id of the run to compare with. Default: the latest successful run of the same workflow. */
  readonly with?: string;
  /** Creation time of the run to compare with, in Unix milliseconds. Default: the latest run with the id. */
  readonly withCreatedAt?: number;
}

/** Filters of the run log. */
export interface RunLogFilter extends RunFilter {
  /** True omits the results of steps and runs. */
  readonly trimBody?: boolean;
  /** Order by creation time. Default: newest first. */
  readonly order?: ListOrder;
}

/** Options for a page of the run log. */
export interface RunLogOptions extends RunLogFilter {
  /** Cursor from the previous page, with the same filters. */
  readonly cursor?: string;
  /** Number of runs per page, 1 to 10. */
  readonly count?: number;
}

/** Options for searching runs. */
export interface RunSearchOptions extends RunFilter {
  /** Words to find in ids, labels, URLs and errors. Every word must match. */
  readonly q?: string;
  /** Order by creation time. Default: newest first. */
  readonly order?: ListOrder;
  /** Cursor from the previous page, with the same filters. */
  readonly cursor?: string;
  /** Number of runs to return, 1 to 100. */
  readonly count?: number;
}

/** Options for a page of attempts. */
export interface RunAttemptOptions {
  /** Creation time in Unix milliseconds. Distinguishes runs with the same id. */
  readonly createdAt?: number;
  /** Only attempts of the step at this position. */
  readonly stepId?: number;
  /** Cursor from the previous page, with the same filters. */
  readonly cursor?: string;
  /** Number of attempts per page, 1 to 1,000. */
  readonly count?: number;
}

/** Selects the active runs to cancel. */
export interface CancelManyOptions extends CancelFilter {
  /** Ids of the runs. Runs that are not active are ignored. */
  readonly workflowRunIds?: readonly string[];
  /** Prefix of the URL, or the whole URL with `workflowUrlExactMatch`. */
  readonly workflowUrl?: string;
  /** Whether `workflowUrl` must match exactly. Default: false. */
  readonly workflowUrlExactMatch?: boolean;
}

const RUNS = '/v2/workflows/runs';
const asMs = (date: number | Date | undefined) => (date instanceof Date ? date.getTime() : date);

/** Operations on runs. Use it through `Client.runs`. Methods reject with EverstepError. */
export class Runs {
  private readonly call: <T>(call: Call) => Promise<T>;
  private readonly encryption: EncryptionOptions['encryption'];

  constructor(call: <T>(call: Call) => Promise<T>, { encryption }: EncryptionOptions = {}) {
    this.call = call;
    this.encryption = encryption;
  }

  /** Returns one page of the run log, newest first. */
  list(options: RunLogOptions = {}): Promise<RunLogPage> {
    return this.call({ method: 'GET', path: '/v2/workflows/logs', query: withListValues(options, RUN_LISTS) });
  }

  /** Returns all runs of the log, newest first, fetching pages as needed. */
  async *entries(filter: RunLogOptions = {}): AsyncGenerator<RunLogEntry, void, undefined> {
    let cursor = filter.cursor;
    do {
      const page = await this.list({ ...filter, ...(cursor ? { cursor } : {}) });
      yield* page.runs;
      cursor = page.cursor;
    } while (cursor);
  }

  /** Searches the runs, newest first, a limited number per call. `complete` is true when all runs were searched. */
  search(options: RunSearchOptions = {}): Promise<RunSearchPage> {
    return this.call({ method: 'GET', path: '/v2/workflows/search', query: withListValues(options, RUN_LISTS) });
  }

  /** Returns every attempt with its request and response, oldest first. Also works for the id of a plain message. */
  attempts(workflowRunId: string, options: RunAttemptOptions = {}): Promise<RunAttemptPage> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}/attempts`, query: options });
  }

  /**
   * Returns the run with all its steps and attempts: the latest run with this id, or the one created at
   * `workflowCreatedAt`.
   */
  get(workflowRunId: string, options: { readonly workflowCreatedAt?: number } = {}): Promise<RunJournal> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}`, query: options });
  }

  /** Returns one recorded step with its result. Use it for results that other responses omit. */
  step(workflowRunId: string, stepId: number, options: { readonly workflowCreatedAt?: number } = {}): Promise<JournalStep> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}/steps/${stepId}`, query: options });
  }

  /**
   * Returns how the run ended. Waits for the end for at most `timeout`. If the run is still active then, `workflowState` is
   * `RUN_STARTED`. Rejects with DecryptionError or PayloadError if the result cannot be decrypted.
   */
  async result<Result = unknown>(
    workflowRunId: string,
    options: { readonly timeout?: Duration; readonly workflowCreatedAt?: number; readonly signal?: AbortSignal } = {},
  ): Promise<RunResult<Result> | ActiveRun> {
    const { timeout, signal, ...query } = options;
    return this.call({
      method: 'GET',
      path: `${RUNS}/${encodeURIComponent(workflowRunId)}/result`,
      query: { ...query, ...(timeout === undefined ? {} : { timeout: durationText(timeout) }) },
      mustDecrypt: true,
      ...(signal ? { signal } : {}),
    });
  }

  /** Explains why the run is waiting. */
  explain(workflowRunId: string, options: { readonly workflowCreatedAt?: number } = {}): Promise<RunExplanation> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}/explain`, query: options });
  }

  /**
   * Creates a new run that continues from a step of this one, with the steps recorded before it. This run does not
   * change. With encryption, the payload and edited results are encrypted, and only results of `run` steps can be edited.
   */
  fork(workflowRunId: string, options: ForkOptions): Promise<RunReference> {
    const { encryption } = this;
    const { input, results } = options;
    const sealedOptions = {
      ...options,
      ...(input ? { input: { ...input, body: sealText(encryption, input.body) } } : {}),
      ...(results ? { results: results.map((edit) => ({ ...edit, result: sealValue(encryption, edit.result) })) } : {}),
    };
    return this.call(jsonCall('POST', `${RUNS}/${encodeURIComponent(workflowRunId)}/fork`, sealedOptions));
  }

  /**
   * Compares the run with another one, by default the latest successful run of its workflow, and returns the
   * differences.
   */
  compare(workflowRunId: string, options: CompareOptions = {}): Promise<RunComparison> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}/compare`, query: options });
  }

  /** Returns the ancestors and descendants of the run. */
  lineage(workflowRunId: string, options: { readonly createdAt?: number } = {}): Promise<RunLineage> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}/lineage`, query: options });
  }

  /** Checks whether the current code of the endpoint would replay the run. No step is executed and nothing is recorded. */
  async check(workflowRunId: string, options: { readonly createdAt?: number } = {}): Promise<RunCheck> {
    const { checks } = await this.call<{ readonly checks: readonly [RunCheck] }>({
      method: 'GET',
      path: `${RUNS}/${encodeURIComponent(workflowRunId)}/check`,
      query: options,
    });
    return checks[0];
  }

  /** Cancels an active run. */
  async cancel(workflowRunId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: `${RUNS}/${encodeURIComponent(workflowRunId)}` });
  }

  /** Cancels the matching active runs and returns their number. */
  async cancelMany(options: CancelManyOptions): Promise<{ readonly cancelled: number }> {
    const { fromDate, toDate, ...otherFilters } = options;
    const body = JSON.stringify({ ...otherFilters, fromDate: asMs(fromDate), toDate: asMs(toDate) });
    return this.call({ method: 'DELETE', path: RUNS, headers: { 'Content-Type': 'application/json' }, body });
  }
}
