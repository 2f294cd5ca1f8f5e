/**
 * Full-text search in one namespace, with bounded work.
 *
 * FTS5 scores every document that has one of the words, in about 0.7 microseconds each, so a word in every other document costs
 * seconds among millions. Such words hardly distinguish documents. If the words of a query are in more documents than are scored at
 * once, only documents with one of the rarer words are scored; if no word is rare, only those with all the words.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Filter, FoundDocument } from '../../../ports/stores/search-store.js';
import { type RequiredTags, requiredTags } from '../../shared/search/required-tags.js';
import { integer, type Row, text } from '../connection/columns.js';
import { tagOf, UNTAGGED } from './document-text.js';
import { sliceBytes, sliceOf } from './filter-slices.js';
import { filterSql } from './filter-sql.js';
import { ContentBudget } from './namespace-rows.js';
import { DOCUMENT_BYTES } from './schema.js';

/** Maximum number of documents scored at once, which takes about ten milliseconds. */
const MAX_SCORED = 10_000;
/** Maximum number of documents with the frequent words that count for the score: counting them takes about ten milliseconds. */
const MAX_COUNTED = 150_000;
/** Maximum number of words with which MAX_SCORED documents are scored. With more words, fewer are. */
const MAX_CHEAP_WORDS = 3;
/** Maximum number of documents examined for a filter that no tag narrows. The search then returns what it has found. */
const MAX_FILTERED = 50_000;
/** Maximum number of documents examined before the search yields to other work; fewer if they are long. */
const FILTERED_AT_ONCE = 500;
const MAX_QUERY_WORDS = 32;
const MAX_CACHED_COUNTS = 10_000;
const NO_FILTER = { sql: '', values: [] } as const;

const WORD = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;

interface Word {
  readonly text: string;
  /** Maximum number of documents that contain the word. */
  readonly documents: number;
}

interface Hit {
  readonly seq: number;
  readonly score: number;
}

interface RankedQuery {
  readonly filter: Filter | null;
  readonly limit: number;
  /** Maximum bytes of the documents. Documents beyond them are returned without their content. */
  readonly maxBytes: number;
  /** Yields to other work; returns false when the search must end. */
  readonly pause: () => Promise<boolean>;
}

const byScore = (a: Hit, b: Hit): number => b.score - a.score || a.seq - b.seq;
const byRarity = (a: Word, b: Word): number => a.documents - b.documents;
const quoteWords = (words: readonly Word[]): string[] => words.map(({ text: word }) => `"${word}"`);
const anyOf = (words: readonly Word[]): string => quoteWords(words).join(' OR ');

/** Returns the first words, the rarest ones, as long as they are in at most `maxDocuments` documents together. */
function rarestWithin(words: readonly Word[], maxDocuments: number): Word[] {
  let sum = 0;
  return words.filter(({ documents }) => {
    sum += documents;
    return sum <= maxDocuments;
  });
}

function tagExpression(tags: RequiredTags): string {
  return typeof tags === 'string' ? tags : `(${tags.parts.map(tagExpression).join(tags.kind === 'and' ? ' AND ' : ' OR ')})`;
}

export class RankedSearch {
  private readonly database: DatabaseSync;
  private readonly seq: number;
  private readonly selectCount: StatementSync;
  private readonly selectDocument: StatementSync;
  private readonly selectHead: StatementSync;
  private readonly insertWord: StatementSync;
  private readonly deleteWords: StatementSync;
  private readonly selectTokens: StatementSync;
  /** Number of documents with a frequent token, counted once: an estimate suffices. Others are counted each time. */
  private readonly counts = new Map<string, number>();

  constructor(database: DatabaseSync, seq: number) {
    this.database = database;
    this.seq = seq;
    this.selectCount = database.prepare(`SELECT doc FROM word_${seq} WHERE term = ?`);
    this.selectDocument = database.prepare(`SELECT id, content, metadata FROM document_${seq} WHERE seq = ?`);
    this.selectHead = database.prepare(`SELECT id, ${DOCUMENT_BYTES} AS bytes FROM document_${seq} WHERE seq = ?`);
    this.insertWord = database.prepare('INSERT INTO temp.query_word (rowid, word) VALUES (?, ?)');
    this.deleteWords = database.prepare('DELETE FROM temp.query_word');
    this.selectTokens = database.prepare('SELECT doc, term FROM temp.query_token ORDER BY doc');
  }

  /** Returns the best documents. `documentCount` is the number of documents in the namespace. */
  async search(query: string, request: RankedQuery, documentCount: number): Promise<FoundDocument[]> {
    const { filter, limit, maxBytes, pause } = request;
    const words = this.wordsOf(query);
    if (words.length === 0) return [];
    const tags = filter ? requiredTags(filter, tagOf) : null;
    const tagCondition = tags === null ? '' : ` AND tags : (${tagExpression(tags)} OR ${UNTAGGED})`;
    const total = words.reduce((sum, word) => sum + word.documents, 0);
    const maxMatches = tags === null ? total : Math.min(total, this.maxDocumentsWith(tags) + this.countOf(UNTAGGED));
    const hits =
      maxMatches <= MAX_SCORED
        ? await this.score(`body : (${anyOf(words)})${tagCondition}`, MAX_SCORED, request)
        : await this.searchFrequentWords(words, tagCondition, request, documentCount);
    const bestHits = hits.sort(byScore).slice(0, limit);
    // The namespace may have been removed in the meantime.
    if (!(await pause())) return [];
    const budget = new ContentBudget(maxBytes);
    return bestHits.flatMap(({ seq, score }) => {
      const head = this.selectHead.get(seq);
      // The document may have been removed in the meantime.
      if (!head) return [];
      return [{ ...budget.documentOf(head, () => this.selectDocument.get(seq)), score }];
    });
  }

  private async searchFrequentWords(
    candidates: readonly Word[],
    tagCondition: string,
    request: RankedQuery,
    documentCount: number,
  ): Promise<Hit[]> {
    // A word in more than half of the documents has no weight in BM25.
    const distinctiveWords = candidates.filter((word) => word.documents <= documentCount / 2);
    const words = distinctiveWords.length > 0 ? distinctiveWords : candidates.slice(0, 1);
    // Each further word makes scoring a document more expensive.
    const maxDocuments = Math.round(MAX_SCORED / Math.max(1, words.length / MAX_CHEAP_WORDS));
    const rareWords = rarestWithin(words, maxDocuments);
    if (rareWords.length > 0) {
      // A document that has all the words is among these.
      const frequentWords = rarestWithin(words.slice(rareWords.length), MAX_COUNTED);
      // The rare words are on both sides of AND and therefore count twice. The frequent words are repeated, so they also do.
      const scoringWords = [...rareWords, ...frequentWords, ...frequentWords];
      const expression = `body : ((${anyOf(rareWords)}) AND (${anyOf(scoringWords)}))${tagCondition}`;
      const hits = await this.score(expression, MAX_SCORED, request);
      return hits.map(({ seq, score }) => ({ seq, score: score / 2 }));
    }
    const countableWords = rarestWithin(words, MAX_COUNTED);
    const requiredWords = countableWords.length > 0 ? countableWords : words.slice(0, 1);
    const hits = await this.score(`body : (${quoteWords(requiredWords).join(' AND ')})${tagCondition}`, maxDocuments, request);
    if (hits.length >= request.limit || requiredWords.length === 1) return hits;
    const foundSeqs = new Set(hits.map(({ seq }) => seq));
    const moreHits = await this.score(`body : (${anyOf(requiredWords.slice(0, 1))})${tagCondition}`, maxDocuments, request);
    return [...hits, ...moreHits.filter(({ seq }) => !foundSeqs.has(seq))];
  }

  /** Returns the best of the first `maxDocuments` matching documents; with a filter, continues until enough match it. */
  private async score(expression: string, maxDocuments: number, { filter, limit, pause }: RankedQuery): Promise<Hit[]> {
    const { sql, values } = filter ? filterSql(filter, 'd') : NO_FILTER;
    const condition = filter ? `WHERE EXISTS (SELECT 1 FROM document_${this.seq} d WHERE d.seq = m.seq AND ${sql})` : '';
    const matches = `SELECT rowid AS seq, bm25(text_${this.seq}, 1.0, 0.0) AS score FROM text_${this.seq}
      WHERE text_${this.seq} MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?`;
    const selectBest = this.database.prepare(`SELECT seq, score FROM (${matches}) m ${condition} ORDER BY score, seq LIMIT ?`);
    if (!filter) return selectBest.all(expression, 0, maxDocuments, limit).map(hitOf);
    const selectSizes = this.database.prepare(
      `SELECT m.seq AS seq, ${DOCUMENT_BYTES} AS bytes FROM
       (SELECT rowid AS seq FROM text_${this.seq} WHERE text_${this.seq} MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?) m
       JOIN document_${this.seq} d ON d.seq = m.seq ORDER BY m.seq`,
    );
    const maxSliceBytes = sliceBytes(filter);
    const hits: Hit[] = [];
    let roundHits: Hit[] = [];
    let after = 0;
    // All of the `maxDocuments` documents are compared with each other; they are examined in slices, with yields in between.
    for (let examinedCount = 0, roundCount = 0; ; ) {
      const sliceSize = Math.min(FILTERED_AT_ONCE, maxDocuments - roundCount);
      const { count, last } = sliceOf(selectSizes.iterate(expression, after, sliceSize), maxSliceBytes);
      roundHits.push(...selectBest.all(expression, after, count, ...values, count).map(hitOf));
      roundCount += count;
      examinedCount += count;
      const isEnd = last === null || examinedCount >= MAX_FILTERED;
      if (isEnd || roundCount >= maxDocuments) {
        hits.push(...roundHits.sort(byScore).slice(0, limit));
        if (isEnd || hits.length >= limit) return hits;
        [roundHits, roundCount] = [[], 0];
      }
      after = last ?? after;
      if (!(await pause())) return hits;
    }
  }

  /** Returns the maximum number of documents that have such tags. */
  private maxDocumentsWith(tags: RequiredTags): number {
    if (typeof tags === 'string') return this.countOf(tags);
    const bounds = tags.parts.map((part) => this.maxDocumentsWith(part));
    return tags.kind === 'and' ? Math.min(...bounds) : bounds.reduce((sum, bound) => sum + bound, 0);
  }

  private countOf(token: string): number {
    const cached = this.counts.get(token);
    if (cached !== undefined) return cached;
    const row = this.selectCount.get(token);
    const count = row ? integer(row, 'doc') : 0;
    if (count > MAX_SCORED) {
      if (this.counts.size >= MAX_CACHED_COUNTS) this.counts.clear();
      this.counts.set(token, count);
    }
    return count;
  }

  /** Returns the words of a query that occur in some document, the rarest first. */
  private wordsOf(query: string): Word[] {
    const texts = [...new Set(query.toLowerCase().match(WORD) ?? [])].slice(0, MAX_QUERY_WORDS);
    for (const [index, word] of texts.entries()) this.insertWord.run(index + 1, word);
    /** Number of documents with the rarest token of each word. */
    const documentCounts = new Map<string, number>();
    /** Tokens of each word, all of which must occur. */
    const tokens = new Map<string, string>();
    for (const row of this.selectTokens.all()) {
      const word = texts[integer(row, 'doc') - 1] ?? '';
      const token = text(row, 'term');
      tokens.set(word, `${tokens.get(word) ?? ''} ${token}`);
      documentCounts.set(word, Math.min(documentCounts.get(word) ?? Number.POSITIVE_INFINITY, this.countOf(token)));
    }
    this.deleteWords.run();
    // Words with the same stem are one word.
    const wordsByTokens = new Map(
      [...documentCounts].map(([word, count]) => [tokens.get(word), { text: word, documents: count }]),
    );
    return [...wordsByTokens.values()].filter((word) => word.documents > 0).sort(byRarity);
  }
}

const hitOf = (row: Row): Hit => {
  const { score } = row;
  if (typeof score !== 'number') throw new TypeError('a score is not a number');
  return { seq: integer(row, 'seq'), score: -score };
};
