/** Counters of runs over time. */
import type { InsightWindow, InstanceInsights, WorkflowInsights } from './generated/index.js';
import type { Call } from './transport.js';

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
}
