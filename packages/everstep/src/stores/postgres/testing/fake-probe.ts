/** Probes of simulated servers. */
import type { ServerProbe, ServerState } from '../connection/server-probe.js';

export interface FakeProbe extends ServerProbe {
  /** How often the server was asked for its state, and for a commit. */
  readonly asked: { states: number; commits: number };
}

/** Returns a probe. A server whose state is `unknown` is not connected. `commits` says whether a commit is acknowledged. */
export function fakeProbe(
  state: () => ServerState | Promise<ServerState>,
  commits: () => Promise<boolean> = async () => true,
): FakeProbe {
  const asked = { states: 0, commits: 0 };
  return {
    asked,
    get isConnected() {
      return state() !== 'unknown';
    },
    async state() {
      asked.states++;
      return state();
    },
    tryCommit() {
      asked.commits++;
      return commits();
    },
    close() {},
  };
}
