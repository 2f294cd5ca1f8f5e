/** The embedded store as the shared procedures see it. */
import type { Procedure, SqlStore, WriteOptions } from '../../shared/sql/procedure.js';
import type { Connection } from './connection.js';
import type { SqlRunner } from './sql-runner.js';
import type { StoreParts } from './store-parts.js';
import type { Transaction } from './transaction.js';

export class SqlSession implements SqlStore {
  private readonly connection: Connection;
  private readonly runner: SqlRunner;
  private readonly transaction: Pick<Transaction, 'run'>;

  constructor({ connection, sql }: Pick<StoreParts, 'connection' | 'sql'>, transaction: Pick<Transaction, 'run'>) {
    this.connection = connection;
    this.runner = sql;
    this.transaction = transaction;
  }

  run<Result>(procedure: Procedure<Result>): Result {
    return this.runner.run(procedure);
  }

  async read<Result>(procedure: Procedure<Result>): Promise<Result> {
    return this.runner.run(procedure);
  }

  async readInTransaction<Result>(procedure: () => Procedure<Result>): Promise<Result> {
    return this.runner.run(procedure());
  }

  async readDurable<Item>(procedure: Procedure<readonly Item[]>): Promise<readonly Item[]> {
    const items = this.runner.run(procedure);
    if (items.length > 0) await this.connection.waitUntilDurable();
    return items;
  }

  async write<Result>(procedure: () => Procedure<Result>, { durable = true }: WriteOptions = {}): Promise<Result> {
    const result = this.transaction.run(() => this.runner.run(procedure()));
    if (durable) await this.connection.waitUntilDurable();
    return result;
  }
}
