/**
 * Version 25: SHA-256 of the tokens of a search index, in hexadecimal. They are null if its tokens are derived from a key of the
 * installation and `token_number`, as in earlier versions.
 */
export const searchTokenHashes = `
ALTER TABLE search_index ADD COLUMN read_write_hash TEXT;
ALTER TABLE search_index ADD COLUMN read_only_hash TEXT;
`;
