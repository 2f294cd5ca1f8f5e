/**
 * Version 4: the documents of search indexes. Each index has its own table, named after its number, so that its
 * deletion releases its space immediately; its namespaces share that table. A transaction that writes documents locks the
 * row of their namespace.
 */
export const search = `
CREATE TABLE search_collection (
  index_id text COLLATE "C" PRIMARY KEY,
  number bigint GENERATED ALWAYS AS IDENTITY,
  -- Prevents writes that were in flight during the deletion from creating the index again.
  dropped boolean NOT NULL DEFAULT false
);

CREATE TABLE search_namespace (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  index_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  documents bigint NOT NULL DEFAULT 0,
  -- True while the documents of a deleted or emptied namespace are being removed.
  gone boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX search_namespace_by_name ON search_namespace (index_id, name) WHERE NOT gone;
CREATE INDEX search_namespace_gone ON search_namespace (index_id) WHERE gone;
`;
