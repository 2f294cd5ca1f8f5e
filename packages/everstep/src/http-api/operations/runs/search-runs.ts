/**
 * Search over runs by words in their id, labels, URL and error. No index supports such a search: each request scans a limited
 * number of runs, newest first, and the response shows its progress. An exact id is found with the index of ids.
 */
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { INDEXED_RUN_FILTERS, RUN_FILTERS, UNINDEXED_RUN_FILTERS } from '../../../contract/filters/run-filters.js';
import { RunSearchPage } from '../../../contract/runs.js';
import type { Position, RunFilter, RunRecord, RunStore, SearchableRun } from '../../../ports/stores/store.js';
import { operation, respond } from '../../operation.js';
import { queryFilters, storeFilterOf } from '../../parameters/filters.js';
import { AnyOf } from '../../parameters/multi-value.js';
import { Cursor } from '../../parameters/values.js';
import { presentFoundRun } from '../../presenters/run.js';
import { type ComparedFilter, matchingRuns, type ScanDeps, scanRuns } from '../../read-models/run-scan.js';
import { waitsOfRuns } from '../../read-models/waits.js';
import { isEmptyRange, RunOrder } from '../filters.js';

/** Position of a search. Runs whose id equals the query come first; then all other runs are searched. */
interface SearchPosition {
  readonly part: 'id' | 'rest';
  readonly after: Position | null;
}

const START: SearchPosition = { part: 'id', after: null };
const positionText = ({ part, after }: SearchPosition): string => `${part} ${after ?? ''}`;

/** Parses the position in a cursor. Throws ApiError if the cursor contains something else. */
function parsePosition(text: string): SearchPosition {
  const [, part, after] = /^(id|rest) (\d*)$/.exec(text) ?? [];
  if (part !== 'id' && part !== 'rest')
    throw new ApiError('bad-cursor', 'the cursor does not belong to this search; omit it to start from the beginning');
  return { part, after: after === undefined || after === '' ? null : after };
}

/** Returns the distinct words in lowercase, because the search is case-insensitive. */
export function wordsOf(text: string): readonly string[] {
  const words = [...new Set(text.toLowerCase().split(/\s+/))].filter((word) => word !== '');
  if (words.length > LIMITS.maxRunQueryWords)
    throw new ApiError(
      'bad-parameter',
      `the query parameter "q" must not have more than ${LIMITS.maxRunQueryWords} words; this one has ${words.length}`,
    );
  return words;
}

/** Returns whether each word occurs in a text of the run. */
export function containsWords(
  { workflowRunId, workflowUrl, labels, error }: Pick<SearchableRun, 'workflowRunId' | 'workflowUrl' | 'labels' | 'error'>,
  words: readonly string[],
): boolean {
  const texts = [workflowRunId, workflowUrl, error ?? '', ...labels].map((text) => text.toLowerCase());
  return words.every((word) => texts.some((text) => text.includes(word)));
}

interface Search extends ScanDeps {
  readonly instanceId: string;
  readonly filter: RunFilter;
  readonly comparedFilter: ComparedFilter;
  readonly order: 'newest-first' | 'oldest-first';
  /** The query, without surrounding spaces. */
  readonly text: string;
  readonly words: readonly string[];
  readonly count: number;
}

interface SearchResult {
  readonly runs: RunRecord[];
  /** Position at which the next page starts, or null if all runs were searched. */
  next: SearchPosition | null;
  /** Creation time of the last run that was searched, in Unix ms. Null if no run was searched. */
  searchedUntil: number | null;
}

/** Finds runs whose id equals the query. */
async function findById(search: Search, { after }: SearchPosition, result: SearchResult): Promise<void> {
  const { reads, instanceId, text, count, filter, comparedFilter, order } = search;
  result.next = { part: 'rest', after: null };
  // With a filter by id, the second part finds the only possible run.
  if (text === '' || filter.workflowRunId !== undefined) return;
  const idFilter = { ...filter, workflowRunId: text };
  const { items, next } = await reads.listRuns({
    instanceId,
    filter: idFilter,
    order,
    after,
    horizon: null,
    limit: count,
  });
  result.runs.push(...(await matchingRuns(search, instanceId, items, comparedFilter)));
  result.searchedUntil = items.at(-1)?.createdAt ?? null;
  if (next !== null) result.next = { part: 'id', after: next };
}

/** Searches the other runs until there are enough results or the limits of one request are reached. */
async function searchTexts(search: Search, { after }: SearchPosition, result: SearchResult): Promise<void> {
  const { text, words, count, filter } = search;
  // Runs with this id were found in the first part.
  const wasFoundById = (run: SearchableRun) => run.workflowRunId === text && filter.workflowRunId === undefined;
  const { runs, next, scannedUntil } = await scanRuns(search, {
    ...search,
    after,
    count: count - result.runs.length,
    ...(words.length === 0 ? {} : { isMatch: (run) => !wasFoundById(run) && containsWords(run, words) }),
  });
  result.runs.push(...runs);
  result.next = next === null ? null : { part: 'rest', after: next };
  result.searchedUntil = scannedUntil ?? result.searchedUntil;
}

async function findRuns(search: Search, start: SearchPosition): Promise<SearchResult> {
  const result: SearchResult = { runs: [], next: start, searchedUntil: null };
  if (start.part === 'id') await findById(search, start, result);
  if (result.next?.part === 'rest' && result.runs.length < search.count) await searchTexts(search, result.next, result);
  return result;
}

/** Reads runs by their names, which consist of creation time and id. Removed runs are omitted. */
async function readNamedRuns(reads: RunStore, instanceId: string, names: readonly string[]): Promise<readonly RunRecord[]> {
  if (names.length > LIMITS.maxRunsById)
    throw new ApiError(
      'bad-parameter',
      `the query parameter "run" must not be given more than ${LIMITS.maxRunsById} times; it was given ${names.length} times`,
    );
  const runs = await Promise.all(
    names.map((name) => {
      const dotIndex = name.indexOf('.');
      return reads.findRun({
        instanceId,
        createdAt: Number(name.slice(0, dotIndex)),
        workflowRunId: name.slice(dotIndex + 1),
      });
    }),
  );
  return runs.filter((run) => run !== null);
}

const RunName = Type.String({
  pattern: '^\\d{1,15}\\..',
  maxLength: LIMITS.maxRunIdLength + 16,
  description: 'Creation time of the run in Unix milliseconds, a dot and the id of the run.',
});

export const searchRuns = operation({
  operationId: 'searchRuns',
  showsPayloads: true,
  tag: 'Logs',
  summary: 'Search workflow runs by text',
  description: `Finds runs whose id, labels, workflow URL and error contain every word of the query. The search is case-insensitive and has no wildcards. Without a query, returns all runs that match the filters. A run whose id equals the query comes first; the other runs follow, newest first or in the given \`order\`. One request searches at most ${LIMITS.maxRunsSearched} runs. While \`complete\` is false, there are more runs to search: continue with the cursor. \`searchedUntil\` shows the progress.`,
  method: 'GET',
  path: '/v2/workflows/search',
  unknownQuery: 'refuse',
  query: Type.Object({
    q: Type.Optional(
      Type.String({
        maxLength: LIMITS.maxRunQueryLength,
        description: `Text to search for: up to ${LIMITS.maxRunQueryWords} words.`,
      }),
    ),
    ...queryFilters(RUN_FILTERS),
    order: RunOrder,
    run: Type.Optional(
      AnyOf(
        RunName,
        `Only these runs, such as \`1767225600000.order-17\`, at most ${LIMITS.maxRunsById}. Removed runs are omitted, and all other parameters are ignored. For clients that keep a list up to date`,
        'before-a-run',
      ),
    ),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.foundRunsPageMax,
        default: LIMITS.foundRunsPageDefault,
        description: 'Maximum number of runs to return.',
      }),
    ),
    cursor: Type.Optional(Cursor('Cursor from the previous page, with the same query and filters. Omit it for the first page.')),
  }),
  responses: { 200: RunSearchPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query }, { reads, slices, cursors, service }, { instanceId }) {
    const { cursor: cursorText, count, q = '', run: runNames, ...filterQuery } = query;
    const presentRuns = async (runs: readonly RunRecord[]) => {
      const waits = await waitsOfRuns(reads.runs, service.runs, { instanceId, runs });
      return runs.map((run) => presentFoundRun(run, waits.get(run.key)));
    };
    if (runNames !== undefined) {
      const runs = await readNamedRuns(reads.runs, instanceId, runNames);
      return respond(200, { runs: await presentRuns(runs), searchedUntil: null, complete: true });
    }
    const text = q.trim();
    const words = wordsOf(text);
    const scope = { operation: 'search-runs', instanceId, filters: { ...filterQuery, q: text } };
    const start =
      cursorText === undefined || cursorText === '' ? START : parsePosition((await cursors.open(scope, cursorText)).after);
    if (isEmptyRange(filterQuery)) return respond(200, { runs: [], searchedUntil: null, complete: true });
    const search = {
      reads: reads.runs,
      service: service.runs,
      slices,
      instanceId,
      filter: storeFilterOf(INDEXED_RUN_FILTERS, filterQuery),
      comparedFilter: storeFilterOf(UNINDEXED_RUN_FILTERS, filterQuery),
      text,
      words,
      order: filterQuery.order ?? ('newest-first' as const),
      count: count ?? LIMITS.foundRunsPageDefault,
    };
    const { runs, next, searchedUntil } = await findRuns(search, start);
    const position = next && { after: positionText(next), horizon: null, remaining: null };
    const cursor = position ? { cursor: await cursors.seal(scope, position) } : {};
    return respond(200, { ...cursor, runs: await presentRuns(runs), searchedUntil, complete: next === null });
  },
});
