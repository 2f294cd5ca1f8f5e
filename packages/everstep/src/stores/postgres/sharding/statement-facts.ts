/** Analyzes the text of a statement on distributed tables: which instances it names, and how to limit it to the servers that respond. */
import type { SqlValue } from '../connection/sql-values.js';
import { routedStatement } from './routed-statement.js';
import { unroutedTables } from './statement-rules.js';
import { BY_INSTANCE, BY_RUN } from './tables.js';

interface StatementText {
  readonly name: string;
  readonly text: string;
}

interface Facts {
  /** Numbers of the parameters that contain an instance or a list of instances, after routing. */
  readonly instances: readonly number[];
  /** Text of the statement limited to the instances in an additional last parameter. Null if the statement is not for all servers. */
  readonly reachable: string | null;
}

const INSTANCE = /\binstance_id\s*=\s*(?:ANY\s*\()?\$(\d+)|\$(\d+)(?:::text)? AS instance_id\b/gi;
const INSERTED = /INSERT INTO \w+(?: AS \w+)?\s*\(([^)]*)\)\s*VALUES\s*\(([^)]*)\)/i;
const READS = /^\s*(?:SELECT|WITH)\b/i;
const LOCKS_OR_WRITES = /\b(?:INSERT|UPDATE|DELETE|SHARE)\b/i;
/** An update or a deletion of old rows: what is changed, and where. */
const CHANGE = /^(\s*(?:DELETE FROM \w+|UPDATE \w+ SET .*?))\s+WHERE\s+((?:(?!RETURNING).)*)$/is;
const PARAMETER = /\$(\d+)/g;
const KEYWORDS =
  'WHERE|JOIN|LEFT|RIGHT|FULL|INNER|CROSS|LATERAL|ON|ORDER|GROUP|HAVING|LIMIT|UNION|FOR|USING|FETCH|OFFSET|WINDOW|AND|OR';
const SOURCE = new RegExp(`\\b(FROM|JOIN)\\s+(\\w+)\\b(?!\\s*\\()(?:\\s+(?:AS\\s+)?(?!(?:${KEYWORDS})\\b)([a-z_]\\w*))?`, 'gi');
const FROM_DIRECTORY = new RegExp(`\\bFROM ${BY_RUN[0]}\\b`);
const DISTRIBUTED: ReadonlySet<string> = new Set([...BY_INSTANCE, ...BY_RUN]);

function factsOf(statement: StatementText): Facts {
  const { text } = routedStatement(statement).statement;
  const instances = [...text.matchAll(INSTANCE)].map(([, first, second]) => Number(first ?? second));
  const [, columns, values] = INSERTED.exec(text) ?? [];
  const index = columns?.split(',').findIndex((column) => column.trim() === 'instance_id') ?? -1;
  const inserted = /^\$(\d+)/.exec(values?.split(',')[index]?.trim() ?? '')?.[1];
  if (inserted !== undefined) instances.push(Number(inserted));
  const isOfAll = unroutedTables(text).length > 0 || FROM_DIRECTORY.test(text);
  return { instances: [...new Set(instances)], reachable: isOfAll && instances.length === 0 ? reachableForm(text) : null };
}

/** Each distributed table is replaced by its rows of some instances, from which the planner selects the shards. */
function reachableForm(text: string): string | null {
  const parameterNumber = Math.max(0, ...[...text.matchAll(PARAMETER)].map(([, number]) => Number(number))) + 1;
  const isReachable = `instance_id = ANY($${parameterNumber}::text[])`;
  const limitToReachable = (part: string) =>
    part.replace(SOURCE, (match, keyword: string, table: string, alias: string | undefined) =>
      DISTRIBUTED.has(table.toLowerCase())
        ? `${keyword} (SELECT * FROM ${table} WHERE ${isReachable}) AS ${alias ?? table}`
        : match,
    );
  if (isPlainRead({ text })) return limitToReachable(text);
  const [, changed, where] = CHANGE.exec(text) ?? [];
  return changed === undefined || where === undefined ? null : `${changed} WHERE ${isReachable} AND (${limitToReachable(where)})`;
}

/** Caches the facts of each statement. Statements are constants of the code, so the cache stays small. */
const factsCache = new WeakMap<StatementText, Facts>();

function cachedFacts(statement: StatementText): Facts {
  const facts = factsCache.get(statement) ?? factsOf(statement);
  factsCache.set(statement, facts);
  return facts;
}

/** Returns the instances that the statement names, from the values of its routed form. */
export function instancesIn(statement: StatementText, values: readonly SqlValue[]): readonly string[] {
  const named = cachedFacts(statement).instances.flatMap((number): readonly SqlValue[] => {
    const value = values[number - 1];
    return Array.isArray(value) ? value : [value ?? null];
  });
  return named.filter((value) => typeof value === 'string');
}

/** Whether the statement changes and locks nothing. */
export const isPlainRead = ({ text }: Pick<StatementText, 'text'>): boolean => READS.test(text) && !LOCKS_OR_WRITES.test(text);

/** Returns the text of a statement for all servers that uses only the instances in an additional last parameter; else null. */
export const formOfInstances = (statement: StatementText): string | null => cachedFacts(statement).reachable;
