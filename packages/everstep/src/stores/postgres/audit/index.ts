/**
 * The audit log as a whole, in the database: its hash chain, its retention, and how far it was pushed.
 * Keeps invariant 47.
 */
import { GENESIS, hashOf, linksOf } from '../../../audit/chain.js';
import type { AuditStore, ChainPosition } from '../../../ports/stores/audit-store.js';
import { integer, json, type Row, text } from '../connection/columns.js';
import { type Database, type Session, statement } from '../connection/connection.js';
import { ALONE } from './audit-log.js';
import { entryOf } from './entry-rows.js';

/** Entries are in the order of their times, except for those of requests that take long. So many are looked at. */
const OUT_OF_ORDER = 1_000;

const ANCHOR = statement('SELECT seq, hash FROM audit_anchor WHERE id = 1');
const LAST = statement('SELECT seq, hash FROM audit_chain ORDER BY seq DESC LIMIT 1');
const ENTRIES = statement('SELECT * FROM audit_log WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3');
const UNSEALED = statement('SELECT seq FROM audit_log WHERE seq > $1 ORDER BY seq LIMIT 1');
const ADD_HASHES = statement('INSERT INTO audit_chain (seq, hash) SELECT * FROM unnest($1::bigint[], $2::text[])');
const HASHES = statement('SELECT seq, hash FROM audit_chain WHERE seq > $1 ORDER BY seq LIMIT $2');
const CHAINED = statement(`
  SELECT l.*, c.hash FROM audit_chain c JOIN audit_log l ON l.seq = c.seq
  WHERE c.seq > $1 AND c.seq <= $2 AND l.at >= $3 AND l.at <= $4 ORDER BY c.seq LIMIT $5`);
const FIRST_SINCE = statement(
  `SELECT min(seq) AS seq FROM (SELECT seq FROM audit_log WHERE at >= $1 ORDER BY at, seq LIMIT ${OUT_OF_ORDER}) l`,
);
const LAST_UNTIL = statement(
  `SELECT max(seq) AS seq FROM (SELECT seq FROM audit_log WHERE at <= $1 ORDER BY at DESC, seq DESC LIMIT ${OUT_OF_ORDER}) l`,
);
const PUT_ANCHOR = statement(`
  INSERT INTO audit_anchor (id, seq, hash) VALUES (1, $1, $2)
  ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`);
const DELETE_READERS = statement(`
  DELETE FROM audit_reader r USING (SELECT * FROM unnest($1::text[], $2::bigint[]) AS u (account_id, entry_seq)) gone
  WHERE r.account_id = gone.account_id AND r.entry_seq = gone.entry_seq`);
const DELETE_ENTRIES = statement('DELETE FROM audit_log WHERE seq <= $1');
const DELETE_HASHES = statement('DELETE FROM audit_chain WHERE seq <= $1');
const MAKE_PUSH = statement('INSERT INTO audit_push (id, seq, claimed_until) VALUES (1, 0, 0) ON CONFLICT (id) DO NOTHING');
const CLAIM_PUSH = statement('UPDATE audit_push SET claimed_until = $2 WHERE id = 1 AND claimed_until <= $1 RETURNING seq');
const MOVE_PUSH = statement('UPDATE audit_push SET seq = $1, claimed_until = $2 WHERE id = 1');

const positionOf = (row: Row): ChainPosition => ({ seq: integer(row, 'seq'), hash: text(row, 'hash') });

async function anchorOf(session: Session): Promise<ChainPosition> {
  const [row] = await session.query(ANCHOR);
  return row ? positionOf(row) : { seq: 0, hash: GENESIS };
}

async function headOf(session: Session): Promise<ChainPosition> {
  const [row] = await session.query(LAST);
  return row ? positionOf(row) : anchorOf(session);
}

export function createAuditStore(database: Database): AuditStore {
  /** No entry is added meanwhile, so none with a lower number comes later. */
  function seal(limit: number): Promise<number> {
    return database.transaction(async (session) => {
      await session.query(ALONE);
      let { seq, hash } = await headOf(session);
      const rows = await session.query(ENTRIES, [seq, Number.MAX_SAFE_INTEGER, limit]);
      const [seqs, hashes]: [number[], string[]] = [[], []];
      for (const row of rows) {
        seq = integer(row, 'seq');
        hash = hashOf(hash, entryOf(row));
        seqs.push(seq);
        hashes.push(hash);
      }
      if (rows.length > 0) session.send(ADD_HASHES, [seqs, hashes]);
      return rows.length;
    });
  }

  function removeBefore(before: number, limit: number): Promise<number> {
    return database.transaction(async (session) => {
      await session.query(ALONE);
      const head = await headOf(session);
      const rows = await session.query(ENTRIES, [0, head.seq, limit]);
      const young = rows.findIndex((row) => integer(row, 'at') >= before);
      const old = young === -1 ? rows : rows.slice(0, young);
      const last = old.at(-1);
      if (!last) return 0;
      const seq = integer(last, 'seq');
      const [link] = await session.query(HASHES, [seq - 1, 1]);
      if (!link || integer(link, 'seq') !== seq) return 0;
      const readers = old.flatMap((row) =>
        json<readonly string[]>(row, 'account_ids').map((accountId) => [accountId, integer(row, 'seq')] as const),
      );
      await session.execute(PUT_ANCHOR, [seq, text(link, 'hash')]);
      await session.execute(DELETE_READERS, [readers.map(([accountId]) => accountId), readers.map(([, of]) => of)]);
      await session.execute(DELETE_ENTRIES, [seq]);
      await session.execute(DELETE_HASHES, [seq]);
      return old.length;
    });
  }

  async function seqIn(rows: readonly Row[]): Promise<number | null> {
    const [row] = rows;
    return row && row.seq !== null ? integer(row, 'seq') : null;
  }

  return {
    async seal({ limit }) {
      // Mostly there is nothing to do, and nothing has to wait.
      const { seq } = await headOf(database);
      return (await database.query(UNSEALED, [seq])).length === 0 ? 0 : seal(limit);
    },
    async chained({ after, limit, from, to }) {
      const first = from === null ? 0 : await seqIn(await database.query(FIRST_SINCE, [from]));
      const last = to === null ? Number.MAX_SAFE_INTEGER : await seqIn(await database.query(LAST_UNTIL, [to]));
      if (first === null || last === null) return [];
      const times = [from ?? Number.MIN_SAFE_INTEGER, to ?? Number.MAX_SAFE_INTEGER];
      const rows = await database.query(CHAINED, [Math.max(after, first - 1), last, ...times, limit]);
      return rows.map((row) => ({ ...positionOf(row), entry: entryOf(row) }));
    },
    async links({ after, limit }) {
      const found = (await database.query(HASHES, [after, limit])).map(positionOf);
      const last = found.length < limit ? (await headOf(database)).seq : (found.at(-1)?.seq ?? after);
      const rows = await database.query(ENTRIES, [after, last, limit]);
      const entries = rows.map((row) => [integer(row, 'seq'), entryOf(row)] as const);
      return linksOf(new Map(found.map(({ seq, hash }) => [seq, hash])), new Map(entries), limit);
    },
    anchor: () => anchorOf(database),
    head: () => headOf(database),
    removeBefore: ({ before, limit }) => removeBefore(before, limit),
    async claimPush({ now, until }) {
      await database.execute(MAKE_PUSH);
      const [row] = await database.query(CLAIM_PUSH, [now, until]);
      return row ? integer(row, 'seq') : null;
    },
    async movePush({ seq, until }) {
      await database.execute(MOVE_PUSH, [seq, until]);
    },
  };
}
