/** Executes the procedures that both stores share, synchronously on the only connection. */
import type { SQLInputValue, StatementSync } from 'node:sqlite';
import type { Command, CommandResult, Procedure } from '../../shared/sql/procedure.js';
import { render, type SqlValue } from '../../shared/sql/sql.js';
import { blob } from './columns.js';
import type { Connection } from './connection.js';

const NO_RESULT: CommandResult = { rows: [], count: 0 };

function inputOf(value: SqlValue): SQLInputValue {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof Uint8Array) return blob(value);
  if (typeof value === 'object' && value !== null) throw new TypeError('a list cannot be a parameter of an SQLite statement');
  return value;
}

/** Executes procedures. Those that write are executed only inside a transaction. */
export class SqlRunner {
  private readonly connection: Pick<Connection, 'prepare'>;
  /** Statements by their text; each is prepared once. All texts are in the code, so their number is limited. */
  private readonly statements = new Map<string, StatementSync>();

  constructor(connection: Pick<Connection, 'prepare'>) {
    this.connection = connection;
  }

  run<Result>(procedure: Procedure<Result>): Result {
    let next = procedure.next();
    while (next.done !== true) next = procedure.next(this.responseTo(next.value));
    return next.value;
  }

  private responseTo({ statement, returns }: Command): CommandResult {
    const { text, values } = render(statement, 'sqlite');
    let preparedStatement = this.statements.get(text);
    if (!preparedStatement) {
      preparedStatement = this.connection.prepare(text);
      this.statements.set(text, preparedStatement);
    }
    const inputs = values.map(inputOf);
    if (returns === 'rows') return { rows: preparedStatement.all(...inputs), count: 0 };
    const { changes } = preparedStatement.run(...inputs);
    return returns === 'count' ? { rows: [], count: Number(changes) } : NO_RESULT;
  }
}
