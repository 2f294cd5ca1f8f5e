/** The rule for statements on distributed tables: each names its instance, so that a planner selects one server. */
import { routedStatement } from './routed-statement.js';
import { DISTRIBUTED_BY } from './tables.js';

/** A value of an instance: a condition, or a column of a row set. */
const NAMES_INSTANCE = /\binstance_id\s*=\s*(?:ANY\s*\()?\$\d+|\$\d+(?:::text)? AS instance_id\b/i;
const INSERTS_VALUES = /INSERT INTO \w+(?: AS \w+)?\s*\([^)]*\binstance_id\b[^)]*\)\s*VALUES/i;
const TABLE = /\b(?:FROM|JOIN|UPDATE|INTO|USING|,)\s+(\w+)/gi;

/** Returns the distributed tables of a statement that names no instance. */
export function unroutedTables(text: string): readonly string[] {
  const routedText = routedStatement({ name: '', text }).statement.text;
  if (NAMES_INSTANCE.test(routedText) || INSERTS_VALUES.test(routedText)) return [];
  const tables = [...routedText.matchAll(TABLE)].map(([, table = '']) => table.toLowerCase());
  return [...new Set(tables.filter((table) => DISTRIBUTED_BY.get(table) === 'instance_id'))].sort();
}
