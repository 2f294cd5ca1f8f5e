/**
 * Creates the form of a statement for distributed tables. The original statement takes rows as arrays, with the instance of each
 * row. A planner that selects the server before the execution does not inspect arrays, so this form takes the instance as a single
 * value.
 */
import type { SqlValue } from '../connection/sql-values.js';

/** Matches rows as arrays: the parameters, whether the rows are numbered, the alias, and the columns. */
const ROW_SET = /unnest\((\$\d+::[a-z ]+\[\](?:,\s*\$\d+::[a-z ]+\[\])*)\)(\s+WITH ORDINALITY)?\s+AS (\w+) ?\(([\w,\s]+)\)/g;
const PARAMETER = /\$(\d+)/g;
/** Columns of row sets that contain the instance of a row. */
const INSTANCE_COLUMNS: ReadonlySet<string> = new Set(['instance_id', 'child_instance', 'from_instance']);

/** A statement with its name, which is empty if the statement is planned each time. */
interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

export interface RoutedStatement {
  readonly statement: NamedStatement;
  /** Converts the values of the original statement to one list for each instance of the rows, in a fixed order. */
  valuesOf(values: readonly SqlValue[]): readonly (readonly SqlValue[])[];
}

/** Routed statements by the names of the originals. All originals are constants of the code, so their number is limited. */
const routedStatements = new Map<string, RoutedStatement>();

export function routedStatement(original: NamedStatement): RoutedStatement {
  if (original.name === '') return route(original);
  const cachedStatement = routedStatements.get(original.name);
  if (cachedStatement) return cachedStatement;
  const newStatement = route(original);
  routedStatements.set(original.name, newStatement);
  return newStatement;
}

/** The parameters of a row set, by their numbers. */
interface RowSet {
  /** The parameters that contain instances. The instances in the first of them own the rows. */
  readonly instanceNumbers: readonly number[];
  readonly allNumbers: readonly number[];
}

function route(original: NamedStatement): RoutedStatement {
  const rowSets: RowSet[] = [];
  // SQL of the instance, by the qualified column of a row set that contained it.
  const instanceSql = new Map<string, string>();
  const textWithRowSets = original.text.replace(
    ROW_SET,
    (match, parameters: string, numbered: string | undefined, alias, columns) => {
      const names = String(columns)
        .split(',')
        .map((name) => name.trim());
      const arrays = parameters.split(',').map((parameter) => parameter.trim());
      const isInstance = names.map((name, index) => index < arrays.length && INSTANCE_COLUMNS.has(name));
      if (!isInstance.includes(true)) return match;
      const allNumbers = arrays.map((array) => Number(/\d+/.exec(array)?.[0]));
      rowSets.push({ allNumbers, instanceNumbers: allNumbers.filter((_, index) => isInstance[index]) });
      const parameterOf = (index: number) => arrays[index]?.replace('[]', '') ?? '';
      for (const [index, name] of names.entries()) if (isInstance[index]) instanceSql.set(`${alias}.${name}`, parameterOf(index));
      const selectedColumns = names.map((name, index) => (isInstance[index] ? `${parameterOf(index)} AS ${name}` : `r.${name}`));
      const rowArrays = arrays.filter((_, index) => !isInstance[index]);
      const rowNames = names.filter((_, index) => !isInstance[index]);
      const from =
        rowArrays.length === 0 ? '' : ` FROM unnest(${rowArrays.join(', ')})${numbered ?? ''} AS r(${rowNames.join(', ')})`;
      return `(SELECT ${selectedColumns.join(', ')}${from}) AS ${alias}`;
    },
  );
  const text = compareWithInstance(compareWithValues(instanceSql, textWithRowSets));
  const usedNumbers = [...new Set([...text.matchAll(PARAMETER)].map(([, number]) => Number(number)))].sort((a, b) => a - b);
  const newNumbers = new Map(usedNumbers.map((number, index) => [number, index + 1]));
  const renumberedText = text.replace(PARAMETER, (_, number) => `$${newNumbers.get(Number(number))}`);
  return {
    statement: { name: original.name === '' ? '' : `${original.name}_routed`, text: renumberedText },
    valuesOf: (values) =>
      valuesByInstance(rowSets, values).map((instanceValues) => usedNumbers.map((number) => instanceValues[number - 1] ?? null)),
  };
}

/**
 * Replaces comparisons with the instance column of a row set by comparisons with its value. The planner does not find the value
 * through the column in a subquery of a row.
 */
function compareWithValues(instanceSql: ReadonlyMap<string, string>, text: string): string {
  let comparedText = text;
  for (const [column, value] of instanceSql) {
    const name = column.replace('.', '\\.');
    comparedText = comparedText.replace(new RegExp(`= ${name}\\b`, 'g'), `= ${value.replace('$', '$$$$')}`);
  }
  return comparedText;
}

const SAME_INSTANCE = /\b(\w+)\.instance_id = (\w+)\.instance_id\b/g;
const INSTANCE_IN_LIST = /\binstance_id\s*=\s*ANY\b/i;
const INSTANCE_VALUE = /\binstance_id = \$(\d+)\b|\$(\d+)(?:::text)? AS instance_id\b/g;

/** If the statement names one instance, compares each table with it: the planner does not find the value through another table. */
function compareWithInstance(text: string): string {
  if (INSTANCE_IN_LIST.test(text)) return text;
  const instanceNumbers = new Set(
    [...text.matchAll(INSTANCE_VALUE)].map(([, comparedNumber, selectedNumber]) => comparedNumber ?? selectedNumber),
  );
  const [number] = instanceNumbers;
  if (number === undefined || instanceNumbers.size > 1) return text;
  return text.replace(SAME_INSTANCE, (_, firstTable: string, secondTable: string) => {
    const condition = (table: string) => `${table}.instance_id = $${number}::text`;
    return `(${condition(firstTable)} AND ${condition(secondTable)})`;
  });
}

const rowsIn = (values: readonly SqlValue[], number: number): readonly SqlValue[] => {
  const rows = values[number - 1];
  return Array.isArray(rows) ? rows : [];
};

/** Returns one list of values for each instance: with its rows only, and with the instance as a single value. */
function valuesByInstance(rowSets: readonly RowSet[], values: readonly SqlValue[]): readonly (readonly SqlValue[])[] {
  if (rowSets.length === 0) return [values];
  const instanceIds = new Set<SqlValue>();
  for (const { instanceNumbers } of rowSets) for (const id of rowsIn(values, instanceNumbers[0] ?? 0)) instanceIds.add(id);
  // The statement is also executed if there are no rows, because it may return rows.
  if (instanceIds.size === 0) instanceIds.add(null);
  return [...instanceIds].sort().map((id) => {
    const instanceValues = [...values];
    for (const { instanceNumbers, allNumbers } of rowSets) {
      const owners = rowsIn(values, instanceNumbers[0] ?? 0);
      for (const number of allNumbers) instanceValues[number - 1] = rowsIn(values, number).filter((_, row) => owners[row] === id);
      for (const number of instanceNumbers) instanceValues[number - 1] = onlyInstance(rowsIn(instanceValues, number), id);
    }
    return instanceValues;
  });
}

/** Returns the only instance in `ids`; `owner` if there are none. Throws if there are several. */
function onlyInstance(ids: readonly SqlValue[], owner: SqlValue): SqlValue {
  const [first = owner] = ids;
  if (ids.some((id) => id !== first)) throw new Error('a row refers to another queue instance');
  return first;
}
