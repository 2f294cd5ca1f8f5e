/** Probes of simulated servers. */
import type { ServerProbe, Standing } from '../connection/server-probe.js';

export interface FakeProbe extends ServerProbe {
  /** How often the server was asked for its state, and for a commit. */
  readonly asked: { standings: number; commits: number };
}

/** Returns a probe. A server whose standing is `unknown` is not connected. `commits` says whether a commit is acknowledged. */
export function fakeProbe(
  standing: () => Standing | Promise<Standing>,
  commits: () => Promise<boolean> = async () => true,
): FakeProbe {
  const asked = { standings: 0, commits: 0 };
  return {
    asked,
    get isConnected() {
      return standing() !== 'unknown';
    },
    async standing() {
      asked.standings++;
      return standing();
    },
    commits() {
      asked.commits++;
      return commits();
    },
    close() {},
  };
}
