/** Executes the procedures that both stores share, over the pool of connections or within one transaction. */
import type { Command, CommandResult, Procedure, SqlStore, WriteOptions } from '../../shared/sql/procedure.js';
import { type Dialect, render } from '../../shared/sql/sql.js';
import { type Database, type Session, type Statement, statement, type TransactionSession } from './connection.js';

const NO_RESULT: CommandResult = { rows: [], count: 0 };
const COMMIT_WITHOUT_SYNC = statement(`SELECT set_config('synchronous_commit', 'off', true)`);

/** Statements by their text. All texts are constants of the code, so their number is limited. */
const statements = new Map<string, Statement>();

function statementOf(text: string): Statement {
  const cachedStatement = statements.get(text);
  if (cachedStatement) return cachedStatement;
  const newStatement = statement(text);
  statements.set(text, newStatement);
  return newStatement;
}

const dialectOf = ({ engine }: Session): Dialect => (engine.isDistributed ? 'distributed' : 'postgres');

async function executeCommand(
  session: Session | TransactionSession,
  { statement: parts, returns }: Command,
): Promise<CommandResult> {
  const { text, values } = render(parts, dialectOf(session));
  if (returns === 'rows') return { rows: await session.query(statementOf(text), values), count: 0 };
  if (returns === 'nothing' && 'send' in session) session.send(statementOf(text), values);
  else return { rows: [], count: await session.execute(statementOf(text), values) };
  return NO_RESULT;
}

export async function runProcedure<Result>(session: Session | TransactionSession, procedure: Procedure<Result>): Promise<Result> {
  let next = procedure.next();
  while (next.done !== true) next = procedure.next(await executeCommand(session, next.value));
  return next.value;
}

/** Sends the statements of a procedure that never waits for a result. */
export function sendProcedure(session: TransactionSession, procedure: Procedure<void>): void {
  for (let next = procedure.next(); next.done !== true; next = procedure.next(NO_RESULT)) {
    if (next.value.returns !== 'nothing') throw new Error('a procedure that is sent without waiting requested a result');
    const { text, values } = render(next.value.statement, dialectOf(session));
    session.send(statementOf(text), values);
  }
}

export class SqlSession implements SqlStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  read<Result>(procedure: Procedure<Result>): Promise<Result> {
    return runProcedure(this.database, procedure);
  }

  readInTransaction<Result>(procedure: () => Procedure<Result>): Promise<Result> {
    return this.write(procedure);
  }

  readDurable<Item>(procedure: Procedure<readonly Item[]>): Promise<readonly Item[]> {
    return this.read(procedure);
  }

  write<Result>(procedure: () => Procedure<Result>, { durable = true }: WriteOptions = {}): Promise<Result> {
    return this.database.transaction((session) => {
      if (!durable) session.send(COMMIT_WITHOUT_SYNC);
      return runProcedure(session, procedure());
    });
  }
}
