/** A server with a virtual clock, for tests. */
import { Client } from '../client/client.js';
import type { RunState, TriggeredRun } from '../client/generated/index.js';
import { durationText, type TriggerOptions } from '../client/settings.js';
import { callApi } from '../client/transport.js';
import { type Duration, type Instant, instantMs } from '../duration.js';
import type { EncryptionOptions } from '../encryption/envelope.js';

/** Address and token of a server, and the encryption of its client. */
export interface TestConnection extends EncryptionOptions {
  readonly url: string;
  readonly token: string;
}

/** Result of advancing the clock. */
export interface ClockAdvance {
  /** Time on the server's clock, Unix milliseconds. */
  readonly now: number;
  /** Number of timers that became due. */
  readonly fired: number;
}

/** A server whose clock a test controls. */
export interface TestService {
  readonly url: string;
  readonly token: string;
  /** Client of the server. */
  readonly client: Client;
  /** Returns the time on the server's clock in Unix milliseconds. */
  now(): Promise<number>;
  /**
   * Advances the clock, rounded up to whole seconds. Sleeps, waits, retries and schedules that become due run in
   * order, each at its time. Resolves when all resulting work is done, up to the next item that waits for its time.
   */
  advance(by: Duration): Promise<ClockAdvance>;
  /** Advances the clock to a Date, an ISO 8601 string or Unix milliseconds on the server's clock. */
  advanceTo(at: Instant): Promise<ClockAdvance>;
  /** Resolves when no work is in progress or due. The clock does not advance. */
  settle(): Promise<ClockAdvance>;
  /** Starts a run and resolves when it has ended or waits for its time or for an event. */
  triggerAndSettle(workflowUrl: string, options?: Omit<TriggerOptions, 'waitForResult'>): Promise<TriggeredRun>;
  /** Returns the state of a run. */
  stateOf(workflowRunId: string): Promise<RunState>;
  /** Returns the value that the workflow returned. Rejects if the run has not ended or did not succeed. */
  resultOf<Result = unknown>(workflowRunId: string): Promise<Result>;
}

/** Returns a server without connecting to it. The first call shows whether the server exists and has a virtual clock. */
export function connectTestService({ url, token, encryption }: TestConnection): TestService {
  const client = new Client({ baseUrl: url, token, encryption });
  const transport = { baseUrl: url.replace(/\/+$/, ''), authorization: `Bearer ${token}`, fetch: globalThis.fetch };
  const clock = async <Body>(method: 'GET' | 'POST', path: string, body?: object): Promise<Body> => {
    const json = body ? { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) } : {};
    // The server guarantees the shapes of its responses; a test of the server verifies them.
    return (await callApi(transport, { method, path: `/v2/clock${path}`, ...json })) as Body;
  };
  const settle = () => clock<ClockAdvance>('POST', '/settle');
  const runResult = (workflowRunId: string) => client.runs.result(workflowRunId, { timeout: 0 });
  return {
    url,
    token,
    client,
    now: async () => (await clock<ClockAdvance>('GET', '')).now,
    advance: async (by) => clock('POST', '/advance', { by: durationText(by) }),
    advanceTo: async (at) => clock('POST', '/advance', { to: instantMs(at) }),
    settle,
    async triggerAndSettle(workflowUrl, options = {}) {
      const run = await client.trigger(workflowUrl, { ...options, waitForResult: undefined });
      await settle();
      return run;
    },
    stateOf: async (workflowRunId) => (await runResult(workflowRunId)).workflowState,
    async resultOf<Result>(workflowRunId: string) {
      const result = await runResult(workflowRunId);
      if (result.workflowState === 'RUN_SUCCESS') return result.result as Result;
      const reason = 'error' in result && result.error !== undefined ? `: ${result.error}` : '';
      throw new Error(`run ${workflowRunId} has not succeeded: its state is ${result.workflowState}${reason}`);
    },
  };
}
