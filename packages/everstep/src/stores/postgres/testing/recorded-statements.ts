/** Records the texts of all statements that this process sends to PostgreSQL. */
import pg from 'pg';

/** Starts recording. The set grows while statements are sent. */
export function recordStatements(): ReadonlySet<string> {
  const texts = new Set<string>();
  const { query } = pg.Client.prototype;
  const recorded = function (this: pg.Client, ...given: unknown[]): unknown {
    const [first] = given;
    const text = typeof first === 'string' ? first : (first as { readonly text?: unknown } | null)?.text;
    if (typeof text === 'string') texts.add(text);
    return Reflect.apply(query, this, given);
  };
  Object.assign(pg.Client.prototype, { query: recorded });
  return texts;
}
