/** Counters of runs over time. */
import { DEAD_LETTER_LISTS, MESSAGE_LISTS, RUN_LISTS } from './generated/filters.js';
import type {
  DeadLetterField,
  DeadLetterFilter,
  InsightWindow,
  InstanceInsights,
  ListSummary,
  MessageField,
  MessageFilter,
  RunField,
  RunFilter,
  WorkflowInsights,
} from './generated/index.js';
import { type Call, withListValues } from './transport.js';

/** Options for a summary of runs. */
export interface RunSummaryOptions extends RunFilter {
  /** Words to find in ids, labels, URLs and errors. Every word must match. */
  readonly q?: string;
  /** Field whose most frequent values are returned. */
  readonly field?: RunField;
}

/** Options for a summary of dead letters. */
export interface DeadLetterSummaryOptions extends DeadLetterFilter {
  /** Field whose most frequent values are returned. */
  readonly field?: DeadLetterField;
}

/** Options for a summary of messages. */
export interface MessageSummaryOptions extends MessageFilter {
  /** How the message ended. */
  readonly state?: 'DELIVERED' | 'FAILED' | 'CANCELED';
  /** Field whose most frequent values are returned. */
  readonly field?: MessageField;
}

/** Insights of the queue instance. Use it through `Client.insights`. */
export class Insights {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Returns the counters of all runs, the current backlog and what needs attention now. Default window: `24h`. */
  get(options: { readonly window?: InsightWindow } = {}): Promise<InstanceInsights> {
    return this.call({ method: 'GET', path: '/v2/insights', query: options });
  }

  /** Returns the counters of the runs and steps of a workflow, and its recent failures. Default window: `24h`. */
  workflow(workflowUrl: string, options: { readonly window?: InsightWindow } = {}): Promise<WorkflowInsights> {
    return this.call({ method: 'GET', path: '/v2/insights/workflow', query: { workflowUrl, ...options } });
  }

  /** Returns the number of runs over time, with the filters of a search, and the most frequent values of a field. */
  runs(options: RunSummaryOptions = {}): Promise<ListSummary> {
    return this.call({ method: 'GET', path: '/v2/insights/runs', query: withListValues(options, RUN_LISTS) });
  }

  /** Returns the number of dead letters over time, and the most frequent values of a field. */
  deadLetters(options: DeadLetterSummaryOptions = {}): Promise<ListSummary> {
    return this.call({ method: 'GET', path: '/v2/insights/dead-letters', query: withListValues(options, DEAD_LETTER_LISTS) });
  }

  /** Returns the number of plain messages over time, and the most frequent values of a field. */
  messages(options: MessageSummaryOptions = {}): Promise<ListSummary> {
    return this.call({ method: 'GET', path: '/v2/insights/messages', query: withListValues(options, MESSAGE_LISTS) });
  }
}
