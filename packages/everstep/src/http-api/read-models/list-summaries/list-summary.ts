/**
 * Summary of a list: its entries over time, and the most frequent values of a field. Counters are used if they count what the list
 * contains; otherwise entries are examined.
 */
import type { ListSummary, TopValues } from '../../../contract/insights/list-summaries.js';
import { HOUR_MS, MINUTE_MS } from '../../../engine/insights/counts.js';
import type { WorkSlices } from '../../../fairness/work-slices.js';
import type { InsightStore, InsightSubject } from '../../../ports/stores/insights/insight-store.js';
import type { Position } from '../../../ports/stores/page.js';
import { countsIn, type Intervals, intervalsOf } from './intervals.js';
import { type ExaminedPage, scan } from './scan.js';

const MAX_VALUES = 20;
const DAY_MS = 24 * HOUR_MS;
/** The longest retention of counters. */
const MAX_HOURS = 10_000;
/** Name under which workflows without counters of their own are counted. */
const OTHER_WORKFLOWS = '';

type Histogram = Omit<ListSummary, 'topValues'>;

/** The time that a list covers. */
export interface ListTime {
  /** Current time in Unix milliseconds. */
  readonly now: number;
  /** Filter by time: Unix ms, inclusive. */
  readonly fromDate: number | undefined;
  readonly toDate: number | undefined;
}

interface SummarySources {
  readonly insights: Pick<InsightStore, 'series'>;
  readonly slices: Pick<WorkSlices, 'run'>;
}

/** Returns the intervals of the list. Without a filter by time, they start with the oldest entry. */
function rangeOf({ fromDate, toDate, now }: ListTime, oldestAt: number | undefined): Intervals {
  const last = Math.max(Math.min(toDate ?? now, now), fromDate ?? 0);
  return intervalsOf(fromDate ?? Math.min(oldestAt ?? Math.max(0, last - DAY_MS), last), last);
}

/** Returns the periods whose counters are those of the list; null if the filter by time contains only a part of one. */
function periodsIn({ from, to, intervalMs }: Intervals, { fromDate = from, toDate = to - 1, now }: ListTime) {
  const [period, periodMs] = intervalMs < HOUR_MS ? (['minute', MINUTE_MS] as const) : (['hour', HOUR_MS] as const);
  const isWhole = fromDate % periodMs === 0 && (toDate >= now || (toDate + 1) % periodMs === 0);
  if (intervalMs < MINUTE_MS || !isWhole) return null;
  const first = Math.max(fromDate, now - (now % HOUR_MS) - MAX_HOURS * HOUR_MS);
  const length = Math.max(0, Math.ceil((Math.min(toDate + 1, now + 1) - first) / periodMs));
  return { period, starts: Array.from({ length }, (_, index) => first + index * periodMs) } as const;
}

interface CountedList {
  readonly instanceId: string;
  /** Its counters are those of all entries of the list, apart from their time. */
  readonly subject: InsightSubject;
  /** Time of the oldest entry in the list; undefined if it is empty. */
  readonly oldestAt: number | undefined;
}

/** Returns the histogram from counters; null if they do not count what the list contains. */
async function histogramOfCounters(
  { insights }: Pick<SummarySources, 'insights'>,
  { instanceId, subject, oldestAt }: CountedList,
  time: ListTime,
): Promise<Histogram | null> {
  const range = rangeOf(time, oldestAt);
  const periods = periodsIn(range, time);
  if (periods === null) return null;
  const query = { instanceId, ...periods };
  const startedOf = async (counted: InsightSubject) =>
    (await insights.series({ ...query, subject: counted })).map(({ start, counts }) => [start, counts.started] as const);
  if (typeof subject === 'object') {
    // Some runs of the workflow may be among those that are counted together.
    const others = await startedOf({ workflow: OTHER_WORKFLOWS });
    if (others.some(([, started]) => started > 0)) return null;
  }
  const counts = countsIn(range, await startedOf(subject));
  const first = counts.findIndex((count) => count > 0);
  if (oldestAt === undefined) return { ...range, counts, source: 'counters', coveredFrom: null };
  // Counters of old minutes are removed, and runs from before an upgrade are not counted.
  if (first < 0) return null;
  const firstAt = range.from + first * range.intervalMs;
  return { ...range, counts, source: 'counters', coveredFrom: oldestAt < firstAt ? firstAt : null };
}

type ReadPage<Entry> = (after: Position | null) => Promise<ExaminedPage<Entry>>;
interface Entry {
  /** Creation time in Unix milliseconds. */
  readonly createdAt: number;
}

/** Returns the histogram of the newest entries, as many as one request may examine. */
async function histogramOfEntries(
  { slices }: Pick<SummarySources, 'slices'>,
  { instanceId, read }: { readonly instanceId: string; readonly read: ReadPage<Entry> },
  time: ListTime,
): Promise<Histogram> {
  const times: number[] = [];
  const { complete, until } = await scan(slices, instanceId, read, ({ createdAt }) => times.push(createdAt));
  const oldestAt = times.reduce<number | undefined>((oldest, at) => Math.min(oldest ?? at, at), undefined);
  const range = rangeOf(time, complete ? oldestAt : until);
  const counts = countsIn(
    range,
    times.map((at) => [at, 1] as const),
  );
  return { ...range, counts, source: 'entries', coveredFrom: complete ? null : (until ?? null) };
}

interface FieldOfList<Record> {
  /** Reads a page of the list, newest first. */
  readonly read: ReadPage<Record>;
  /** Values of the field; none if the entry has no value. */
  readonly valuesOf: (entry: Record) => readonly string[];
}

/** Returns the most frequent values of a field among the newest entries, as many as one request may examine. */
async function topValuesOf<Record>(
  { slices }: Pick<SummarySources, 'slices'>,
  instanceId: string,
  { read, valuesOf }: FieldOfList<Record>,
): Promise<TopValues> {
  const counts = new Map<string, number>();
  const { examined, complete } = await scan(slices, instanceId, read, (entry) => {
    for (const value of new Set(valuesOf(entry))) counts.set(value, (counts.get(value) ?? 0) + 1);
  });
  const values = [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, MAX_VALUES);
  return { values, examined, complete };
}

/** A list with its sources. `Record` is read for values of fields. */
export interface SummarizedList<Record> {
  readonly instanceId: string;
  /** Counters of all entries, apart from their time; null: there are none for the filter. */
  readonly subject: InsightSubject | null;
  /** Reads the oldest entry. */
  readonly oldest: () => Promise<{ readonly items: readonly Entry[] }>;
  /** Reads a page of the list, newest first. */
  readonly read: ReadPage<Entry>;
  /** The requested field; null: none. */
  readonly field: FieldOfList<Record> | null;
}

/** Returns the summary of a list without entries. */
export function emptySummary(time: ListTime, hasField: boolean): ListSummary {
  const range = rangeOf(time, undefined);
  const topValues = hasField ? { values: [], examined: 0, complete: true } : null;
  return { ...range, counts: countsIn(range, []), source: 'entries', coveredFrom: null, topValues };
}

/** Returns the summary of a list. */
export async function summaryOf<Record>(
  sources: SummarySources,
  { instanceId, subject, oldest, read, field }: SummarizedList<Record>,
  time: ListTime,
): Promise<ListSummary> {
  const { fromDate = 0, toDate = fromDate } = time;
  if (fromDate > toDate) return emptySummary(time, field !== null);
  const oldestAt = subject === null ? undefined : (await oldest()).items[0]?.createdAt;
  const counted = subject === null ? null : await histogramOfCounters(sources, { instanceId, subject, oldestAt }, time);
  const histogram = counted ?? (await histogramOfEntries(sources, { instanceId, read }, time));
  return { ...histogram, topValues: field === null ? null : await topValuesOf(sources, instanceId, field) };
}
