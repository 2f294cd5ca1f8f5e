/**
 * The lease of this node in the table of nodes. Other nodes check the lease against the database's clock. The node itself measures
 * it with the machine's monotonic clock, starting before it requests the lease, so it stops before other nodes take over.
 * Keeps invariant 24.
 */
import { randomBytes } from 'node:crypto';
import type { NodeStatus } from '../../../ports/cluster.js';
import { integer, type Row, text } from '../connection/columns.js';
import { type Database, type Session, statement } from '../connection/connection.js';
import { releaseClaimsOfNodes } from './claims.js';

/** SQL for the time in Unix ms with microseconds. A rounded time could be wrong by half a millisecond. */
const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::double precision';

const JOIN = statement(`
  INSERT INTO node (node_id, lease_until, host, version, url)
  VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond', $3, $4, $5)
  RETURNING ${NOW_MS} AS now`);
/** Renews the lease, even after its end, unless another node has removed the row. */
const RENEW = statement(`
  WITH renewed AS (
    UPDATE node SET lease_until = clock_timestamp() + $2 * interval '1 millisecond' WHERE node_id = $1 RETURNING 1
  )
  SELECT (SELECT count(*) FROM renewed) AS renewed, ${NOW_MS} AS now,
    (SELECT (extract(epoch FROM min(lease_until)) * 1000)::bigint FROM node WHERE node_id <> $1) AS next_end`);
const DELETE_EXPIRED = statement('DELETE FROM node WHERE lease_until < clock_timestamp() RETURNING node_id');
const SELECT_TIME = statement(`SELECT ${NOW_MS} AS now`);
/** Selects all nodes. There are few. */
const SELECT_NODES = statement(`
  SELECT node_id, host, version, leaving, (extract(epoch FROM joined_at) * 1000)::bigint AS joined_at,
    (extract(epoch FROM lease_until) * 1000)::bigint AS lease_until, lease_until < clock_timestamp() AS expired
  FROM node ORDER BY node.joined_at, node_id`);
/** Counts the claimed tasks of each node, in the index of claims. */
const COUNT_CLAIMS = statement(`
  SELECT claimed_by AS node_id, count(*) AS count FROM task WHERE due_at IS NOT NULL AND claimed_by IS NOT NULL GROUP BY 1`);
const COUNT_GATES = statement('SELECT node_id, count(*) AS count FROM gate_lease GROUP BY 1');
const LEAVE = statement('DELETE FROM node WHERE node_id = $1');

export interface NodeProperties {
  readonly host: string;
  readonly version: string;
  /** URL at which workers reach this node; null or absent if the node has no separate address. */
  readonly url?: string | null;
}

/** The database's time, and when it was requested and received, in milliseconds of the monotonic clock. */
export interface TimeSample {
  readonly requestedAt: number;
  readonly respondedAt: number;
  /** Unix milliseconds by the database's clock, with fractions. */
  readonly now: number;
}

export interface Renewal extends TimeSample {
  readonly isRenewed: boolean;
  /** Unix milliseconds at which the next lease of another node ends; null if there is no other node. */
  readonly nextEndAt: number | null;
}

export async function readTime(session: Session): Promise<TimeSample> {
  const requestedAt = performance.now();
  const [row] = await session.query(SELECT_TIME);
  return { requestedAt, respondedAt: performance.now(), now: nowOf(row) };
}

export class NodeLease {
  readonly leaseMs: number;
  private readonly leaseDatabase: Database;
  private readonly database: Database;
  private readonly facts: NodeProperties;
  private id = '';
  private validUntil = Number.NEGATIVE_INFINITY;

  /** `leaseDatabase` is for statements that must not wait for anything else; `database` is for takeovers, which can take longer. */
  constructor(
    { leaseDatabase, database }: { readonly leaseDatabase: Database; readonly database: Database },
    leaseMs: number,
    facts: NodeProperties,
  ) {
    this.leaseDatabase = leaseDatabase;
    this.database = database;
    this.leaseMs = leaseMs;
    this.facts = facts;
  }

  get nodeId(): string {
    return this.id;
  }
  /** Time of the monotonic clock, in ms, until which the lease is certainly valid. */
  get until(): number {
    return this.validUntil;
  }
  get isValid(): boolean {
    return performance.now() < this.validUntil;
  }

  /** Joins the cluster under a new id. */
  async join(): Promise<TimeSample> {
    const id = `n_${randomBytes(9).toString('base64url')}`;
    const requestedAt = performance.now();
    const [row] = await this.leaseDatabase.query(JOIN, [
      id,
      this.leaseMs,
      this.facts.host,
      this.facts.version,
      this.facts.url ?? null,
    ]);
    this.id = id;
    this.validUntil = requestedAt + this.leaseMs;
    return { requestedAt, respondedAt: performance.now(), now: nowOf(row) };
  }

  /** Renews the lease. If it was not renewed, another node has taken over from this one. */
  async renew(): Promise<Renewal> {
    const requestedAt = performance.now();
    const [row] = await this.leaseDatabase.query(RENEW, [this.id, this.leaseMs]);
    const isRenewed = row !== undefined && integer(row, 'renewed') > 0;
    this.validUntil = isRenewed ? requestedAt + this.leaseMs : Number.NEGATIVE_INFINITY;
    const nextEndAt = row === undefined || row.next_end === null ? null : integer(row, 'next_end');
    return { requestedAt, respondedAt: performance.now(), now: nowOf(row), isRenewed, nextEndAt };
  }

  async nodes(): Promise<readonly NodeStatus[]> {
    const [nodes, claims, gates] = await Promise.all([
      this.database.query(SELECT_NODES),
      this.database.query(COUNT_CLAIMS),
      this.database.query(COUNT_GATES),
    ]);
    const countOf = (counts: readonly Row[], nodeId: string) => {
      const row = counts.find(({ node_id: id }) => id === nodeId);
      return row ? integer(row, 'count') : 0;
    };
    return nodes.map((row) => ({
      nodeId: text(row, 'node_id'),
      host: text(row, 'host'),
      version: text(row, 'version'),
      startedAt: integer(row, 'joined_at'),
      leaseUntil: integer(row, 'lease_until'),
      expired: row.expired === true,
      leaving: row.leaving === true,
      self: row.node_id === this.id,
      runsClaimed: countOf(claims, text(row, 'node_id')),
      gates: countOf(gates, text(row, 'node_id')),
    }));
  }

  /** Removes the rows of nodes whose lease has ended and releases their claims. Returns the number of removed nodes. */
  async removeExpiredNodes(): Promise<number> {
    return this.database.transaction(async (session) => {
      const nodeIds = (await session.query(DELETE_EXPIRED)).map(({ node_id: nodeId }) => String(nodeId));
      if (nodeIds.length > 0) await releaseClaimsOfNodes(session, nodeIds);
      return nodeIds.length;
    });
  }

  async leave(): Promise<void> {
    this.validUntil = Number.NEGATIVE_INFINITY;
    await this.database.transaction(async (session) => {
      await session.query(LEAVE, [this.id]);
      await releaseClaimsOfNodes(session, [this.id]);
    });
  }
}

function nowOf(row: Row | undefined): number {
  if (!row) throw new Error('the database did not return its time');
  return integer(row, 'now');
}
