/**
 * One connection as a session: statements are sent without waiting for the answers of earlier ones, and writes to different tables
 * are joined into one statement.
 */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { ServerUnavailableError } from '../../../ports/stores/store-unavailable.js';
import type { Engine } from '../sharding/engine.js';
import { routedStatement } from '../sharding/routed-statement.js';
import { formOfInstances, instancesIn, isPlainRead } from '../sharding/statement-facts.js';
import type { Row } from './columns.js';
import { pgValueOf, type SqlValue } from './sql-values.js';

/** A statement that each connection prepares once under its name; without a name it is prepared each time. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /**
   * Statements with the same effect and the same parameters, for tables on several servers, where a statement writes to one table.
   * A statement that returns rows has one part.
   */
  readonly parts?: readonly Statement[];
}

/** Named after its text, so that processes that share a connection (through a pooler) use a name for the same statement. */
export function statement(text: string): Statement {
  return { name: `everstep_${createHash('sha256').update(text).digest('hex').slice(0, 20)}`, text };
}

/** A write that can be joined with writes to other tables: one INSERT, UPDATE or DELETE without a WITH clause. */
export interface TableWrite extends Statement {
  readonly table: string;
}

export const tableWrite = (table: string, text: string): TableWrite => ({ table, ...statement(text) });

/** A statement with other forms for tables on several servers. */
export const inForms = (text: string, parts: readonly string[]): Statement => ({
  ...statement(text),
  parts: parts.map((part) => statement(part)),
});

/** A statement that is planned each time, for the values of the call. A connection does not keep it. */
export const unprepared = (text: string): Statement => ({ name: '', text });

/** Where statements are sent: the pool, or one transaction. */
export interface Session {
  readonly engine: Engine;
  /** Sends the statement and resolves with its rows. */
  query(statement: Statement, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** Like query, for statements that return no rows: resolves with the number of affected rows. */
  execute(statement: Statement, values?: readonly SqlValue[]): Promise<number>;
}

/** A session in which statements are one transaction. */
export interface TransactionSession extends Session {
  /** Sends a write without waiting. If it fails, the transaction fails; the fault must be reported as an SQL error. */
  send(statement: Statement, values?: readonly SqlValue[]): void;
  /**
   * Like send, as one statement with the writes to other tables that are sent this way directly before or after. None of them sees
   * what the others write.
   */
  sendJoined(write: TableWrite, values: readonly SqlValue[]): void;
}

/** The form of a statement for tables on several servers. */
const formOf = (original: Statement): Statement => (original.parts?.length === 1 ? (original.parts[0] ?? original) : original);

/** Instances that the statement names, on tables on several servers. */
export const instancesOf = (original: Statement, values: readonly SqlValue[]): readonly string[] =>
  routedStatement(formOf(original))
    .valuesOf(values)
    .flatMap((parameters) => instancesIn(formOf(original), parameters));

/** Returns why the statement cannot be sent: the server of an instance that it names is down. Null if it can. */
export function refusalOf(engine: Engine, original: Statement, values: readonly SqlValue[]): ServerUnavailableError | null {
  return engine.servers?.isAnyDown ? engine.servers.refusalOf(instancesOf(original, values)) : null;
}

/** Whether the statement can be repeated because it changes nothing. */
export const isRead = (original: Statement): boolean => isPlainRead(formOf(original));

export async function run(client: pg.ClientBase, engine: Engine, original: Statement, values: readonly SqlValue[]) {
  if (!engine.isDistributed) return client.query({ name: original.name, text: original.text, values: values.map(pgValueOf) });
  const form = formOf(original);
  const { statement, valuesOf } = routedStatement(form);
  const valueLists = valuesOf(values);
  const { servers } = engine;
  const reachableForm = servers?.isAnyDown ? formOfInstances(form) : null;
  if (servers && reachableForm !== null)
    return client.query({ text: reachableForm, values: [...(valueLists[0] ?? []), servers.reachable].map(pgValueOf) });
  const [first, ...laterResults] = valueLists.map((parameters) =>
    client.query({ ...statement, values: parameters.map(pgValueOf) }),
  );
  const outcome = await first;
  if (!outcome) throw new Error('a statement was not sent');
  for (const result of laterResults) {
    const { rows, rowCount } = await result;
    outcome.rows.push(...rows);
    outcome.rowCount = (outcome.rowCount ?? 0) + (rowCount ?? 0);
  }
  return outcome;
}

interface JoinedWrite {
  readonly write: TableWrite;
  readonly values: readonly SqlValue[];
}

/** Joined statements by the names of their parts. The writes come from the code, so their number is limited. */
const joinedStatements = new Map<string, Statement>();

/**
 * Returns one statement for writes to different tables, with a WITH clause for each, because the overhead of a statement exceeds
 * its execution time. Its values are those of the writes, in their order.
 */
function joinWrites(writes: readonly JoinedWrite[]): Statement {
  const [only] = writes;
  if (only && writes.length === 1) return only.write;
  const key = writes.map(({ write }) => write.name).join(' ');
  const cached = joinedStatements.get(key);
  if (cached) return cached;
  let offset = 0;
  const texts = writes.map(({ write, values }) => {
    const firstNumber = offset;
    offset += values.length;
    return write.text.replace(/\$(\d+)/g, (_, number) => `$${firstNumber + Number(number)}`);
  });
  const clauses = texts.slice(0, -1).map((text, index) => `w${index} AS (${text})`);
  const joinedStatement = statement(`WITH ${clauses.join(', ')} ${texts.at(-1)}`);
  joinedStatements.set(key, joinedStatement);
  return joinedStatement;
}

export class ClientSession implements TransactionSession {
  private readonly client: pg.PoolClient;
  readonly engine: Engine;
  private readonly sent: Promise<unknown>[] = [];
  private gathering = false;
  private joining: JoinedWrite[] = [];
  private readonly named: (readonly [Statement, readonly SqlValue[]])[] = [];
  /** Whether it is unknown if the transaction took effect. */
  commitFailed = false;
  /** Why a statement was not sent; null if all were. The transaction must not be committed then. */
  refusal: ServerUnavailableError | null = null;

  constructor(client: pg.PoolClient, engine: Engine) {
    this.client = client;
    this.engine = engine;
  }

  query(statement: Statement, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    this.gather();
    return this.track(this.run(statement, values).then(({ rows }) => rows));
  }

  execute(statement: Statement, values: readonly SqlValue[] = []): Promise<number> {
    this.gather();
    return this.track(this.run(statement, values).then(({ rowCount }) => rowCount ?? 0));
  }

  send(statement: Statement, values: readonly SqlValue[] = []): void {
    this.gather();
    const parts = this.engine.isDistributed ? statement.parts : undefined;
    for (const part of parts ?? [statement]) this.track(this.run(part, values));
  }

  sendJoined(write: TableWrite, values: readonly SqlValue[]): void {
    if (this.engine.isDistributed) {
      this.send(write, values);
      return;
    }
    if (this.joining.some((joinedWrite) => joinedWrite.write.table === write.table)) this.gather();
    this.joining.push({ write, values });
  }

  /** Instances that the statements name, on tables on several servers. */
  get instances(): readonly string[] {
    return this.named.flatMap(([statement, values]) => instancesOf(statement, values));
  }

  /** Sends BEGIN, COMMIT or ROLLBACK. Resolves with the command that the server reports. */
  control(text: string): Promise<string> {
    this.gather();
    return this.track(this.client.query(text).then(({ command }) => command));
  }

  /** Rejects with the first error of all statements sent: later ones report only that the transaction has failed. */
  async checkResponses(): Promise<void> {
    const results = await Promise.allSettled(this.sent);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Statements sent in the same turn are written together: one system call, and the server wakes up once. */
  private gather(): void {
    this.join();
    if (this.gathering) return;
    this.gathering = true;
    const { stream } = this.client.connection;
    stream.cork();
    process.nextTick(() => {
      this.gathering = false;
      stream.uncork();
    });
  }

  /** Sends the joined writes before the next statement. */
  private join(): void {
    const { joining } = this;
    if (joining.length === 0) return;
    this.joining = [];
    this.send(
      joinWrites(joining),
      joining.flatMap(({ values }) => values),
    );
  }

  private run(statement: Statement, values: readonly SqlValue[]) {
    if (this.engine.servers) this.named.push([statement, values]);
    const refusal = refusalOf(this.engine, statement, values);
    if (refusal === null) return run(this.client, this.engine, statement, values);
    this.refusal ??= refusal;
    return Promise.reject(refusal);
  }

  private track<Result>(sent: Promise<Result>): Promise<Result> {
    // The caller may never await it; `checkResponses` does.
    sent.catch(() => undefined);
    this.sent.push(sent);
    return sent;
  }
}
