/** Chooses the node whose workers execute a run. */
import type { NodePool } from '../ports/node-workers.js';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const RANGE = 2 ** 32;

function hashOf(text: string): number {
  let hash = FNV_OFFSET;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME) >>> 0;
  return hash;
}

/**
 * Returns the node for a run, or null if there are no pools. A node with more slots gets more runs. While a node has workers,
 * its runs stay with it when other nodes join or leave (rendezvous hashing).
 */
export function chooseNode(pools: readonly Pick<NodePool, 'nodeId' | 'slots'>[], runKey: string): string | null {
  let bestNodeId: string | null = null;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const { nodeId, slots } of pools) {
    const fraction = (hashOf(`${runKey} ${nodeId}`) + 0.5) / RANGE;
    const score = -Math.max(1, slots) / Math.log(fraction);
    if (score <= bestScore) continue;
    bestNodeId = nodeId;
    bestScore = score;
  }
  return bestNodeId;
}
