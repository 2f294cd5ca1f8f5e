import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MIGRATIONS } from '../migrations/index.js';
import { routedStatement } from './routed-statement.js';
import * as lists from './tables.js';

const named = (text: string) => ({ name: '', text });

describe('a statement for tables on several servers', () => {
  test('takes the instance of its rows as one value', () => {
    const { statement, valuesOf } = routedStatement(
      named(
        'DELETE FROM task t USING unnest($1::text[], $2::text[]) AS u(instance_id, run_key) WHERE t.instance_id = u.instance_id',
      ),
    );
    assert.equal(
      statement.text,
      'DELETE FROM task t USING (SELECT $1::text AS instance_id, r.run_key FROM unnest($2::text[]) AS r(run_key)) AS u WHERE t.instance_id = $1::text',
    );
    assert.deepEqual(
      valuesOf([
        ['qi', 'qi'],
        ['a', 'b'],
      ]),
      [['qi', ['a', 'b']]],
    );
  });

  test('is sent once for each instance of its rows, in one order', () => {
    const { valuesOf } = routedStatement(
      named('SELECT $3::text, u.* FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS u (instance_id, slot, n)'),
    );
    assert.deepEqual(valuesOf([['b', 'a', 'b'], [1, 2, 3], 'same']), [
      ['a', [2], 'same'],
      ['b', [1, 3], 'same'],
    ]);
    assert.deepEqual(valuesOf([[], [], 'same']), [[null, [], 'same']]);
  });

  test('has only the parameters that it uses', () => {
    const { statement, valuesOf } = routedStatement(named('SELECT * FROM unnest($2::text[]) AS u(instance_id)'));
    assert.equal(statement.text, 'SELECT * FROM (SELECT $1::text AS instance_id) AS u');
    assert.deepEqual(valuesOf(['unused', ['qi']]), [['qi']]);
  });

  test('compares each table with the instance that it names', () => {
    const textOf = (text: string) => routedStatement(named(text)).statement.text;
    const joined = 'SELECT 1 FROM task t JOIN run r ON r.instance_id = t.instance_id WHERE t.instance_id';
    assert.equal(
      textOf(`${joined} = $1`),
      'SELECT 1 FROM task t JOIN run r ON (r.instance_id = $1::text AND t.instance_id = $1::text) WHERE t.instance_id = $1',
    );
    assert.equal(textOf(`${joined} = ANY($1::text[])`), `${joined} = ANY($1::text[])`);
    assert.equal(textOf(`${joined} <> $1`), `${joined} <> $1`);
  });

  test('is refused if a row refers to another instance', () => {
    const { valuesOf } = routedStatement(named('SELECT * FROM unnest($1::text[], $2::text[]) AS u(instance_id, from_instance)'));
    assert.throws(
      () =>
        valuesOf([
          ['qi', 'qi'],
          ['qi', 'other'],
        ]),
      /another queue instance/,
    );
  });
});

test('every table is in one of the lists of how tables are distributed', () => {
  const tables = new Set(['schema_version']);
  for (const sql of MIGRATIONS) {
    for (const [, table = ''] of sql.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(/g)) tables.add(table);
    for (const [, table = ''] of sql.matchAll(/DROP TABLE (\w+)/g)) tables.delete(table);
    for (const [, table = '', renamed = ''] of sql.matchAll(/ALTER TABLE (\w+) RENAME TO (\w+)/g))
      if (tables.delete(table)) tables.add(renamed);
  }
  const listed = [
    ...lists.TABLES_BY_INSTANCE,
    ...lists.TABLES_BY_RUN,
    ...lists.TABLES_ON_EVERY_SERVER,
    ...lists.TABLES_ON_ONE_SERVER,
  ];
  assert.deepEqual([...listed].sort(), [...tables].sort());
});
