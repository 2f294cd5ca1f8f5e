/**
 * Procedures: sequences of statements that both stores execute. A procedure is a generator that yields each statement and
 * receives its result. The embedded store drives it synchronously within one transaction of its only connection; the PostgreSQL
 * store waits for each result.
 */
import type { Row } from '../../records/columns.js';
import type { Sql } from './sql.js';

/** A statement, and what the store returns for it: its rows, the number of rows that it changed, or nothing. */
export interface Command {
  readonly returns: 'rows' | 'count' | 'nothing';
  readonly statement: Sql;
}

/** The result of a statement. `rows` is empty and `count` is 0 unless the command requested them. */
export interface CommandResult {
  readonly rows: readonly Row[];
  readonly count: number;
}

export type Procedure<Result> = Generator<Command, Result, CommandResult>;

export function* rows(statement: Sql): Procedure<readonly Row[]> {
  return (yield { returns: 'rows', statement }).rows;
}

/** Returns the first row; null if there is none. */
export function* row(statement: Sql): Procedure<Row | null> {
  return (yield { returns: 'rows', statement }).rows[0] ?? null;
}

/** Returns the number of rows that the statement inserted, changed or deleted. */
export function* count(statement: Sql): Procedure<number> {
  return (yield { returns: 'count', statement }).count;
}

/** Sends the statement. A remote store does not wait for the result. If the statement fails, the transaction fails. */
export function* send(statement: Sql): Procedure<void> {
  yield { returns: 'nothing', statement };
}

/** Does work of one store within a procedure, without a statement. */
// biome-ignore lint/correctness/useYield: it replaces a procedure that has statements.
export function* localWork<Result>(work: () => Result): Procedure<Result> {
  return work();
}

export interface WriteOptions {
  /** Whether the write is durable when it resolves. If false, a crash may undo it. */
  readonly durable?: boolean;
}

/** A store as the shared procedures see it. */
export interface SqlStore {
  /** Executes a procedure that only reads, outside of a transaction. */
  read<Result>(procedure: Procedure<Result>): Promise<Result>;
  /** Like `read`, in one transaction, so that its locks are held until its end. */
  readInTransaction<Result>(procedure: () => Procedure<Result>): Promise<Result>;
  /** Like `read`, for items that the server acts on: they are durable when the promise resolves. */
  readDurable<Item>(procedure: Procedure<readonly Item[]>): Promise<readonly Item[]>;
  /**
   * Executes the procedure in one transaction, durable when the promise resolves. An error rolls the transaction back. The store
   * may repeat the procedure from its beginning if the database had to resolve a conflict, so it must change nothing else.
   */
  write<Result>(procedure: () => Procedure<Result>, options?: WriteOptions): Promise<Result>;
}
