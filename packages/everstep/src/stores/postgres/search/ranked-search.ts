/**
 * Full-text search in one namespace by BM25, with bounded work.
 *
 * Words in very many documents hardly distinguish them, and scoring all of those documents would take seconds. If the words of a
 * query are in more documents than are scored at once, only documents with one of the rarer words are scored; if no word is rare,
 * only those with all the words. The server's statistics provide the frequency of a word.
 */
import type { DocumentBound, Filter, FoundDocument, SearchDocument } from '../../../ports/stores/search-store.js';
import type { RequiredTags } from '../../shared/search/required-tags.js';
import { integer, type Row, text, textOrNull } from '../connection/columns.js';
import { type Session, statement, unpreparedStatement } from '../connection/connection.js';
import type { StoredNamespace } from './collection.js';
import { lexeme, tagQuery, tagsOf, tagsOfFilter } from './document-text.js';
import { filterSql, Values } from './filter-sql.js';
import { termsOf } from './words.js';

/** Maximum number of documents scored at once, which takes about ten milliseconds. */
const MAX_SCORED = 10_000;
/** Maximum number of documents examined for a filter that no tag narrows. The search then returns what it has found. */
const MAX_FILTERED = 50_000;
const MAX_QUERY_WORDS = 32;

/** The usual parameters of BM25: how soon repetitions of a word stop adding to the score, and how much a long text lowers it. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/** Selects those of the given lexemes that are in many rows, with the approximate number of these rows. */
const SELECT_FREQUENCIES = statement(`
  SELECT e.lexeme, e.share * greatest(c.reltuples, 0) AS documents
  FROM pg_stats s
  JOIN pg_class c ON c.oid = to_regclass(quote_ident(s.tablename))
  CROSS JOIN LATERAL unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) AS e (lexeme, share)
  WHERE s.schemaname = current_schema() AND s.tablename = $1
    AND ((s.attname = 'terms' AND e.lexeme = ANY ($2::text[])) OR (s.attname = 'tags' AND e.lexeme = ANY ($3::text[])))`);

const ESTIMATE_ROWS = statement('SELECT reltuples::bigint AS rows FROM pg_class WHERE oid = to_regclass($1)');

const doubleLiteral = (value: number): string => `${value}::double precision`;
const HALF = doubleLiteral(0.5);

interface Word {
  readonly term: string;
  /** Approximate number of documents that contain the word; 0 if they are too few to be in the statistics. */
  readonly documents: number;
}

export const documentOf = (row: Row): SearchDocument => ({
  id: text(row, 'id'),
  content: text(row, 'content'),
  metadata: textOrNull(row, 'metadata'),
  ...(row.left_out === null ? {} : { leftOut: integer(row, 'left_out') }),
});

/**
 * Returns SQL that selects the documents in the order of `n`. Documents beyond the byte limit have no content. The database returns
 * the lengths of texts without reading them. `extraColumns` are also selected.
 */
export const limitBytes = (documentsSql: string, maxBytes: string, extraColumns = ''): string => `
  SELECT b.id${extraColumns}, CASE WHEN b.total <= ${maxBytes}::bigint THEN b.content ELSE '{}' END AS content,
    CASE WHEN b.total <= ${maxBytes}::bigint THEN b.metadata END AS metadata,
    CASE WHEN b.total > ${maxBytes}::bigint THEN b.bytes END AS left_out
  FROM (
    SELECT a.*, sum(a.bytes) OVER (ORDER BY a.n) AS total
    FROM (SELECT d.*, octet_length(d.content) + coalesce(octet_length(d.metadata), 0) AS bytes FROM (${documentsSql}) d) a
  ) b ORDER BY b.n`;

function foundDocumentOf(row: Row): FoundDocument {
  const { score } = row;
  if (typeof score !== 'number') throw new TypeError('a score is not a number');
  return { ...documentOf(row), score };
}

/** Returns the rarest words, as long as they are in no more documents than may be scored. */
function rarestWords(words: readonly Word[]): readonly Word[] {
  let sum = 0;
  return words.filter(({ documents }) => {
    sum += documents;
    return sum <= MAX_SCORED;
  });
}

interface RankedQuery {
  readonly storedNamespace: StoredNamespace;
  readonly words: readonly Word[];
  readonly filter: Filter | null;
  /** Condition that the tags of every matching document meet. */
  readonly requiredTags: RequiredTags | null;
  readonly limit: number;
  readonly maxBytes: number;
}

/** Returns a statement that scores the first documents that contain any or all of the words, and selects the best ones. */
function scoreStatement(
  { storedNamespace, words, filter, requiredTags, limit, maxBytes }: RankedQuery,
  matchedWords: readonly Word[],
  operator: '|' | '&',
) {
  const values = new Values();
  const { table, namespace, documents } = storedNamespace;
  const wordQuery = matchedWords.map(({ term }) => lexeme(namespace, term)).join(` ${operator} `);
  const conditions = [`d.terms @@ ${values.add(wordQuery, 'tsquery')}`];
  if (requiredTags) conditions.push(`d.tags @@ ${values.add(tagQuery(namespace, requiredTags), 'tsquery')}`);
  const counts = words.map(({ term }, index) => {
    const hasWord = `m.terms @@ ${values.add(lexeme(namespace, term), 'tsquery')}`;
    return `CASE WHEN ${hasWord} THEN coalesce((m.repeats ->> ${values.add(term, 'text')})::integer, 1) ELSE 0 END AS n${index}`;
  });
  const documentCount = values.add(documents, 'double precision');
  const weights = words.map((word, index) => {
    // A word in the statistics is in more documents than are examined here.
    const wordFrequency = `greatest(count(*) FILTER (WHERE n${index} > 0), ${values.add(Math.round(word.documents), 'bigint')})`;
    return `ln(1 + greatest(${documentCount} - ${wordFrequency} + ${HALF}, ${HALF}) / (${wordFrequency} + ${HALF})) AS w${index}`;
  });
  // All values are in double precision: others would be computed as decimals, ten times as slowly.
  const scoreOf = (_: Word, index: number): string =>
    `s.w${index} * c.n${index} * ${doubleLiteral(SATURATION + 1)} / (c.n${index} + c.norm)`;
  const columns = 'id, length, repeats, terms';
  const examinedColumns = filter ? `${columns}, content, metadata, fields` : columns;
  const candidatesSql = `SELECT ${examinedColumns} FROM ${table} d WHERE ${conditions.join(' AND ')} LIMIT ${filter ? MAX_FILTERED : MAX_SCORED}`;
  const filteredSql = filter
    ? `SELECT ${columns} FROM (${candidatesSql}) d WHERE ${filterCondition(filter, values)} LIMIT ${MAX_SCORED}`
    : candidatesSql;
  return {
    values: values.list,
    statement: unpreparedStatement(`
      WITH c AS MATERIALIZED (SELECT m.id, m.length, ${counts.join(', ')} FROM (${filteredSql}) m),
        s AS MATERIALIZED (SELECT
          ${doubleLiteral(SATURATION * LENGTH_WEIGHT)} / greatest(avg(length)::double precision, 1) AS steepness,
          ${weights.join(', ')} FROM c),
        best AS (
          SELECT c.id, ${words.map(scoreOf).join(' + ')} AS score
          FROM s, LATERAL (SELECT *, ${doubleLiteral(SATURATION * (1 - LENGTH_WEIGHT))} + s.steepness * length AS norm FROM c) c
          ORDER BY score DESC, c.id LIMIT ${values.add(limit, 'integer')})
      ${limitBytes(
        `SELECT d.id, d.content, d.metadata, best.score, row_number() OVER (ORDER BY best.score DESC, d.id) AS n FROM best
         JOIN ${table} d ON d.namespace = ${values.add(namespace, 'bigint')} AND d.id = best.id`,
        values.add(maxBytes, 'bigint'),
        ', b.score',
      )}`),
  };
}

/** Returns a condition on a row `d` of documents. The JSON of the row is read once, for any number of fields. */
export function filterCondition(filter: Filter, values: Values): string {
  return `EXISTS (SELECT 1 FROM (SELECT coalesce(d.fields -> 'content', d.content::jsonb) AS content,
      coalesce(d.fields -> 'metadata', d.metadata::jsonb) AS metadata OFFSET 0) j WHERE ${filterSql(filter, 'j', values)})`;
}

/** Estimates how many documents have the required tags. Tags that are not in the statistics count as 0. */
function estimateDocuments(condition: RequiredTags, documentCountOf: (tag: string) => number): number {
  if (typeof condition === 'string') return documentCountOf(condition);
  const bounds = condition.parts.map((part) => estimateDocuments(part, documentCountOf));
  return condition.kind === 'and' ? Math.min(...bounds) : bounds.reduce((sum, bound) => sum + bound, 0);
}

/** Returns a function that returns the approximate number of documents with a word or tag; 0 if it is not in the statistics. */
async function readFrequencies(
  session: Session,
  { table, namespace }: StoredNamespace,
  terms: readonly string[],
  tags: readonly string[],
) {
  const lexemeText = (word: string): string => lexeme(namespace, word).slice(1, -1);
  const rows = await session.query(SELECT_FREQUENCIES, [table, terms.map(lexemeText), tags.map(lexemeText)]);
  const documentCounts = new Map(rows.map((row) => [text(row, 'lexeme'), Number(row.documents)]));
  return (word: string): number => documentCounts.get(lexemeText(word)) ?? 0;
}

export async function rankedSearch(
  session: Session,
  storedNamespace: StoredNamespace,
  query: DocumentBound & { readonly text: string; readonly limit: number; readonly filter: Filter | null },
): Promise<readonly FoundDocument[]> {
  const { filter, limit, maxBytes } = query;
  const terms = [...new Set(termsOf(query.text))].slice(0, MAX_QUERY_WORDS);
  if (terms.length === 0) return [];
  const requiredTags = filter && tagsOfFilter(filter);
  const isSmall = storedNamespace.documents <= MAX_SCORED;
  const documentCountOf = isSmall
    ? () => 0
    : await readFrequencies(session, storedNamespace, terms, requiredTags ? tagsOf(requiredTags) : []);
  const words = terms.map((term): Word => ({ term, documents: documentCountOf(term) })).sort((a, b) => a.documents - b.documents);
  const runQuery = async (matchedWords: readonly Word[], operator: '|' | '&') => {
    const { statement: scoringStatement, values } = scoreStatement(
      { storedNamespace, words, filter, requiredTags, limit, maxBytes },
      matchedWords,
      operator,
    );
    return (await session.query(scoringStatement, values)).map(foundDocumentOf);
  };
  const isNarrow = isSmall || (requiredTags !== null && estimateDocuments(requiredTags, documentCountOf) <= MAX_SCORED);
  const rareWords = isNarrow ? words : rarestWords(words);
  if (rareWords.length > 0) return runQuery(rareWords, '|');
  const matches = await runQuery(words, '&');
  if (matches.length >= limit || words.length === 1) return matches;
  const foundIds = new Set(matches.map(({ id }) => id));
  const additionalMatches = await runQuery(words.slice(0, 1), '|');
  return [...matches, ...additionalMatches.filter(({ id }) => !foundIds.has(id))].slice(0, limit);
}

/** Returns the database's estimate of the number of rows; negative if the table was never analyzed, null if there is no table. */
export async function estimateRowCount(session: Session, table: string): Promise<number | null> {
  const [row] = await session.query(ESTIMATE_ROWS, [table]);
  return row ? integer(row, 'rows') : null;
}
