/** Records the texts of all statements that this process sends to PostgreSQL. */
import pg from 'pg';

/** Starts recording. The set grows while statements are sent. */
export function recordStatements(): ReadonlySet<string> {
  const texts = new Set<string>();
  const { query } = pg.Client.prototype;
  const recordingQuery = function (this: pg.Client, ...args: unknown[]): unknown {
    const [statement] = args;
    const text = typeof statement === 'string' ? statement : (statement as { readonly text?: unknown } | null)?.text;
    if (typeof text === 'string') texts.add(text);
    return Reflect.apply(query, this, args);
  };
  Object.assign(pg.Client.prototype, { query: recordingQuery });
  return texts;
}
