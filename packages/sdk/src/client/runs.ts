/** Runs, as calls. */
import type { Duration } from '../duration.js';
import type { RunAttemptPage, RunSearchPage } from './attempt-types.js';
import type { RunExplanation } from './control-types.js';
import type { CompareOptions, ForkOptions, RunCheck, RunComparison, RunLineage } from './run-tool-types.js';
import { durationText } from './settings.js';
import { asLists, type Call, jsonCall } from './transport.js';
import type {
  JournalStep,
  RunJournal,
  RunLogEntry,
  RunLogPage,
  RunReference,
  RunResult,
  RunState,
  RunUnderWay,
} from './types.js';

type OneOrMore<T> = T | readonly T[];

export interface RunLogFilter {
  readonly workflowRunId?: string;
  readonly workflowUrl?: string;
  /** Unix ms; tells runs of one id apart. */
  readonly workflowCreatedAt?: number;
  readonly state?: RunState;
  /** Unix ms or Date, inclusive. */
  readonly fromDate?: number | Date;
  readonly toDate?: number | Date;
  readonly label?: OneOrMore<string>;
  readonly flowControlKey?: OneOrMore<string>;
  readonly callerIp?: OneOrMore<string>;
  /** True leaves the results of steps and runs away. */
  readonly trimBody?: boolean;
}

export interface RunLogOptions extends RunLogFilter {
  readonly cursor?: string;
  /** Runs per page, 1 to 10. */
  readonly count?: number;
}

/** What to look for, among the runs that fit. */
export interface RunSearchOptions extends Omit<RunLogFilter, 'trimBody'> {
  /** Words that ids, labels, URLs and errors are searched for; each has to be somewhere. */
  readonly q?: string;
  readonly cursor?: string;
  /** Runs to return, 1 to 100. */
  readonly count?: number;
}

export interface RunAttemptOptions {
  /** Unix ms; tells runs of one id apart. */
  readonly createdAt?: number;
  /** Those of the step at this position. */
  readonly stepId?: number;
  readonly cursor?: string;
  /** 1 to 1,000. */
  readonly count?: number;
}

/** Which active runs to cancel. */
export interface CancelManyOptions {
  readonly workflowRunIds?: readonly string[];
  /** A prefix, unless `workflowUrlExactMatch`. */
  readonly workflowUrl?: string;
  readonly workflowUrlExactMatch?: boolean;
  /** Unix ms. */
  readonly workflowCreatedAt?: number;
  readonly label?: OneOrMore<string>;
  /** Unix ms or Date, inclusive, of the creation of the run. */
  readonly fromDate?: number | Date;
  readonly toDate?: number | Date;
  readonly flowControlKey?: OneOrMore<string>;
  readonly callerIp?: OneOrMore<string>;
}

const RUNS = '/v2/workflows/runs';
/** Filters of which any of several values matches. */
const LISTS = ['label', 'flowControlKey', 'callerIp'] as const;
const asMs = (date: number | Date | undefined) => (date instanceof Date ? date.getTime() : date);

export class Runs {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** One page of the run log, newest first. */
  list(options: RunLogOptions = {}): Promise<RunLogPage> {
    return this.call({ method: 'GET', path: '/v2/workflows/logs', query: asLists(options, LISTS) });
  }

  /** All runs of the log, newest first, page by page as they are asked for. */
  async *entries(filter: RunLogOptions = {}): AsyncGenerator<RunLogEntry, void, undefined> {
    let cursor = filter.cursor;
    do {
      const page = await this.list({ ...filter, ...(cursor ? { cursor } : {}) });
      yield* page.runs;
      cursor = page.cursor;
    } while (cursor);
  }

  /** Looks through the runs, newest first, a bounded number at a time: `complete` says whether there is more to look at. */
  search(options: RunSearchOptions = {}): Promise<RunSearchPage> {
    return this.call({ method: 'GET', path: '/v2/workflows/search', query: asLists(options, LISTS) });
  }

  /** Every attempt with its request and its response, oldest first. Also of a plain message. */
  attempts(workflowRunId: string, options: RunAttemptOptions = {}): Promise<RunAttemptPage> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}/attempts`, query: options });
  }

  /** The run with all its steps and attempts: the latest of this id, or the one created at `workflowCreatedAt`. */
  get(workflowRunId: string, options: { readonly workflowCreatedAt?: number } = {}): Promise<RunJournal> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}`, query: options });
  }

  /** One recorded step with its result, for a result that another answer leaves out. */
  step(workflowRunId: string, stepId: number, options: { readonly workflowCreatedAt?: number } = {}): Promise<JournalStep> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}/steps/${stepId}`, query: options });
  }

  /** How the run ended. Waits for that at most `timeout`; then it says that the run is under way. */
  async result<Result = unknown>(
    workflowRunId: string,
    options: { readonly timeout?: Duration; readonly workflowCreatedAt?: number; readonly signal?: AbortSignal } = {},
  ): Promise<RunResult<Result> | RunUnderWay> {
    const { timeout, signal, ...query } = options;
    return this.call({
      method: 'GET',
      path: `${RUNS}/${encodeURIComponent(workflowRunId)}/result`,
      query: { ...query, ...(timeout === undefined ? {} : { timeout: durationText(timeout) }) },
      ...(signal ? { signal } : {}),
    });
  }

  /** Why the run is where it is: what it waits for now. */
  explain(workflowRunId: string, options: { readonly workflowCreatedAt?: number } = {}): Promise<RunExplanation> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}/explain`, query: options });
  }

  /** A new run that goes on from a step of this one, with what was recorded before it; this one stays as it is. */
  fork(workflowRunId: string, options: ForkOptions): Promise<RunReference> {
    return this.call(jsonCall('POST', `${RUNS}/${encodeURIComponent(workflowRunId)}/fork`, options));
  }

  /** Puts the run beside another one, by default the last of its workflow that succeeded, and says where they part. */
  compare(workflowRunId: string, options: CompareOptions = {}): Promise<RunComparison> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}/compare`, query: options });
  }

  /** What the run came of, and what came of it. */
  lineage(workflowRunId: string, options: { readonly createdAt?: number } = {}): Promise<RunLineage> {
    return this.call({ method: 'GET', path: `${RUNS}/${encodeURIComponent(workflowRunId)}/lineage`, query: options });
  }

  /** Asks the endpoint whether its present code would replay the run; no step is executed, and nothing recorded. */
  async check(workflowRunId: string, options: { readonly createdAt?: number } = {}): Promise<RunCheck> {
    const { checks } = await this.call<{ readonly checks: readonly [RunCheck] }>({
      method: 'GET',
      path: `${RUNS}/${encodeURIComponent(workflowRunId)}/check`,
      query: options,
    });
    return checks[0];
  }

  async cancel(workflowRunId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: `${RUNS}/${encodeURIComponent(workflowRunId)}` });
  }

  /** Cancels active runs; says how many. */
  async cancelMany(options: CancelManyOptions): Promise<{ readonly cancelled: number }> {
    const { fromDate, toDate, ...others } = options;
    const body = JSON.stringify({ ...others, fromDate: asMs(fromDate), toDate: asMs(toDate) });
    return this.call({ method: 'DELETE', path: RUNS, headers: { 'Content-Type': 'application/json' }, body });
  }
}
