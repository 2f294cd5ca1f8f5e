/** Executes the procedures that both stores share, synchronously on the only connection. */
import type { SQLInputValue, StatementSync } from 'node:sqlite';
import type { Answer, Command, Procedure, SqlStore, WriteOptions } from '../../shared/sql/procedure.js';
import { render, type SqlValue } from '../../shared/sql/sql.js';
import { blob } from './columns.js';
import { type Connection, transact } from './connection.js';
import { storeErrorOf } from './errors.js';

const NO_ANSWER: Answer = { rows: [], count: 0 };

function inputOf(value: SqlValue): SQLInputValue {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof Uint8Array) return blob(value);
  if (typeof value === 'object' && value !== null) throw new TypeError('SQLite has no lists');
  return value;
}

/** Runs `work` in a transaction of its own. Throws StoreRefusesWritesError if the store does not accept writes. */
export function write<Result>(connection: Connection, work: () => Result): Result {
  try {
    return transact(connection, work);
  } catch (error) {
    throw storeErrorOf(error, connection);
  }
}

export class SqlSession implements SqlStore {
  private readonly connection: Connection;
  /** By their text; each is prepared once. Texts come from the code, so their number is limited. */
  private readonly statements = new Map<string, StatementSync>();

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** Procedures that write are executed only inside a transaction. */
  run<Result>(procedure: Procedure<Result>): Result {
    let next = procedure.next();
    while (next.done !== true) next = procedure.next(this.answerTo(next.value));
    return next.value;
  }

  async read<Result>(procedure: Procedure<Result>): Promise<Result> {
    return this.run(procedure);
  }

  async readInTransaction<Result>(procedure: () => Procedure<Result>): Promise<Result> {
    return this.run(procedure());
  }

  async readDurable<Item>(procedure: Procedure<readonly Item[]>): Promise<readonly Item[]> {
    const items = this.run(procedure);
    if (items.length > 0) await this.connection.durable();
    return items;
  }

  async write<Result>(procedure: () => Procedure<Result>, { durable = true }: WriteOptions = {}): Promise<Result> {
    const result = write(this.connection, () => this.run(procedure()));
    if (durable) await this.connection.durable();
    return result;
  }

  private answerTo({ statement, returns }: Command): Answer {
    const { text, values } = render(statement, 'sqlite');
    let prepared = this.statements.get(text);
    if (!prepared) {
      prepared = this.connection.prepare(text);
      this.statements.set(text, prepared);
    }
    const inputs = values.map(inputOf);
    if (returns === 'rows') return { rows: prepared.all(...inputs), count: 0 };
    const { changes } = prepared.run(...inputs);
    return returns === 'count' ? { rows: [], count: Number(changes) } : NO_ANSWER;
  }
}
