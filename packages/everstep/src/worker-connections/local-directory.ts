/** Lists the workers that are connected to this process. */
import { LIMITS } from '../config/limits.js';
import type { WorkerDirectory, WorkerStatus } from '../ports/workers.js';
import type { WorkerLink, WorkerProfile } from './worker-link.js';
import type { WorkerPools } from './worker-pools.js';

/** The first workflows of each worker in alphabetical order. */
const listedWorkflows = new WeakMap<WorkerProfile, readonly string[]>();

function listedWorkflowsOf(profile: WorkerProfile): readonly string[] {
  const cached = listedWorkflows.get(profile);
  if (cached) return cached;
  const workflows = profile.workflows.toSorted().slice(0, LIMITS.maxListedWorkflowsOfWorker);
  listedWorkflows.set(profile, workflows);
  return workflows;
}

/** Returns the status of a connection to node `nodeId`. */
export function statusOf(link: WorkerLink, nodeId: string): WorkerStatus {
  const { connectionId, profile, connectedAt, inFlight, isDraining, lastError } = link;
  const workflows = listedWorkflowsOf(profile);
  const workflowCount = profile.workflows.length;
  return { ...profile, workflows, workflowCount, connectionId, nodeId, connectedAt, inFlight, isDraining, lastError };
}

export const localDirectory = (pools: WorkerPools, nodeId: () => string): WorkerDirectory => ({
  missingSince: pools.missingSince.bind(pools),
  connectionsOf: async (instanceId) => pools.linksOf(instanceId).map((link) => statusOf(link, nodeId())),
});
