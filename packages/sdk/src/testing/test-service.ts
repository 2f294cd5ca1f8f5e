/** A service on a virtual clock, as a test sees it. */
import { Client } from '../client/client.js';
import { durationText, type TriggerOptions } from '../client/settings.js';
import { callApi } from '../client/transport.js';
import type { RunState, TriggeredRun } from '../client/types.js';
import { type Duration, type Instant, instantMs } from '../duration.js';

export interface TestConnection {
  readonly url: string;
  readonly token: string;
}

export interface Advanced {
  /** Unix ms on the service's clock. */
  readonly now: number;
  /** How many timers fell due on the way. */
  readonly fired: number;
}

export interface TestService {
  readonly url: string;
  readonly token: string;
  readonly client: Client;
  /** Unix ms on the service's clock. */
  now(): Promise<number>;
  /**
   * Moves time on; parts of a second count as a whole one. Sleeps, waits, retries and schedules that fall due on the way
   * happen in order, each at its time. Resolves when all that follows from them is done, up to the next thing that waits
   * for its time.
   */
  advance(by: Duration): Promise<Advanced>;
  /** Moves time on to a Date, an ISO 8601 text or Unix milliseconds on the service's clock. */
  advanceTo(at: Instant): Promise<Advanced>;
  /** Resolves when nothing is under way and nothing is due any more. Time is not moved. */
  settle(): Promise<Advanced>;
  /** Starts a run and resolves when it has ended, or waits for its time or for an event. */
  triggerAndSettle(workflowUrl: string, options?: Omit<TriggerOptions, 'waitForResult'>): Promise<TriggeredRun>;
  stateOf(workflowRunId: string): Promise<RunState>;
  /** What the workflow returned. Rejects when the run has not ended yet, and with the run's error when it did not succeed. */
  resultOf<Result = unknown>(workflowRunId: string): Promise<Result>;
}

/** Does not reach out: whether the service is there, and on a virtual clock, shows at the first call. */
export function connectTestService({ url, token }: TestConnection): TestService {
  const client = new Client({ baseUrl: url, token });
  const transport = { baseUrl: url.replace(/\/+$/, ''), authorization: `Bearer ${token}`, fetch: globalThis.fetch };
  const clock = async <Answer>(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> => {
    const json = body ? { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) } : {};
    // The shapes of the answers are the word of the service; a test of the service holds it to them.
    return (await callApi(transport, { method, path: `/v2/clock${path}`, ...json })) as Answer;
  };
  const settle = () => clock<Advanced>('POST', '/settle');
  const endOf = (workflowRunId: string) => client.runs.result(workflowRunId, { timeout: 0 });
  return {
    url,
    token,
    client,
    now: async () => (await clock<Advanced>('GET', '')).now,
    advance: async (by) => clock('POST', '/advance', { by: durationText(by) }),
    advanceTo: async (at) => clock('POST', '/advance', { to: instantMs(at) }),
    settle,
    async triggerAndSettle(workflowUrl, options = {}) {
      const run = await client.trigger(workflowUrl, { ...options, waitForResult: undefined });
      await settle();
      return run;
    },
    stateOf: async (workflowRunId) => (await endOf(workflowRunId)).workflowState,
    async resultOf<Result>(workflowRunId: string) {
      const end = await endOf(workflowRunId);
      if (end.workflowState === 'RUN_SUCCESS') return end.result as Result;
      const why = 'error' in end && end.error !== undefined ? `: ${end.error}` : '';
      throw new Error(`run ${workflowRunId} has not succeeded: it is ${end.workflowState}${why}`);
    },
  };
}
