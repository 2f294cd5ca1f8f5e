/**
 * The hash chain over the audit log, its retention, and the position up to which the log was pushed.
 *
 * Keeps invariant 47.
 */
import { GENESIS, hashOf, linksOf } from '../../../audit/chain.js';
import type { AuditEntry } from '../../../ports/stores/account-store.js';
import type { AuditStore, ChainedEntry, ChainLink, ChainPosition } from '../../../ports/stores/audit-store.js';
import { integer, json, type Row, text } from '../../records/columns.js';
import { rowsOf } from '../sql/dialect.js';
import { type Procedure, row, rows, type SqlStore, send } from '../sql/procedure.js';
import { type Sql, sql } from '../sql/sql.js';
import { AUDIT_LOG, addAudit, LOCK_AUDIT_LOG } from './audit-log.js';

/** Maximum number of entries that a search by time reads, because entries of long requests are not in the order of their times. */
const MAX_UNORDERED = 1_000;
/** Maximum number of entries added to the chain at once. More than one is needed only for entries of versions without a chain. */
const SEALED_AT_ONCE = 100;

const positionOf = (foundRow: Row): ChainPosition => ({ seq: integer(foundRow, 'seq'), hash: text(foundRow, 'hash') });

const entriesIn = (after: number, lastSeq: number, limit: number): Sql =>
  sql`SELECT * FROM audit_log WHERE seq > ${after} AND seq <= ${lastSeq} ORDER BY seq LIMIT ${limit}`;
const hashesAfter = (after: number, limit: number): Sql =>
  sql`SELECT seq, hash FROM audit_chain WHERE seq > ${after} ORDER BY seq LIMIT ${limit}`;

function* anchor(): Procedure<ChainPosition> {
  const foundRow = yield* row(sql`SELECT seq, hash FROM audit_anchor WHERE id = 1`);
  return foundRow ? positionOf(foundRow) : { seq: 0, hash: GENESIS };
}

function* head(): Procedure<ChainPosition> {
  const lastRow = yield* row(sql`SELECT seq, hash FROM audit_chain ORDER BY seq DESC LIMIT 1`);
  return lastRow ? positionOf(lastRow) : yield* anchor();
}

/** Adds entries to the chain. The lock prevents concurrent additions, so no entry with a lower number appears later. */
function* seal(limit: number): Procedure<number> {
  yield* rows(LOCK_AUDIT_LOG);
  let { seq, hash } = yield* head();
  const newPositions: ChainPosition[] = [];
  for (const entry of yield* rows(entriesIn(seq, Number.MAX_SAFE_INTEGER, limit))) {
    seq = integer(entry, 'seq');
    hash = hashOf(hash, AUDIT_LOG.read(entry));
    newPositions.push({ seq, hash });
  }
  const linkRows = rowsOf({ seq: 'bigint', hash: 'text' }, newPositions);
  if (newPositions.length > 0) yield* send(sql`INSERT INTO audit_chain (seq, hash) SELECT seq, hash FROM ${linkRows}`);
  return newPositions.length;
}

function* hasUnsealed(): Procedure<boolean> {
  const { seq } = yield* head();
  return (yield* row(sql`SELECT seq FROM audit_log WHERE seq > ${seq} ORDER BY seq LIMIT 1`)) !== null;
}

/** Adds the entry and its link to the chain. For a store that runs one transaction at a time. */
export function* addSealedAudit(entry: AuditEntry): Procedure<void> {
  yield* addAudit(entry);
  yield* seal(SEALED_AT_ONCE);
}

const seqOrNull = (foundRow: Row | null): number | null => (foundRow && foundRow.seq !== null ? integer(foundRow, 'seq') : null);

function* firstSeqSince(at: number): Procedure<number | null> {
  return seqOrNull(
    yield* row(sql`
      SELECT min(seq) AS seq FROM (SELECT seq FROM audit_log WHERE at >= ${at} ORDER BY at, seq LIMIT ${MAX_UNORDERED}) l`),
  );
}

function* lastSeqUntil(at: number): Procedure<number | null> {
  return seqOrNull(
    yield* row(sql`
      SELECT max(seq) AS seq FROM (
        SELECT seq FROM audit_log WHERE at <= ${at} ORDER BY at DESC, seq DESC LIMIT ${MAX_UNORDERED}) l`),
  );
}

function* chainedEntries({ after, limit, from, to }: Parameters<AuditStore['chained']>[0]): Procedure<readonly ChainedEntry[]> {
  const firstSeq = from === null ? 0 : yield* firstSeqSince(from);
  const lastSeq = to === null ? Number.MAX_SAFE_INTEGER : yield* lastSeqUntil(to);
  if (firstSeq === null || lastSeq === null) return [];
  const foundRows = yield* rows(sql`
    SELECT l.*, c.hash FROM audit_chain c JOIN audit_log l ON l.seq = c.seq
    WHERE c.seq > ${Math.max(after, firstSeq - 1)} AND c.seq <= ${lastSeq}
      AND l.at >= ${from ?? Number.MIN_SAFE_INTEGER} AND l.at <= ${to ?? Number.MAX_SAFE_INTEGER}
    ORDER BY c.seq LIMIT ${limit}`);
  return foundRows.map((entryRow) => ({ ...positionOf(entryRow), entry: AUDIT_LOG.read(entryRow) }));
}

function* links(after: number, limit: number): Procedure<readonly ChainLink[]> {
  const positions = (yield* rows(hashesAfter(after, limit))).map(positionOf);
  const lastSeq = positions.length < limit ? (yield* head()).seq : (positions.at(-1)?.seq ?? after);
  const entries = (yield* rows(entriesIn(after, lastSeq, limit))).map(
    (entryRow) => [integer(entryRow, 'seq'), AUDIT_LOG.read(entryRow)] as const,
  );
  return linksOf(new Map(positions.map(({ seq, hash }) => [seq, hash])), new Map(entries), limit);
}

function* removeBefore(before: number, limit: number): Procedure<number> {
  yield* rows(LOCK_AUDIT_LOG);
  const foundRows = yield* rows(entriesIn(0, (yield* head()).seq, limit));
  const firstKeptIndex = foundRows.findIndex((entryRow) => integer(entryRow, 'at') >= before);
  const oldRows = firstKeptIndex === -1 ? foundRows : foundRows.slice(0, firstKeptIndex);
  const lastRow = oldRows.at(-1);
  if (!lastRow) return 0;
  const seq = integer(lastRow, 'seq');
  const link = yield* row(hashesAfter(seq - 1, 1));
  if (!link || integer(link, 'seq') !== seq) return 0;
  const readers = oldRows.flatMap((entryRow) =>
    json<readonly string[]>(entryRow, 'account_ids').map((account_id) => ({ account_id, entry_seq: integer(entryRow, 'seq') })),
  );
  yield* send(sql`
    INSERT INTO audit_anchor (id, seq, hash) VALUES (1, ${seq}, ${text(link, 'hash')})
    ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`);
  const readerRows = rowsOf({ account_id: 'text', entry_seq: 'bigint' }, readers);
  yield* send(sql`DELETE FROM audit_reader WHERE (account_id, entry_seq) IN (SELECT account_id, entry_seq FROM ${readerRows})`);
  yield* send(sql`DELETE FROM audit_log WHERE seq <= ${seq}`);
  yield* send(sql`DELETE FROM audit_chain WHERE seq <= ${seq}`);
  return oldRows.length;
}

function* claimPush(now: number, until: number): Procedure<number | null> {
  yield* send(sql`INSERT INTO audit_push (id, seq, claimed_until) VALUES (1, 0, 0) ON CONFLICT (id) DO NOTHING`);
  const claimedRow = yield* row(sql`
    UPDATE audit_push SET claimed_until = ${until} WHERE id = 1 AND claimed_until <= ${now} RETURNING seq`);
  return claimedRow && integer(claimedRow, 'seq');
}

export function createAuditStore(store: SqlStore): AuditStore {
  return {
    // Usually the chain contains all entries, and no write is needed.
    seal: async ({ limit }) => ((await store.read(hasUnsealed())) ? store.write(() => seal(limit)) : 0),
    chained: (query) => store.read(chainedEntries(query)),
    links: ({ after, limit }) => store.read(links(after, limit)),
    anchor: () => store.read(anchor()),
    head: () => store.read(head()),
    removeBefore: ({ before, limit }) => store.write(() => removeBefore(before, limit)),
    claimPush: ({ now, until }) => store.write(() => claimPush(now, until)),
    movePush: ({ seq, until }) =>
      store.write(() => send(sql`UPDATE audit_push SET seq = ${seq}, claimed_until = ${until} WHERE id = 1`)),
  };
}
