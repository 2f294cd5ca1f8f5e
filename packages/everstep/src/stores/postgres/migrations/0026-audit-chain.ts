/**
 * Version 26: the hash chain over the audit log, which the nodes extend in the background. Entries and hashes are only added. Those
 * up to the anchor can be removed, and the anchor only moves forward. `audit_push` records how far entries were pushed.
 */
export const auditChain = `
ALTER TABLE audit_log ADD COLUMN request text;
CREATE INDEX audit_log_by_time ON audit_log (at, seq);

CREATE TABLE audit_chain (
  seq bigint PRIMARY KEY,
  hash text COLLATE "C" NOT NULL
);

CREATE TABLE audit_anchor (
  id integer PRIMARY KEY CHECK (id = 1),
  seq bigint NOT NULL,
  hash text COLLATE "C" NOT NULL
);

CREATE TABLE audit_push (
  id integer PRIMARY KEY CHECK (id = 1),
  seq bigint NOT NULL,
  claimed_until bigint NOT NULL
);

DROP TRIGGER audit_log_stays ON audit_log;
DROP TRIGGER audit_reader_stays ON audit_reader;
CREATE TRIGGER audit_log_stays BEFORE UPDATE OR TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_added();
CREATE TRIGGER audit_reader_stays BEFORE UPDATE OR TRUNCATE ON audit_reader
  FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_added();
CREATE TRIGGER audit_chain_stays BEFORE UPDATE OR TRUNCATE ON audit_chain
  FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_added();
CREATE TRIGGER audit_anchor_stays BEFORE DELETE OR TRUNCATE ON audit_anchor
  FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_added();

CREATE FUNCTION audit_goes_behind_anchor() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE anchor bigint;
BEGIN
  EXECUTE format('SELECT seq FROM %I.audit_anchor WHERE id = 1', TG_TABLE_SCHEMA) INTO anchor;
  IF (to_jsonb(OLD) ->> TG_ARGV[0])::bigint > coalesce(anchor, 0) THEN
    RAISE EXCEPTION 'an entry of the audit log cannot be changed or deleted';
  END IF;
  RETURN OLD;
END
$$;
CREATE TRIGGER audit_log_goes BEFORE DELETE ON audit_log
  FOR EACH ROW EXECUTE FUNCTION audit_goes_behind_anchor('seq');
CREATE TRIGGER audit_reader_goes BEFORE DELETE ON audit_reader
  FOR EACH ROW EXECUTE FUNCTION audit_goes_behind_anchor('entry_seq');
CREATE TRIGGER audit_chain_goes BEFORE DELETE ON audit_chain
  FOR EACH ROW EXECUTE FUNCTION audit_goes_behind_anchor('seq');

CREATE FUNCTION audit_anchor_moves_forward() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.seq <= OLD.seq THEN RAISE EXCEPTION 'the anchor of the audit log moves forward'; END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER audit_anchor_moves BEFORE UPDATE ON audit_anchor
  FOR EACH ROW EXECUTE FUNCTION audit_anchor_moves_forward();
`;
