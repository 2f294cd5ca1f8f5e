/** The hash chain over the audit log, its retention, and how far it was pushed. */
import type { StatementSync } from 'node:sqlite';
import { GENESIS, hashOf, linksOf } from '../../../audit/chain.js';
import type { AuditStore, ChainedEntry, ChainLink, ChainPosition } from '../../../ports/stores/audit-store.js';
import { integer, json, type Row, text } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';
import { entryOf } from './entry-rows.js';

/** Entries are in the order of their times, except for those of requests that take long. So many are looked at. */
const OUT_OF_ORDER = 1_000;

const positionOf = (row: Row): ChainPosition => ({ seq: integer(row, 'seq'), hash: text(row, 'hash') });

export class AuditChain {
  private readonly selectAnchor: StatementSync;
  private readonly selectHead: StatementSync;
  private readonly selectEntries: StatementSync;
  private readonly insertHash: StatementSync;
  private readonly selectHashes: StatementSync;
  private readonly selectChained: StatementSync;
  private readonly selectFirst: StatementSync;
  private readonly selectLast: StatementSync;
  private readonly putAnchor: StatementSync;
  private readonly deleteReader: StatementSync;
  private readonly deleteEntries: StatementSync;
  private readonly deleteHashes: StatementSync;
  private readonly selectPush: StatementSync;
  private readonly putPush: StatementSync;

  constructor(connection: Connection) {
    const prepare = (sql: string) => connection.prepare(sql);
    this.selectAnchor = prepare('SELECT seq, hash FROM audit_anchor WHERE id = 1');
    this.selectHead = prepare('SELECT seq, hash FROM audit_chain ORDER BY seq DESC LIMIT 1');
    this.selectEntries = prepare('SELECT * FROM audit_log WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?');
    this.insertHash = prepare('INSERT INTO audit_chain (seq, hash) VALUES (?, ?)');
    this.selectHashes = prepare('SELECT seq, hash FROM audit_chain WHERE seq > ? ORDER BY seq LIMIT ?');
    this.selectChained = prepare(
      `SELECT l.*, c.hash FROM audit_chain c JOIN audit_log l ON l.seq = c.seq
       WHERE c.seq > ? AND c.seq <= ? AND l.at >= ? AND l.at <= ? ORDER BY c.seq LIMIT ?`,
    );
    this.selectFirst = prepare(
      `SELECT min(seq) AS seq FROM (SELECT seq FROM audit_log WHERE at >= ? ORDER BY at, seq LIMIT ${OUT_OF_ORDER})`,
    );
    this.selectLast = prepare(
      `SELECT max(seq) AS seq FROM (SELECT seq FROM audit_log WHERE at <= ? ORDER BY at DESC, seq DESC LIMIT ${OUT_OF_ORDER})`,
    );
    this.putAnchor = prepare(
      `INSERT INTO audit_anchor (id, seq, hash) VALUES (1, ?, ?)
       ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`,
    );
    this.deleteReader = prepare('DELETE FROM audit_reader WHERE account_id = ? AND entry_seq = ?');
    this.deleteEntries = prepare('DELETE FROM audit_log WHERE seq <= ?');
    this.deleteHashes = prepare('DELETE FROM audit_chain WHERE seq <= ?');
    this.selectPush = prepare('SELECT seq, claimed_until FROM audit_push WHERE id = 1');
    this.putPush = prepare(
      `INSERT INTO audit_push (id, seq, claimed_until) VALUES (1, ?, ?)
       ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, claimed_until = excluded.claimed_until`,
    );
  }

  anchor(): ChainPosition {
    const row = this.selectAnchor.get();
    return row ? positionOf(row) : { seq: 0, hash: GENESIS };
  }

  head(): ChainPosition {
    const row = this.selectHead.get();
    return row ? positionOf(row) : this.anchor();
  }

  /** Only inside a transaction. */
  seal(limit: number): number {
    let { seq, hash } = this.head();
    const rows = this.selectEntries.all(seq, Number.MAX_SAFE_INTEGER, limit);
    for (const row of rows) {
      seq = integer(row, 'seq');
      hash = hashOf(hash, entryOf(row));
      this.insertHash.run(seq, hash);
    }
    return rows.length;
  }

  chained({ after, limit, from, to }: Parameters<AuditStore['chained']>[0]): readonly ChainedEntry[] {
    const first = from === null ? 0 : this.seqIn(this.selectFirst.get(from));
    const last = to === null ? Number.MAX_SAFE_INTEGER : this.seqIn(this.selectLast.get(to));
    if (first === null || last === null) return [];
    const times = [from ?? Number.MIN_SAFE_INTEGER, to ?? Number.MAX_SAFE_INTEGER];
    const rows = this.selectChained.all(Math.max(after, first - 1), last, ...times, limit);
    return rows.map((row) => ({ ...positionOf(row), entry: entryOf(row) }));
  }

  links(after: number, limit: number): readonly ChainLink[] {
    const hashes = new Map(this.selectHashes.all(after, limit).map((row) => [integer(row, 'seq'), text(row, 'hash')]));
    const last = hashes.size < limit ? this.head().seq : (Array.from(hashes.keys()).at(-1) ?? after);
    const entries = new Map(this.selectEntries.all(after, last, limit).map((row) => [integer(row, 'seq'), entryOf(row)]));
    return linksOf(hashes, entries, limit);
  }

  /** Only inside a transaction. */
  removeBefore(before: number, limit: number): number {
    const rows = this.selectEntries.all(0, this.head().seq, limit);
    const young = rows.findIndex((row) => integer(row, 'at') >= before);
    const old = young === -1 ? rows : rows.slice(0, young);
    const seq = old.length === 0 ? 0 : integer(old[old.length - 1] ?? {}, 'seq');
    const [link] = this.selectHashes.all(seq - 1, 1);
    if (!link || integer(link, 'seq') !== seq) return 0;
    this.putAnchor.run(seq, text(link, 'hash'));
    for (const row of old)
      for (const accountId of json<readonly string[]>(row, 'account_ids')) this.deleteReader.run(accountId, integer(row, 'seq'));
    this.deleteEntries.run(seq);
    this.deleteHashes.run(seq);
    return old.length;
  }

  /** Only inside a transaction. */
  claimPush(now: number, until: number): number | null {
    const row = this.selectPush.get();
    if (row && integer(row, 'claimed_until') > now) return null;
    const seq = row ? integer(row, 'seq') : 0;
    this.putPush.run(seq, until);
    return seq;
  }

  /** Only inside a transaction. */
  movePush(seq: number, until: number): void {
    this.putPush.run(seq, until);
  }

  private seqIn(row: Row | undefined): number | null {
    return row && row.seq !== null ? integer(row, 'seq') : null;
  }
}
