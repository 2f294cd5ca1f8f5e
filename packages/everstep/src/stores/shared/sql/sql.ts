/**
 * SQL for both stores: templates whose values are parameters, and fragments that the dialects write differently. A
 * statement is rendered for one dialect, with `?` or `$1` for each value.
 */

/** SQL dialect. `distributed` is PostgreSQL with its tables on several servers; by default it uses the fragments of `postgres`. */
export type Dialect = 'sqlite' | 'postgres' | 'distributed';

type Fragments = Readonly<Record<'sqlite' | 'postgres', Sql>> & { readonly distributed?: Sql };

/** A value that both databases accept, or a list, which only a fragment of PostgreSQL may contain. */
export type SqlValue = string | number | boolean | Uint8Array | null | readonly (string | number | null)[];

/** A statement, or a part of one. */
export type Sql = Template | Choice;

class Template {
  readonly strings: readonly string[];
  readonly inserts: readonly (SqlValue | Sql)[];

  constructor(strings: readonly string[], inserts: readonly (SqlValue | Sql)[]) {
    this.strings = strings;
    this.inserts = inserts;
  }
}

/** A part that each dialect writes differently. */
class Choice {
  readonly sqlite: Sql;
  readonly postgres: Sql;
  readonly distributed: Sql;

  constructor(fragments: Fragments) {
    this.sqlite = fragments.sqlite;
    this.postgres = fragments.postgres;
    this.distributed = fragments.distributed ?? fragments.postgres;
  }
}

/** Returns a statement: `${value}` becomes a parameter; `${fragment}` becomes its text, with its own parameters. */
export const sql = (strings: TemplateStringsArray, ...inserts: readonly (SqlValue | Sql)[]): Sql =>
  new Template(strings, inserts);

/** Returns text without parameters: names and constants of the code, never input. */
export const raw = (text: string): Sql => new Template([text], []);

export const byDialect = (fragments: Fragments): Sql => new Choice(fragments);

/** Returns values or fragments with a separator between them. */
export const joinSql = (parts: readonly (SqlValue | Sql)[], separator = ', '): Sql =>
  new Template(['', ...parts.slice(1).map(() => separator), ''], parts);

export interface RenderedSql {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

export function render(statement: Sql, dialect: Dialect): RenderedSql {
  const values: SqlValue[] = [];
  const textOf = (part: Sql): string => {
    if (part instanceof Choice) return textOf(part[dialect]);
    let text = part.strings[0] ?? '';
    for (const [index, insert] of part.inserts.entries()) {
      if (insert instanceof Template || insert instanceof Choice) text += textOf(insert);
      else {
        values.push(insert);
        text += dialect === 'sqlite' ? '?' : `$${values.length}`;
      }
      text += part.strings[index + 1] ?? '';
    }
    return text;
  };
  return { text: textOf(statement), values };
}
