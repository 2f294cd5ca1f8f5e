/** Decides which connections a worker needs: one to each node of the server. */
import type { ConnectionNode } from './frames.js';

/** Failed attempts at the address of a node after which the worker looks for it through the URL of the server. */
const DIRECT_FAILURES = 3;
/** Attempts through the URL of the server without a new node, for each node and in addition. */
const SEARCHES_PER_NODE = 3;
const SEARCHES_MORE = 2;

export interface LinkState {
  /** The nodes as the server last listed them. */
  readonly nodes: readonly ConnectionNode[];
  /** Ids of the nodes with an open connection that accepts work. */
  readonly reached: ReadonlySet<string>;
  /** Attempts at the address of a node that failed since the last success, by node id. */
  readonly directFailures: ReadonlyMap<string, number>;
  /** Attempts through the URL of the server that reached no new node, since the nodes or connections last changed. */
  readonly searches: number;
}

export interface NeededLinks {
  /** Nodes to connect to at their own address. */
  readonly direct: readonly Required<ConnectionNode>[];
  /** Whether to connect through the URL of the server, where any node may answer. */
  readonly search: boolean;
}

/**
 * Returns the connections that a worker still needs. Nodes behind one load balancer have no address of their own, so the worker
 * connects through the URL of the server until it has reached each node. A load balancer may always choose the same nodes, so
 * the number of attempts is limited.
 */
export function neededLinks({ nodes, reached, directFailures, searches }: LinkState): NeededLinks {
  const missing = nodes.filter(({ nodeId }) => !reached.has(nodeId));
  const direct: Required<ConnectionNode>[] = [];
  let isHidden = false;
  for (const { nodeId, url } of missing) {
    if (url !== undefined) direct.push({ nodeId, url });
    if (url === undefined || (directFailures.get(nodeId) ?? 0) >= DIRECT_FAILURES) isHidden = true;
  }
  const isAllowed = searches < SEARCHES_PER_NODE * nodes.length + SEARCHES_MORE;
  return { direct, search: reached.size === 0 || (isHidden && isAllowed) };
}
