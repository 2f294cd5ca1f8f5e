/** Simulates the probe of a server. */
import type { ServerProbe, ServerState } from '../connection/server-probe.js';

export interface FakeProbe extends ServerProbe {
  /** Numbers of calls of `state` and `tryCommit`. */
  readonly callCounts: { states: number; commits: number };
}

/** Returns a probe. A server in the state `unknown` is not connected. `commits` resolves with whether a commit is acknowledged. */
export function fakeProbe(
  state: () => ServerState | Promise<ServerState>,
  commits: () => Promise<boolean> = async () => true,
): FakeProbe {
  const callCounts = { states: 0, commits: 0 };
  return {
    callCounts,
    get isConnected() {
      return state() !== 'unknown';
    },
    async state() {
      callCounts.states++;
      return state();
    },
    tryCommit() {
      callCounts.commits++;
      return commits();
    },
    close() {},
  };
}
