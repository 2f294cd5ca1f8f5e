/** Records of search indexes: few rows, rarely changed; each method is one durable transaction, with its audit entry in it. */
import { SEARCH_TYPES, type SearchIndexRecord, type SearchIndexStore } from '../../../ports/stores/search-store.js';
import { createAccountChange, requireAccount } from '../accounts/account-change.js';
import { integer, type Row, text, textOrNull, word } from '../connection/columns.js';
import { type Database, statement } from '../connection/connection.js';

const INSERT = statement(`
  INSERT INTO search_index (index_id, account_id, name, region, type, created_at, token_number, read_write_hash, read_only_hash)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`);
const SELECT_ONE = statement('SELECT * FROM search_index WHERE index_id = $1 AND NOT deleted');
const SELECT_OF_ACCOUNTS = statement(
  'SELECT * FROM search_index WHERE account_id = ANY ($1::text[]) AND NOT deleted ORDER BY seq',
);
const SELECT_IDS = statement('SELECT index_id FROM search_index WHERE deleted = $1 ORDER BY seq');
const UPDATE = statement(`
  UPDATE search_index SET account_id = coalesce($2, account_id), name = coalesce($3, name),
    read_write_hash = coalesce($4, read_write_hash), read_only_hash = coalesce($5, read_only_hash)
  WHERE index_id = $1 AND NOT deleted RETURNING *`);
const HASH_DERIVED = statement(
  'UPDATE search_index SET read_write_hash = $2, read_only_hash = $3 WHERE index_id = $1 AND read_write_hash IS NULL',
);
const MARK_DELETED = statement('UPDATE search_index SET deleted = true WHERE index_id = $1 AND NOT deleted');
const DELETE = statement('DELETE FROM search_index WHERE index_id = $1 AND deleted');

function hashesOf(row: Row): Pick<SearchIndexRecord, 'tokenHashes'> {
  const [readWrite, readOnly] = [textOrNull(row, 'read_write_hash'), textOrNull(row, 'read_only_hash')];
  return readWrite === null || readOnly === null ? {} : { tokenHashes: { readWrite, readOnly } };
}

const recordOf = (row: Row): SearchIndexRecord => ({
  indexId: text(row, 'index_id'),
  accountId: text(row, 'account_id'),
  name: text(row, 'name'),
  region: text(row, 'region'),
  type: word(row, 'type', SEARCH_TYPES),
  createdAt: integer(row, 'created_at'),
  derivedNumber: integer(row, 'token_number'),
  ...hashesOf(row),
});

const idOf = (row: Row): string => text(row, 'index_id');

export function createSearchIndexes(database: Database): SearchIndexStore {
  const inTransaction = createAccountChange(database);
  return {
    create: ({ indexId, accountId, name, region, type, createdAt, derivedNumber, tokenHashes }, audit) =>
      inTransaction(async (session) => {
        await requireAccount(session, accountId);
        const hashes = [tokenHashes?.readWrite ?? null, tokenHashes?.readOnly ?? null];
        await session.execute(INSERT, [indexId, accountId, name, region, type, createdAt, derivedNumber, ...hashes]);
      }, audit),
    async find({ indexId }) {
      const [row] = await database.query(SELECT_ONE, [indexId]);
      return row ? recordOf(row) : null;
    },
    list: async ({ accountIds }) => (await database.query(SELECT_OF_ACCOUNTS, [accountIds])).map(recordOf),
    listIds: async () => (await database.query(SELECT_IDS, [false])).map(idOf),
    change: ({ indexId, change: { accountId = null, name = null, tokenHashes }, audit }) =>
      inTransaction(
        async (session) => {
          if (accountId !== null) await requireAccount(session, accountId);
          const [row] = await session.query(UPDATE, [
            ...[indexId, accountId, name],
            ...[tokenHashes?.readWrite ?? null, tokenHashes?.readOnly ?? null],
          ]);
          return row ? recordOf(row) : null;
        },
        audit,
        (changed) => changed !== null,
      ),
    async hashDerivedTokens({ indexId, hashes }) {
      await inTransaction((session) => session.execute(HASH_DERIVED, [indexId, hashes.readWrite, hashes.readOnly]));
    },
    markDeleted: ({ indexId, audit }) =>
      inTransaction(
        async (session) => (await session.execute(MARK_DELETED, [indexId])) === 1,
        audit,
        (deleted) => deleted,
      ),
    deleted: async () => (await database.query(SELECT_IDS, [true])).map(idOf),
    async forget({ indexId }) {
      await inTransaction((session) => session.execute(DELETE, [indexId]));
    },
  };
}
