/** Records of search indexes: few rows, rarely changed. Each change is one durable transaction that contains its audit entry. */
import {
  SEARCH_TYPES,
  type SearchIndexChange,
  type SearchIndexRecord,
  type SearchIndexStore,
} from '../../../ports/stores/search-store.js';
import { integer, type Row, text } from '../../records/columns.js';
import { createAccountChange, requireAccount } from '../accounts/change.js';
import type { AddAudit } from '../audit/audit-log.js';
import { inList, isFalse, isTrue } from '../sql/dialect.js';
import { count, type Procedure, row, rows, type SqlStore, send } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { NUMBER, nullable, oneOf, TEXT, table } from '../sql/table.js';

/** A row of the table. `tokenNumber` is the record's `derivedNumber`; both hashes are null for derived tokens. */
interface StoredIndex extends Omit<SearchIndexRecord, 'derivedNumber' | 'tokenHashes'> {
  readonly tokenNumber: number;
  readonly readWriteHash: string | null;
  readonly readOnlyHash: string | null;
}

const INDEX = table<StoredIndex>('search_index', {
  indexId: TEXT,
  accountId: TEXT,
  name: TEXT,
  region: TEXT,
  type: oneOf(SEARCH_TYPES),
  createdAt: NUMBER,
  tokenNumber: NUMBER,
  readWriteHash: nullable(TEXT),
  readOnlyHash: nullable(TEXT),
});

const IS_DELETED = isTrue('deleted');
const IS_NOT_DELETED = isFalse('deleted');

function recordOf(foundRow: Row): SearchIndexRecord {
  const { tokenNumber, readWriteHash: readWrite, readOnlyHash: readOnly, ...index } = INDEX.read(foundRow);
  const hashes = readWrite === null || readOnly === null ? {} : { tokenHashes: { readWrite, readOnly } };
  return { ...index, derivedNumber: tokenNumber, ...hashes };
}

/** Creates the index. Fails if the id is taken, or if the account does not exist. */
function* create({ derivedNumber, tokenHashes, ...index }: SearchIndexRecord): Procedure<void> {
  yield* requireAccount(index.accountId);
  const hashes = { readWriteHash: tokenHashes?.readWrite ?? null, readOnlyHash: tokenHashes?.readOnly ?? null };
  yield* send(INDEX.insert({ ...index, ...hashes, tokenNumber: derivedNumber }));
}

function* find(indexId: string): Procedure<SearchIndexRecord | null> {
  const foundRow = yield* row(sql`SELECT * FROM search_index WHERE index_id = ${indexId} AND ${IS_NOT_DELETED}`);
  return foundRow && recordOf(foundRow);
}

/** Returns the indexes of these accounts in the order of creation. */
function* list(accountIds: readonly string[]): Procedure<readonly SearchIndexRecord[]> {
  const foundRows = yield* rows(sql`SELECT * FROM search_index WHERE account_id ${inList(accountIds)} AND ${IS_NOT_DELETED}`);
  return foundRows.toSorted((a, b) => integer(a, 'seq') - integer(b, 'seq')).map(recordOf);
}

function* listIds(isDeleted: boolean): Procedure<readonly string[]> {
  const foundRows = yield* rows(sql`SELECT index_id FROM search_index WHERE deleted = ${isDeleted} ORDER BY seq`);
  return foundRows.map((index) => text(index, 'index_id'));
}

function* change(indexId: string, { accountId, name, tokenHashes }: SearchIndexChange) {
  if (accountId !== undefined) yield* requireAccount(accountId);
  const changedRow = yield* row(sql`
    UPDATE search_index SET account_id = coalesce(${accountId ?? null}, account_id), name = coalesce(${name ?? null}, name),
      read_write_hash = coalesce(${tokenHashes?.readWrite ?? null}, read_write_hash),
      read_only_hash = coalesce(${tokenHashes?.readOnly ?? null}, read_only_hash)
    WHERE index_id = ${indexId} AND ${IS_NOT_DELETED} RETURNING *`);
  return changedRow && recordOf(changedRow);
}

export function createSearchIndexes(store: SqlStore, addAudit: AddAudit): SearchIndexStore {
  const changeWithAudit = createAccountChange(store, addAudit);
  return {
    create: (index, audit) => changeWithAudit(() => create(index), audit),
    find: ({ indexId }) => store.read(find(indexId)),
    list: ({ accountIds }) => store.read(list(accountIds)),
    listIds: () => store.read(listIds(false)),
    change: ({ indexId, change: indexChange, audit }) => changeWithAudit(() => change(indexId, indexChange), audit),
    hashDerivedTokens: ({ indexId, hashes }) =>
      store.write(() =>
        send(sql`
          UPDATE search_index SET read_write_hash = ${hashes.readWrite}, read_only_hash = ${hashes.readOnly}
          WHERE index_id = ${indexId} AND read_write_hash IS NULL`),
      ),
    markDeleted: ({ indexId, audit }) =>
      changeWithAudit(function* () {
        return (
          (yield* count(sql`UPDATE search_index SET deleted = ${true} WHERE index_id = ${indexId} AND ${IS_NOT_DELETED}`)) === 1
        );
      }, audit),
    listDeletedIds: () => store.read(listIds(true)),
    forget: ({ indexId }) => store.write(() => send(sql`DELETE FROM search_index WHERE index_id = ${indexId} AND ${IS_DELETED}`)),
  };
}
