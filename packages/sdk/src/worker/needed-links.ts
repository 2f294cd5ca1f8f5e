/** Decides which connections a worker needs: one to each node of the server. */
import type { ConnectionNode } from './frames.js';

/** Failed attempts at the address of a node after which the worker looks for it through the URL of the server. */
const MAX_DIRECT_FAILURES = 3;
/** Maximum number of attempts through the URL of the server that reach no new node, for each listed node. */
const SEARCHES_PER_NODE = 3;
/** Number of attempts in addition to those for each node. */
const ADDITIONAL_SEARCHES = 2;

/** State of the connections of a worker. */
export interface LinkState {
  /** The nodes as the server last listed them. */
  readonly nodes: readonly ConnectionNode[];
  /** Ids of the nodes with an open connection that accepts work. */
  readonly reachedNodeIds: ReadonlySet<string>;
  /** Number of failed attempts at the address of a node since the last success, by node id. */
  readonly directFailures: ReadonlyMap<string, number>;
  /** Number of attempts through the URL of the server that reached no new node since the nodes or connections last changed. */
  readonly searchCount: number;
}

/** Connections that a worker needs in addition to the open ones. */
export interface NeededLinks {
  /** Nodes to connect to directly, each at its URL. */
  readonly direct: readonly Required<ConnectionNode>[];
  /** Whether to connect through the URL of the server, where any node may answer. */
  readonly needsSearch: boolean;
}

/**
 * Returns the connections that a worker still needs. Nodes behind one load balancer cannot be reached directly, so the worker
 * connects through the URL of the server until it has reached each node. A load balancer may always choose the same nodes, so
 * the number of attempts is limited.
 */
export function neededLinks({ nodes, reachedNodeIds, directFailures, searchCount }: LinkState): NeededLinks {
  const missingNodes = nodes.filter(({ nodeId }) => !reachedNodeIds.has(nodeId));
  const direct: Required<ConnectionNode>[] = [];
  let hasUnreachableNode = false;
  for (const { nodeId, url } of missingNodes) {
    if (url !== undefined) direct.push({ nodeId, url });
    if (url === undefined || (directFailures.get(nodeId) ?? 0) >= MAX_DIRECT_FAILURES) hasUnreachableNode = true;
  }
  const isSearchAllowed = searchCount < SEARCHES_PER_NODE * nodes.length + ADDITIONAL_SEARCHES;
  return { direct, needsSearch: reachedNodeIds.size === 0 || (hasUnreachableNode && isSearchAllowed) };
}
