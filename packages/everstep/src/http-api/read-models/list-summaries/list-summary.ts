/**
 * Summary of a list: its entries over time, and the most frequent values of a field. Counters are used if they count exactly the
 * entries of the list; otherwise entries are examined.
 */
import type { ListSummary, TopValues } from '../../../contract/insights/list-summaries.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../engine/insights/counts.js';
import type { WorkSlices } from '../../../fairness/work-slices.js';
import type { InsightStore, InsightSubject } from '../../../ports/stores/insights/insight-store.js';
import type { Position } from '../../../ports/stores/page.js';
import { countByInterval, type Intervals, intervalsOf } from './intervals.js';
import { type ExaminedPage, scanList } from './scan.js';

const MAX_VALUES = 20;
/** The longest retention of counters, in whole days. */
const MAX_DAYS = 417;
/** Name under which the workflows without separate counters are counted. */
const OTHER_WORKFLOWS = '';

type Histogram = Omit<ListSummary, 'topValues'>;

/** The current time and the time filter of a list. */
export interface ListTime {
  /** Current time in Unix milliseconds. */
  readonly now: number;
  /** Start of the time filter in Unix milliseconds, inclusive. */
  readonly fromDate: number | undefined;
  /** End of the time filter in Unix milliseconds, inclusive. */
  readonly toDate: number | undefined;
}

interface SummarySources {
  readonly insights: Pick<InsightStore, 'series'>;
  readonly slices: Pick<WorkSlices, 'run'>;
}

/** Returns the intervals of the list. Without a filter by time, they start with the oldest entry. */
function rangeOf({ fromDate, toDate, now }: ListTime, oldestAt: number | undefined): Intervals {
  const lastMs = Math.max(Math.min(toDate ?? now, now), fromDate ?? 0);
  return intervalsOf(fromDate ?? Math.min(oldestAt ?? Math.max(0, lastMs - DAY_MS), lastMs), lastMs);
}

const PERIODS = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
] as const;

/** Returns the periods whose counters count the list, or null if the time filter contains only a part of a period. */
function periodsIn({ from, to, intervalMs }: Intervals, { fromDate = from, toDate = to - 1, now }: ListTime) {
  const isWhole = (periodMs: number): boolean =>
    periodMs <= intervalMs && fromDate % periodMs === 0 && (toDate >= now || (toDate + 1) % periodMs === 0);
  const [period, periodMs] = PERIODS.find(([, lengthMs]) => isWhole(lengthMs)) ?? [null, 0];
  if (period === null) return null;
  const firstMs = Math.max(fromDate, now - (now % DAY_MS) - MAX_DAYS * DAY_MS);
  const lastMs = Math.min(toDate, now);
  return { period, from: firstMs, to: Math.max(firstMs, lastMs - (lastMs % periodMs) + periodMs) };
}

interface CountedList extends Pick<SummarizedList<Entry>, 'instanceId' | 'readOldest'> {
  /** Subject of the counters that count the entries of the list. */
  readonly subject: InsightSubject;
}

/** Returns the histogram from counters, or null if they do not count exactly the entries of the list. */
async function histogramOfCounters(
  { insights }: Pick<SummarySources, 'insights'>,
  { instanceId, subject, readOldest }: CountedList,
  time: ListTime,
): Promise<Histogram | null> {
  const oldestAt = time.fromDate === undefined ? (await readOldest({})).items[0]?.createdAt : undefined;
  const range = rangeOf(time, oldestAt);
  const periods = periodsIn(range, time);
  if (periods === null) return null;
  const query = { instanceId, ...periods };
  const readStartedCounts = async (counterSubject: InsightSubject) =>
    (await insights.series({ ...query, subject: counterSubject })).map(({ start, counts }) => [start, counts.started] as const);
  if (typeof subject === 'object') {
    // Runs of the workflow may be counted among those of the other workflows.
    const otherWorkflows = await readStartedCounts({ workflow: OTHER_WORKFLOWS });
    if (otherWorkflows.some(([, started]) => started > 0)) return null;
  }
  const counts = countByInterval(range, await readStartedCounts(subject));
  const firstIndex = counts.findIndex((count) => count > 0);
  const firstAt = firstIndex < 0 ? range.to : range.from + firstIndex * range.intervalMs;
  // Counters of old minutes are removed, and runs from before an upgrade are not counted.
  const hasEntriesBefore = async (): Promise<boolean> => {
    if (time.fromDate === undefined) return oldestAt !== undefined && oldestAt < firstAt;
    // A short range is fast to search, and most lists have entries in their first interval.
    const toDate = Math.min(time.toDate ?? firstAt, firstAt - 1);
    return toDate >= time.fromDate && (await readOldest({ fromDate: time.fromDate, toDate })).items.length > 0;
  };
  const hasOlder = await hasEntriesBefore();
  if (hasOlder && firstIndex < 0) return null;
  return { ...range, counts, source: 'counters', coveredFrom: hasOlder ? firstAt : null };
}

type ReadPage<Entry> = (after: Position | null) => Promise<ExaminedPage<Entry>>;
interface Entry {
  /** Creation time in Unix milliseconds. */
  readonly createdAt: number;
}

interface FieldOfList<Listed> {
  /** Reads a page of the list, newest first. */
  readonly read: ReadPage<Listed>;
  /** Returns the values of the field. The list is empty if the entry has no value. */
  readonly valuesOf: (entry: Listed) => readonly string[];
}

/** Result of examining the newest entries, up to the limits of one request. */
interface ExaminedEntries {
  /** Number of entries that were examined. */
  readonly examined: number;
  /** Whether all entries were examined. */
  readonly complete: boolean;
  /** Creation time of the last examined entry in Unix ms. Undefined if there are no entries. */
  readonly until: number | undefined;
  /** Creation times of the examined entries that belong to the list, in Unix ms. */
  readonly times: readonly number[];
}

/** Examines the newest entries, and calls `visit` for each. */
async function examine<Listed extends Entry>(
  { slices }: Pick<SummarySources, 'slices'>,
  instanceId: string,
  read: ReadPage<Listed>,
  visit: (entry: Listed) => void,
): Promise<ExaminedEntries> {
  const times: number[] = [];
  const scanResult = await scanList(slices, instanceId, read, (entry) => {
    times.push(entry.createdAt);
    visit(entry);
  });
  return { ...scanResult, times };
}

/** Returns the histogram of the entries that were examined. */
function histogramOfEntries({ times, complete, until }: ExaminedEntries, time: ListTime): Histogram {
  const oldestAt = times.reduce<number | undefined>((oldest, at) => Math.min(oldest ?? at, at), undefined);
  const range = rangeOf(time, complete ? oldestAt : until);
  const counts = countByInterval(
    range,
    times.map((at) => [at, 1] as const),
  );
  return { ...range, counts, source: 'entries', coveredFrom: complete ? null : (until ?? null) };
}

/** Number of examined entries with each value of a field. */
class ValueCounts {
  private readonly counts = new Map<string, number>();

  add(values: readonly string[]): void {
    for (const value of new Set(values)) this.counts.set(value, (this.counts.get(value) ?? 0) + 1);
  }

  /** Returns the most frequent values of the entries that were examined. */
  top({ examined, complete }: ExaminedEntries): TopValues {
    const values = [...this.counts]
      .map(([value, count]) => ({ value, count }))
      .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
      .slice(0, MAX_VALUES);
    return { values, examined, complete };
  }
}

/** A list and its sources. `Listed` is the type of the entries that are read for the values of a field. */
export interface SummarizedList<Listed extends Entry> {
  readonly instanceId: string;
  /** Subject of the counters that count the entries of the list. Null if no counters match the filter. */
  readonly subject: InsightSubject | null;
  /** Reads the oldest entry in a range of time (Unix ms, inclusive). */
  readonly readOldest: (time: Partial<Pick<ListTime, 'fromDate' | 'toDate'>>) => Promise<{ readonly items: readonly Entry[] }>;
  /** Reads a page of the list, newest first. */
  readonly read: ReadPage<Entry>;
  /** Field whose values are counted, or null. */
  readonly field: FieldOfList<Listed> | null;
}

/** Returns the summary of a list without entries. */
export function emptySummary(time: ListTime, hasField: boolean): ListSummary {
  const range = rangeOf(time, undefined);
  const topValues = hasField ? { values: [], examined: 0, complete: true } : null;
  return { ...range, counts: countByInterval(range, []), source: 'entries', coveredFrom: null, topValues };
}

/** Returns the summary of a list. Examines its entries at most once. */
export async function summaryOf<Listed extends Entry>(
  sources: SummarySources,
  { instanceId, subject, readOldest, read, field }: SummarizedList<Listed>,
  time: ListTime,
): Promise<ListSummary> {
  const { fromDate = 0, toDate = fromDate } = time;
  if (fromDate > toDate) return emptySummary(time, field !== null);
  const counterHistogram =
    subject === null ? null : await histogramOfCounters(sources, { instanceId, subject, readOldest }, time);
  if (field === null) {
    if (counterHistogram !== null) return { ...counterHistogram, topValues: null };
    return { ...histogramOfEntries(await examine(sources, instanceId, read, () => {}), time), topValues: null };
  }
  const valueCounts = new ValueCounts();
  const entries = await examine(sources, instanceId, field.read, (entry) => valueCounts.add(field.valuesOf(entry)));
  return { ...(counterHistogram ?? histogramOfEntries(entries, time)), topValues: valueCounts.top(entries) };
}
