/**
 * Search over runs by what people remember of them. Nothing is indexed for it: runs are looked through, newest first, a
 * bounded number in one request, and the answer says how far that came. An id is found by its index, at once.
 */
import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { RunSearchPage } from '../../contract/runs.js';
import type { WorkSlices } from '../../fairness/work-slices.js';
import type { Page, Position, RunFilter, RunRecord, RunTexts, Store } from '../../ports/store.js';
import { answer, operation } from '../operation.js';
import { Cursor } from '../parameters/values.js';
import { presentFoundRun } from '../presenters/run.js';
import { isEmptyRange } from './filters.js';
import { logFilters, runFilterOf } from './logs.js';

/** First come runs whose id is exactly what is asked for, then all others are looked through. */
interface Place {
  readonly part: 'id' | 'rest';
  readonly after: Position | null;
}

const BEGINNING: Place = { part: 'id', after: null };
const placeText = ({ part, after }: Place): string => `${part} ${after ?? ''}`;

/** A cursor is sealed: what is in it was written above. */
function placeOf(text: string): Place {
  const [, part, after] = /^(id|rest) (\d*)$/.exec(text) ?? [];
  if (part !== 'id' && part !== 'rest') throw new ApiError('bad-cursor', 'the cursor is none of this search');
  return { part, after: after === undefined || after === '' ? null : after };
}

/** Lower case: a search tells no cases apart. */
function wordsOf(text: string): readonly string[] {
  const words = [...new Set(text.toLowerCase().split(/\s+/))].filter((word) => word !== '');
  if (words.length > LIMITS.maxRunQueryWords)
    throw new ApiError(
      'bad-parameter',
      `the query parameter q takes at most ${LIMITS.maxRunQueryWords} words, and has ${words.length}`,
    );
  return words;
}

/** Each word has to be somewhere in the texts of the run. */
function matches({ workflowRunId, workflowUrl, labels, error }: RunTexts, words: readonly string[]): boolean {
  const texts = [workflowRunId, workflowUrl, error ?? '', ...labels].map((text) => text.toLowerCase());
  return words.every((word) => texts.some((text) => text.includes(word)));
}

interface Search {
  readonly store: Pick<Store, 'listRuns' | 'listRunTexts' | 'runRecord'>;
  readonly slices: Pick<WorkSlices, 'run'>;
  readonly instanceId: string;
  readonly filter: RunFilter;
  /** As it was asked for. */
  readonly text: string;
  readonly words: readonly string[];
  readonly count: number;
}

interface Found {
  readonly runs: RunRecord[];
  /** Null at the end. */
  next: Place | null;
  searchedUntil: number | null;
}

const pageOf = ({ instanceId, filter }: Search, after: Position | null, limit: number): Page<RunFilter> => ({
  instanceId,
  filter,
  order: 'newest-first',
  after,
  horizon: null,
  limit,
});

/** Runs that have the text as their id. */
async function findId(search: Search, { after }: Place, found: Found): Promise<void> {
  const { store, text, count, filter } = search;
  found.next = { part: 'rest', after: null };
  // Under this filter there is no other id, and what is to be found is found at once in any case.
  if (text === '' || filter.workflowRunId !== undefined) return;
  const byId = { ...search, filter: { ...filter, workflowRunId: text } };
  const { items, next } = await store.listRuns(pageOf(byId, after, count));
  found.runs.push(...items);
  found.searchedUntil = items.at(-1)?.createdAt ?? null;
  if (next !== null) found.next = { part: 'id', after: next };
}

/** Looks through the others until there are enough, or as long as one request may. */
async function lookThrough(search: Search, place: Place, found: Found): Promise<void> {
  const { store, slices, text, words, count, filter } = search;
  const endsAt = performance.now() + LIMITS.maxRunSearchMs;
  let { after } = place;
  for (let looked = 0; looked < LIMITS.maxRunsSearched && performance.now() < endsAt; ) {
    const limit = words.length === 0 ? count - found.runs.length : LIMITS.runsSearchedAtOnce;
    const page = pageOf(search, after, limit);
    const { items, next } = await slices.run(search.instanceId, () => store.listRunTexts(page));
    looked += items.length;
    for (const texts of items) {
      after = texts.position;
      found.searchedUntil = texts.createdAt;
      // Those of this very id came first.
      const isKnown = texts.workflowRunId === text && filter.workflowRunId === undefined;
      const run = isKnown || !matches(texts, words) ? null : await store.runRecord({ runKey: texts.runKey });
      // A run may have been removed since the page was read.
      if (run) found.runs.push(run);
      if (found.runs.length === count) break;
    }
    const wasLast = next === null && (items.length === 0 || after === items.at(-1)?.position);
    found.next = wasLast ? null : { part: 'rest', after };
    if (wasLast || found.runs.length === count) return;
    // Others have their turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function find(search: Search, begin: Place): Promise<Found> {
  const found: Found = { runs: [], next: begin, searchedUntil: null };
  if (begin.part === 'id') await findId(search, begin, found);
  if (found.next?.part === 'rest' && found.runs.length < search.count) await lookThrough(search, found.next, found);
  return found;
}

export const searchRuns = operation({
  operationId: 'searchRuns',
  showsPayloads: true,
  tag: 'Logs',
  summary: 'Search workflow runs',
  description: `Runs whose ID, labels, workflow URL and error have each word of the query somewhere, whatever the case; no character is a wildcard. Without a query, all that fit the filters. A run whose ID is exactly the query comes first; the others are looked through newest first, at most ${LIMITS.maxRunsSearched} in one request. While complete is false there is more to look at: the cursor goes on, and searchedUntil tells how far it is.`,
  method: 'GET',
  path: '/v2/workflows/search',
  unknownQuery: 'refuse',
  query: Type.Object({
    q: Type.Optional(
      Type.String({
        maxLength: LIMITS.maxRunQueryLength,
        description: `What to look for: up to ${LIMITS.maxRunQueryWords} words.`,
      }),
    ),
    ...logFilters,
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.foundRunsPageMax,
        default: LIMITS.foundRunsPageDefault,
        description: 'Runs to return.',
      }),
    ),
    cursor: Type.Optional(Cursor('Goes on with a search, with the same query and filters; empty begins one.')),
  }),
  responses: { 200: RunSearchPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query }, { store, slices, cursors }, { instanceId }) {
    const { cursor: given, count, q = '', ...asked } = query;
    const text = q.trim();
    const words = wordsOf(text);
    const scope = { operation: 'search-runs', instanceId, filters: { ...asked, q: text } };
    const begin = given === undefined || given === '' ? BEGINNING : placeOf((await cursors.open(scope, given)).after);
    if (isEmptyRange(asked)) return answer(200, { runs: [], searchedUntil: null, complete: true });
    const search = {
      store,
      slices,
      instanceId,
      filter: runFilterOf(asked),
      text,
      words,
      count: count ?? LIMITS.foundRunsPageDefault,
    };
    const { runs, next, searchedUntil } = await find(search, begin);
    const place = next && { after: placeText(next), horizon: null, left: null };
    const cursor = place ? { cursor: await cursors.seal(scope, place) } : {};
    return answer(200, { ...cursor, runs: runs.map(presentFoundRun), searchedUntil, complete: next === null });
  },
});
