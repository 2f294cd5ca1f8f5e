/** Version 5: records of search indexes. Their documents are in separate files. */
export const search = `
CREATE TABLE search_index (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  index_id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  region TEXT NOT NULL,
  type TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  token_number INTEGER NOT NULL,
  -- 1: its documents are still to be removed
  deleted INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX search_index_of_account ON search_index (account_id, seq);
CREATE INDEX search_index_by_state ON search_index (deleted, seq);
`;
