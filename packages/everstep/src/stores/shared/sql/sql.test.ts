import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FOR_UPDATE, inList, isTrue, ofInstance, rowsOf } from './dialect.js';
import { byDialect, joinSql, raw, render, sql } from './sql.js';
import { json, NUMBER, nullable, optional, TEXT, TRUE_OR_ABSENT, table } from './table.js';

interface Note {
  readonly noteId: string;
  readonly size?: number;
  readonly endedAt: number | null;
  readonly tags: readonly string[];
  readonly isOpen?: true;
}

const NOTE = table<Note>('note', {
  noteId: TEXT,
  size: optional(NUMBER),
  endedAt: nullable(NUMBER),
  tags: json(),
  isOpen: TRUE_OR_ABSENT,
});

describe('a statement', () => {
  test('has a parameter for each value, in order, numbered in PostgreSQL', () => {
    const statement = sql`SELECT * FROM note WHERE id = ${"'; DROP TABLE note"} AND size > ${3} LIMIT ${10}`;
    assert.deepEqual(render(statement, 'sqlite'), {
      text: 'SELECT * FROM note WHERE id = ? AND size > ? LIMIT ?',
      values: ["'; DROP TABLE note", 3, 10],
    });
    assert.equal(render(statement, 'postgres').text, 'SELECT * FROM note WHERE id = $1 AND size > $2 LIMIT $3');
  });

  test('contains fragments with their own parameters, as its dialect writes them', () => {
    const statement = sql`SELECT ${raw('id')} FROM note WHERE a = ${1} AND ${ofInstance('qi')} AND ${isTrue('open')} ${FOR_UPDATE}`;
    assert.deepEqual(render(statement, 'sqlite'), {
      text: 'SELECT id FROM note WHERE a = ? AND tenant = (SELECT seq FROM tenant WHERE instance_id = ?) AND open = 1 ',
      values: [1, 'qi'],
    });
    assert.deepEqual(render(statement, 'postgres'), {
      text: 'SELECT id FROM note WHERE a = $1 AND instance_id = $2 AND open FOR UPDATE',
      values: [1, 'qi'],
    });
  });

  test('has the same text for lists of any length', () => {
    const few = sql`DELETE FROM note WHERE id ${inList(['a'])}`;
    const many = sql`DELETE FROM note WHERE id ${inList(['a', 'b', 'c'])}`;
    for (const dialect of ['sqlite', 'postgres'] as const) assert.equal(render(few, dialect).text, render(many, dialect).text);
    const rows = rowsOf({ id: 'text', size: 'bigint' }, [
      { id: 'a', size: null },
      { id: 'b', size: 2 },
    ]);
    assert.deepEqual(render(rows, 'sqlite').values, ['[["a",null],["b",2]]']);
    assert.deepEqual(render(rows, 'postgres'), {
      text: 'unnest($1::text[], $2::bigint[]) AS listed (id, size)',
      values: [
        ['a', 'b'],
        [null, 2],
      ],
    });
  });

  test('can be joined from parts, even from none', () => {
    const parts = [1, 2].map((value) => byDialect({ sqlite: sql`a ${value}`, postgres: sql`b ${value}` }));
    assert.deepEqual(render(joinSql(parts, ' OR '), 'sqlite'), { text: 'a ? OR a ?', values: [1, 2] });
    assert.deepEqual(render(joinSql([]), 'postgres'), { text: '', values: [] });
  });
});

describe('a table', () => {
  test('inserts and reads the fields of a record, and stores absent fields as null', () => {
    const note: Note = { noteId: 'n', endedAt: null, tags: ['a'] };
    assert.deepEqual(render(NOTE.insert(note), 'sqlite'), {
      text: 'INSERT INTO note (note_id, size, ended_at, tags, is_open) VALUES (?, ?, ?, ?, ?)',
      values: ['n', null, null, '["a"]', false],
    });
    assert.deepEqual(NOTE.read({ seq: 1, note_id: 'n', size: null, ended_at: null, tags: '["a"]', is_open: 0 }), note);
  });

  test('refuses to read a row that does not match the schema', () => {
    assert.throws(() => NOTE.read({ note_id: 7, size: null, ended_at: null, tags: '[]', is_open: false }), /column note_id/);
  });

  test('replaces all columns that are not part of the key', () => {
    const { text } = render(NOTE.replace({ noteId: 'n', endedAt: 1, tags: [] }, ['noteId'], 'qi'), 'postgres');
    assert.match(text, /\(instance_id, note_id, size, ended_at, tags, is_open\) VALUES \(\$1, \$2, \$3, \$4, \$5, \$6\)/);
    assert.match(
      text,
      /ON CONFLICT \(instance_id, note_id\) DO UPDATE SET size = excluded\.size, ended_at = excluded\.ended_at,/,
    );
  });
});
