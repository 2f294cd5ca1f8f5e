/**
 * Version 27: the hash chain over the audit log. Entries and hashes are only added. Those up to the anchor may be removed, and the
 * anchor only moves forward. `audit_push` records the number of the last entry that was pushed.
 */
export const auditChain = `
ALTER TABLE audit_log ADD COLUMN request TEXT;
CREATE INDEX audit_log_by_time ON audit_log (at, seq);

CREATE TABLE audit_chain (
  seq INTEGER PRIMARY KEY,
  hash TEXT NOT NULL
) STRICT;

CREATE TABLE audit_anchor (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT;

CREATE TABLE audit_push (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  seq INTEGER NOT NULL,
  claimed_until INTEGER NOT NULL
) STRICT;

DROP TRIGGER audit_log_is_not_deleted;
DROP TRIGGER audit_reader_is_not_deleted;
CREATE TRIGGER audit_log_is_not_deleted BEFORE DELETE ON audit_log
  WHEN OLD.seq > coalesce((SELECT seq FROM audit_anchor WHERE id = 1), 0)
  BEGIN SELECT raise(ABORT, 'an entry of the audit log cannot be deleted'); END;
CREATE TRIGGER audit_reader_is_not_deleted BEFORE DELETE ON audit_reader
  WHEN OLD.entry_seq > coalesce((SELECT seq FROM audit_anchor WHERE id = 1), 0)
  BEGIN SELECT raise(ABORT, 'who may read the audit log cannot be changed'); END;
CREATE TRIGGER audit_chain_is_not_replaced BEFORE INSERT ON audit_chain
  WHEN EXISTS (SELECT 1 FROM audit_chain WHERE seq >= NEW.seq)
  BEGIN SELECT raise(ABORT, 'the chain of the audit log only grows at its end'); END;
CREATE TRIGGER audit_chain_is_not_changed BEFORE UPDATE ON audit_chain
  BEGIN SELECT raise(ABORT, 'the chain of the audit log cannot be changed'); END;
CREATE TRIGGER audit_chain_is_not_deleted BEFORE DELETE ON audit_chain
  WHEN OLD.seq > coalesce((SELECT seq FROM audit_anchor WHERE id = 1), 0)
  BEGIN SELECT raise(ABORT, 'the chain of the audit log cannot be changed'); END;
CREATE TRIGGER audit_anchor_moves_forward BEFORE UPDATE ON audit_anchor
  WHEN NEW.seq <= OLD.seq
  BEGIN SELECT raise(ABORT, 'the anchor of the audit log moves forward'); END;
CREATE TRIGGER audit_anchor_is_not_deleted BEFORE DELETE ON audit_anchor
  BEGIN SELECT raise(ABORT, 'the anchor of the audit log stays'); END;
`;
