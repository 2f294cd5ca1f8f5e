/**
 * One connection as a session: statements are sent without waiting for the responses to earlier ones, and writes to different
 * tables are joined into one statement.
 */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { ServerUnavailableError } from '../../../ports/stores/store-unavailable.js';
import type { Engine } from '../sharding/engine.js';
import { routedStatement } from '../sharding/routed-statement.js';
import { instancesIn, isPlainRead, reachableFormOf } from '../sharding/statement-facts.js';
import type { Row } from './columns.js';
import { isPlanOutdated } from './errors.js';
import { pgValueOf, type SqlValue } from './sql-values.js';

/** A statement that each connection prepares once under its name; without a name it is prepared each time. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /**
   * Statements with the same effect and the same parameters for distributed tables, where each statement writes to one table. A
   * statement that returns rows has one part.
   */
  readonly parts?: readonly Statement[];
}

/** Creates a statement. Its name depends on its text only, because a pooler can let several processes share a connection. */
export function statement(text: string): Statement {
  return { name: `everstep_${createHash('sha256').update(text).digest('hex').slice(0, 20)}`, text };
}

/** A write that can be joined with writes to other tables: one INSERT, UPDATE or DELETE without a WITH clause. */
export interface TableWrite extends Statement {
  readonly table: string;
}

export const tableWrite = (table: string, text: string): TableWrite => ({ table, ...statement(text) });

/** Creates a statement that has other forms for distributed tables. */
export const distributableStatement = (text: string, parts: readonly string[]): Statement => ({
  ...statement(text),
  parts: parts.map((part) => statement(part)),
});

/** Creates a statement that is planned for the values of each call. Connections do not prepare it under a name. */
export const unpreparedStatement = (text: string): Statement => ({ name: '', text });

/** Longest delay of a timer in Node: 24.8 days. */
const MAX_TIMER_MS = 2_147_483_647;

/** A query with an option that the types of the library do not include. */
type LongQuery = pg.QueryConfig & { readonly query_timeout: number };

/**
 * Returns a query whose response the client awaits for as long as the connection is alive. The timeouts of the server are separate:
 * the caller must also set `statement_timeout` and `lock_timeout` to 0.
 */
export const longQuery = (text: string, values: readonly (string | number)[] = []): LongQuery => ({
  text,
  values: [...values],
  query_timeout: MAX_TIMER_MS,
});

/** Sends statements, through the pool or within one transaction. */
export interface Session {
  readonly engine: Engine;
  /** Sends the statement and resolves with its rows. */
  query(statement: Statement, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** Like query, for statements that return no rows: resolves with the number of affected rows. */
  execute(statement: Statement, values?: readonly SqlValue[]): Promise<number>;
}

/** A session in which statements are one transaction. */
export interface TransactionSession extends Session {
  /** Sends a write without waiting. An SQL error in it fails the transaction; faults without an SQL error are not detected. */
  send(statement: Statement, values?: readonly SqlValue[]): void;
  /**
   * Like send, as one statement with the writes to other tables that are sent this way directly before or after. None of them sees
   * what the others write.
   */
  sendJoined(write: TableWrite, values: readonly SqlValue[]): void;
}

/** Returns the form of a statement for distributed tables. */
const formOf = (original: Statement): Statement => (original.parts?.length === 1 ? (original.parts[0] ?? original) : original);

/** Returns the instances that the statement names, for distributed tables. */
export const instancesOf = (original: Statement, values: readonly SqlValue[]): readonly string[] =>
  routedStatement(formOf(original))
    .valuesOf(values)
    .flatMap((parameters) => instancesIn(formOf(original), parameters));

/** Returns the error if the server of an instance that the statement names is down; null if the statement can be sent. */
export function refusalOf(engine: Engine, original: Statement, values: readonly SqlValue[]): ServerUnavailableError | null {
  return engine.servers?.isAnyDown ? engine.servers.refusalOf(instancesOf(original, values)) : null;
}

/** Returns whether the statement can be repeated because it changes nothing. */
export const isRead = (original: Statement): boolean => isPlainRead(formOf(original));

/** Number of times that this process has started to prepare all statements again. */
let preparationCount = 0;

/**
 * Sends a statement. If it was prepared before a migration changed its columns, this rejects with an error for which
 * `isPlanOutdated` is true, and all statements are prepared again from then on. The new name and text are those of another
 * statement, so that neither the connection nor a pooler uses the outdated one again.
 */
async function send(client: pg.ClientBase, { name, text }: Statement, values: readonly SqlValue[]): Promise<pg.QueryResult> {
  const usedPreparation = preparationCount;
  const isPreparedAgain = name !== '' && usedPreparation > 0;
  const form = isPreparedAgain ? { name: `${name}_${usedPreparation}`, text: `${text}\n-- ${usedPreparation}` } : { name, text };
  try {
    return await client.query({ ...form, values: values.map(pgValueOf) });
  } catch (error) {
    if (usedPreparation === preparationCount && isPlanOutdated(error)) preparationCount++;
    throw error;
  }
}

export async function runStatement(client: pg.ClientBase, engine: Engine, original: Statement, values: readonly SqlValue[]) {
  if (!engine.isDistributed) return send(client, original, values);
  const form = formOf(original);
  const { statement, valuesOf } = routedStatement(form);
  const valueLists = valuesOf(values);
  const { servers } = engine;
  const reachableForm = servers?.isAnyDown ? reachableFormOf(form) : null;
  if (servers && reachableForm !== null)
    return send(client, unpreparedStatement(reachableForm), [...(valueLists[0] ?? []), servers.reachableInstanceIds]);
  const [firstCall, ...laterCalls] = valueLists.map((parameters) => send(client, statement, parameters));
  const combinedResponse = await firstCall;
  if (!combinedResponse) throw new Error('a statement was not sent');
  for (const call of laterCalls) {
    const { rows, rowCount } = await call;
    combinedResponse.rows.push(...rows);
    combinedResponse.rowCount = (combinedResponse.rowCount ?? 0) + (rowCount ?? 0);
  }
  return combinedResponse;
}

interface JoinedWrite {
  readonly write: TableWrite;
  readonly values: readonly SqlValue[];
}

/** Joined statements by the names of their writes. All writes are constants of the code, so their number is limited. */
const joinedStatements = new Map<string, Statement>();

/**
 * Returns one statement for writes to different tables, with a WITH clause for each, because the overhead of a statement exceeds
 * its execution time. Its values are those of the writes, in their order.
 */
function joinWrites(writes: readonly JoinedWrite[]): Statement {
  const [onlyWrite] = writes;
  if (onlyWrite && writes.length === 1) return onlyWrite.write;
  const key = writes.map(({ write }) => write.name).join(' ');
  const cachedStatement = joinedStatements.get(key);
  if (cachedStatement) return cachedStatement;
  let parameterCount = 0;
  const texts = writes.map(({ write, values }) => {
    const offset = parameterCount;
    parameterCount += values.length;
    return write.text.replace(/\$(\d+)/g, (_, number) => `$${offset + Number(number)}`);
  });
  const clauses = texts.slice(0, -1).map((text, index) => `w${index} AS (${text})`);
  const joinedStatement = statement(`WITH ${clauses.join(', ')} ${texts.at(-1)}`);
  joinedStatements.set(key, joinedStatement);
  return joinedStatement;
}

export class ClientSession implements TransactionSession {
  private readonly client: pg.PoolClient;
  readonly engine: Engine;
  private readonly responses: Promise<unknown>[] = [];
  private isCorked = false;
  private writesToJoin: JoinedWrite[] = [];
  private readonly sentStatements: (readonly [Statement, readonly SqlValue[]])[] = [];
  /** Whether COMMIT was sent and its response has not arrived, so that the transaction may have taken effect. */
  isOutcomeUnknown = false;
  /** Error of a statement that was not sent; null if all were sent. With an error, the transaction must not be committed. */
  refusal: ServerUnavailableError | null = null;

  constructor(client: pg.PoolClient, engine: Engine) {
    this.client = client;
    this.engine = engine;
  }

  query(statement: Statement, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    this.cork();
    return this.track(this.run(statement, values).then(({ rows }) => rows));
  }

  execute(statement: Statement, values: readonly SqlValue[] = []): Promise<number> {
    this.cork();
    return this.track(this.run(statement, values).then(({ rowCount }) => rowCount ?? 0));
  }

  send(statement: Statement, values: readonly SqlValue[] = []): void {
    this.cork();
    const parts = this.engine.isDistributed ? statement.parts : undefined;
    for (const part of parts ?? [statement]) this.track(this.run(part, values));
  }

  sendJoined(write: TableWrite, values: readonly SqlValue[]): void {
    if (this.engine.isDistributed) {
      this.send(write, values);
      return;
    }
    if (this.writesToJoin.some((joinedWrite) => joinedWrite.write.table === write.table)) this.cork();
    this.writesToJoin.push({ write, values });
  }

  /** Instances that the sent statements name, for distributed tables. */
  get instances(): readonly string[] {
    return this.sentStatements.flatMap(([statement, values]) => instancesOf(statement, values));
  }

  /** Sends BEGIN, COMMIT or ROLLBACK. Resolves with the command that the server reports. */
  control(text: string): Promise<string> {
    this.cork();
    return this.track(this.client.query(text).then(({ command }) => command));
  }

  /** Rejects with the first error of all statements sent: later ones report only that the transaction has failed. */
  async checkResponses(): Promise<void> {
    const results = await Promise.allSettled(this.responses);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Delays writing to the socket until the end of the turn, so that all statements of the turn take one system call. */
  private cork(): void {
    this.flushJoinedWrites();
    if (this.isCorked) return;
    this.isCorked = true;
    const { stream } = this.client.connection;
    stream.cork();
    process.nextTick(() => {
      this.isCorked = false;
      stream.uncork();
    });
  }

  /** Sends the joined writes before the next statement. */
  private flushJoinedWrites(): void {
    const { writesToJoin } = this;
    if (writesToJoin.length === 0) return;
    this.writesToJoin = [];
    this.send(
      joinWrites(writesToJoin),
      writesToJoin.flatMap(({ values }) => values),
    );
  }

  private run(statement: Statement, values: readonly SqlValue[]) {
    if (this.engine.servers) this.sentStatements.push([statement, values]);
    const refusal = refusalOf(this.engine, statement, values);
    if (refusal === null) return runStatement(this.client, this.engine, statement, values);
    this.refusal ??= refusal;
    return Promise.reject(refusal);
  }

  private track<Result>(response: Promise<Result>): Promise<Result> {
    // The caller may never await the response, but `checkResponses` does.
    response.catch(() => undefined);
    this.responses.push(response);
    return response;
  }
}
