/** Lists the workers that are connected to this process. */
import type { WorkerDirectory, WorkerStatus } from '../ports/workers.js';
import type { WorkerLink } from './worker-link.js';
import type { WorkerPools } from './worker-pools.js';

/** Returns the status of a connection to node `nodeId`. */
export function statusOf(link: WorkerLink, nodeId: string): WorkerStatus {
  const { connectionId, profile, connectedAt, inFlight, isDraining, lastError } = link;
  return { ...profile, connectionId, nodeId, connectedAt, inFlight, isDraining, lastError };
}

export const localDirectory = (pools: WorkerPools, nodeId: () => string): WorkerDirectory => ({
  missingSince: pools.missingSince.bind(pools),
  connectionsOf: async (instanceId) => pools.linksOf(instanceId).map((link) => statusOf(link, nodeId())),
});
