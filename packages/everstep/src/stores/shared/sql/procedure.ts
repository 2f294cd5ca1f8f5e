/**
 * Procedures: sequences of statements that both stores execute. A procedure is a generator that yields each statement and
 * receives its answer, so the embedded store drives it synchronously within one transaction of its only connection, and
 * the PostgreSQL store waits for each answer.
 */
import type { Row } from '../../records/columns.js';
import type { Sql } from './sql.js';

/** What the store does with a statement: it returns its rows, or the number of rows it changed, or nothing. */
export interface Command {
  readonly returns: 'rows' | 'count' | 'nothing';
  readonly statement: Sql;
}

/** `rows` is empty and `count` is 0 unless the command requested them. */
export interface Answer {
  readonly rows: readonly Row[];
  readonly count: number;
}

export type Procedure<Result> = Generator<Command, Result, Answer>;

export function* rows(statement: Sql): Procedure<readonly Row[]> {
  return (yield { returns: 'rows', statement }).rows;
}

/** The first row; null if there is none. */
export function* row(statement: Sql): Procedure<Row | null> {
  return (yield { returns: 'rows', statement }).rows[0] ?? null;
}

/** Returns the number of rows that the statement inserted, changed or deleted. */
export function* count(statement: Sql): Procedure<number> {
  return (yield { returns: 'count', statement }).count;
}

/** Does not wait for the answer if the store is remote. If the statement fails, the transaction fails. */
export function* send(statement: Sql): Procedure<void> {
  yield { returns: 'nothing', statement };
}

/** Work of one store within a procedure, without a statement of its own. */
// biome-ignore lint/correctness/useYield: it takes the place of a procedure that has statements.
export function* own<Result>(work: () => Result): Procedure<Result> {
  return work();
}

export interface WriteOptions {
  /** False: a crash may undo the write. */
  readonly durable?: boolean;
}

/** A store as the shared procedures see it. */
export interface SqlStore {
  /** Executes a procedure that only reads, outside of a transaction. */
  read<Result>(procedure: Procedure<Result>): Promise<Result>;
  /** Like `read`, in one transaction, so that its locks are held until its end. */
  readInTransaction<Result>(procedure: () => Procedure<Result>): Promise<Result>;
  /** Like `read`, for items that the service acts on: they are durable when the promise resolves. */
  readDurable<Item>(procedure: Procedure<readonly Item[]>): Promise<readonly Item[]>;
  /**
   * Executes the procedure in one transaction, durable when the promise resolves. An error undoes the transaction. The store
   * may start again from the beginning if the database had to resolve a conflict, so the procedure changes nothing else.
   */
  write<Result>(procedure: () => Procedure<Result>, options?: WriteOptions): Promise<Result>;
}
