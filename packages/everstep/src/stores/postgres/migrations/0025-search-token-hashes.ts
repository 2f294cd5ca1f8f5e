/**
 * Version 25: the SHA-256 of the tokens of a search index, in hex. If it is null, the tokens are derived from a key of the
 * installation and `token_number`, as in earlier versions.
 */
export const searchTokenHashes = `
ALTER TABLE search_index ADD COLUMN read_write_hash text;
ALTER TABLE search_index ADD COLUMN read_only_hash text;
`;
