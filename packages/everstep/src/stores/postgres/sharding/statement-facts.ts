/** Analyzes a statement on distributed tables: which instances it names, and how to limit it to the servers that respond. */
import type { SqlValue } from '../connection/sql-values.js';
import { routedStatement } from './routed-statement.js';
import { unroutedTables } from './statement-rules.js';
import { TABLES_BY_INSTANCE, TABLES_BY_RUN } from './tables.js';

interface StatementText {
  readonly name: string;
  readonly text: string;
}

interface StatementAnalysis {
  /** Numbers of the parameters that contain an instance or a list of instances, after routing. */
  readonly instanceNumbers: readonly number[];
  /** Text that is limited to the instances in an additional last parameter; null if the statement is not for all servers. */
  readonly reachableText: string | null;
}

const INSTANCE_PARAMETER = /\binstance_id\s*=\s*(?:ANY\s*\()?\$(\d+)|\$(\d+)(?:::text)? AS instance_id\b/gi;
const INSERTED_VALUES = /INSERT INTO \w+(?: AS \w+)?\s*\(([^)]*)\)\s*VALUES\s*\(([^)]*)\)/i;
const STARTS_WITH_READ = /^\s*(?:SELECT|WITH)\b/i;
const LOCKS_OR_WRITES = /\b(?:INSERT|UPDATE|DELETE|SHARE)\b/i;
/** Matches an update or a deletion of old rows: the change, and its condition. */
const CHANGE = /^(\s*(?:DELETE FROM \w+|UPDATE \w+ SET .*?))\s+WHERE\s+((?:(?!RETURNING).)*)$/is;
const PARAMETER = /\$(\d+)/g;
const KEYWORDS =
  'WHERE|JOIN|LEFT|RIGHT|FULL|INNER|CROSS|LATERAL|ON|ORDER|GROUP|HAVING|LIMIT|UNION|FOR|USING|FETCH|OFFSET|WINDOW|AND|OR';
const TABLE_REFERENCE = new RegExp(
  `\\b(FROM|JOIN)\\s+(\\w+)\\b(?!\\s*\\()(?:\\s+(?:AS\\s+)?(?!(?:${KEYWORDS})\\b)([a-z_]\\w*))?`,
  'gi',
);
const FROM_DIRECTORY = new RegExp(`\\bFROM ${TABLES_BY_RUN[0]}\\b`);
const DISTRIBUTED: ReadonlySet<string> = new Set([...TABLES_BY_INSTANCE, ...TABLES_BY_RUN]);

function analyze(statement: StatementText): StatementAnalysis {
  const { text } = routedStatement(statement).statement;
  const instanceNumbers = [...text.matchAll(INSTANCE_PARAMETER)].map(([, first, second]) => Number(first ?? second));
  const [, columns, values] = INSERTED_VALUES.exec(text) ?? [];
  const index = columns?.split(',').findIndex((column) => column.trim() === 'instance_id') ?? -1;
  const insertedNumber = /^\$(\d+)/.exec(values?.split(',')[index]?.trim() ?? '')?.[1];
  if (insertedNumber !== undefined) instanceNumbers.push(Number(insertedNumber));
  const usesAllServers = unroutedTables(text).length > 0 || FROM_DIRECTORY.test(text);
  return {
    instanceNumbers: [...new Set(instanceNumbers)],
    reachableText: usesAllServers && instanceNumbers.length === 0 ? reachableTextOf(text) : null,
  };
}

/** Replaces each distributed table by its rows of the reachable instances, from which the planner selects the shards. */
function reachableTextOf(text: string): string | null {
  const parameterNumber = Math.max(0, ...[...text.matchAll(PARAMETER)].map(([, number]) => Number(number))) + 1;
  const condition = `instance_id = ANY($${parameterNumber}::text[])`;
  const limitToReachable = (part: string) =>
    part.replace(TABLE_REFERENCE, (match, keyword: string, table: string, alias: string | undefined) =>
      DISTRIBUTED.has(table.toLowerCase())
        ? `${keyword} (SELECT * FROM ${table} WHERE ${condition}) AS ${alias ?? table}`
        : match,
    );
  if (isPlainRead({ text })) return limitToReachable(text);
  const [, change, where] = CHANGE.exec(text) ?? [];
  return change === undefined || where === undefined ? null : `${change} WHERE ${condition} AND (${limitToReachable(where)})`;
}

/** Cached analyses of statements. */
const analyses = new WeakMap<StatementText, StatementAnalysis>();

function analysisOf(statement: StatementText): StatementAnalysis {
  const analysis = analyses.get(statement) ?? analyze(statement);
  analyses.set(statement, analysis);
  return analysis;
}

/** Returns the instances that the statement names, from the values of its routed form. */
export function instancesIn(statement: StatementText, values: readonly SqlValue[]): readonly string[] {
  const namedValues = analysisOf(statement).instanceNumbers.flatMap((number): readonly SqlValue[] => {
    const value = values[number - 1];
    return Array.isArray(value) ? value : [value ?? null];
  });
  return namedValues.filter((value) => typeof value === 'string');
}

/** Returns whether the statement neither changes nor locks rows. */
export const isPlainRead = ({ text }: Pick<StatementText, 'text'>): boolean =>
  STARTS_WITH_READ.test(text) && !LOCKS_OR_WRITES.test(text);

/** Returns the text of a statement for all servers, limited to the instances in an additional last parameter; null for others. */
export const reachableFormOf = (statement: StatementText): string | null => analysisOf(statement).reachableText;
