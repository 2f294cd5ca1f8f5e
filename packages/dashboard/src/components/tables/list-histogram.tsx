/** Shows the entries of a list over time, and the most frequent values of its fields. Both use the filters of the list. */
import { useId, useState } from 'react';
import type { ListSummary } from '../../../../everstep/src/contract/insights/list-summaries.js';
import { path, type Query } from '../../api/client.js';
import { useApi } from '../../api/queries.js';
import { storedText, storeText } from '../../browser-storage.js';
import { TimeHistogram } from '../charts/time-histogram.js';
import { Icon } from '../icons.js';
import { countText, quantity, singularOf } from '../times/formats.js';
import { TimeText } from '../times/time-text.js';
import { UrlText } from '../url-text.js';
import type { FilterState } from './filters.js';

/** A field whose values can be counted. Its filter has the same values. */
export interface CountedField<Name extends string> {
  readonly field: string;
  readonly label: string;
  /** URL parameter of the filter. */
  readonly parameter: Name;
  /** Whether the filter is a list, in which a value with a comma is written as JSON. */
  readonly isList?: boolean;
  /** Labels of the values. Default: the values. */
  readonly textOf?: Readonly<Record<string, string>>;
}

/** Lists with a histogram: the plural name of their entries, and the label of the histogram. */
const LISTS = {
  runs: { rowsName: 'runs', label: 'Runs by creation time' },
  'dead-letters': { rowsName: 'dead letters', label: 'Dead letters by failure time' },
  messages: { rowsName: 'messages', label: 'Messages by publication time' },
} as const;

export interface ListHistogramProps<Name extends string> {
  readonly listName: keyof typeof LISTS;
  /** The list below. Without entries and filters, there is nothing to count. */
  readonly list: { readonly rows: readonly unknown[]; readonly isPending: boolean };
  /** Filters of the list, as the API has them. */
  readonly query: Query;
  readonly filters: FilterState<Name>;
  /** URL parameters of the range, and alternative parameters for its start. */
  readonly range: { readonly from: Name; readonly to: Name; readonly alternatives?: readonly Name[] };
  readonly fields: readonly CountedField<Name>[];
}

/**
 * Polling interval. Counting reads many entries, whose number changes constantly, so a histogram is not refreshed by live hints.
 * Hidden pages do not poll.
 */
const REFRESH_MS = 30_000;
const MAX_VALUE_LENGTH = 60;
/** Whether histograms are hidden in this browser. */
const HIDDEN_KEY = 'everstep.histograms-hidden';

const parameterOf = (value: string, isList: boolean): string => (isList && value.includes(',') ? JSON.stringify([value]) : value);
const shorten = (text: string): string => (text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text);

/** Explains which entries are not counted, or are counted although they are not in the list. */
function Coverage({ summary: { source, coveredFrom }, rowsName }: { readonly summary: ListSummary; readonly rowsName: string }) {
  return (
    <>
      {source === 'counters' ? `Includes removed ${rowsName}. ` : null}
      {coveredFrom === null ? null : (
        <>
          Excludes {rowsName} older than <TimeText unixMs={coveredFrom} style="exact" />.
        </>
      )}
    </>
  );
}

function TopValues<Name extends string>({ listName, query, filters, fields }: ListHistogramProps<Name>) {
  const { rowsName } = LISTS[listName];
  const id = useId();
  const [name, setName] = useState(fields[0]?.field ?? '');
  const field = fields.find((candidate) => candidate.field === name);
  const { data, error } = useApi<ListSummary>({
    topic: 'settings',
    name: 'top-values',
    url: path`/v2/insights/${listName}`,
    query: { ...query, field: name },
    enabled: field !== undefined,
    staleMs: REFRESH_MS,
  });
  const top = data?.topValues ?? null;
  return (
    <section className="top-values" aria-label="Top values">
      <label className="visually-hidden" htmlFor={id}>
        Field
      </label>
      <select id={id} className="input" value={name} onChange={(event) => setName(event.target.value)}>
        {fields.map((option) => (
          <option key={option.field} value={option.field}>
            {option.label}
          </option>
        ))}
      </select>
      {field === undefined || top === null
        ? null
        : top.values.map(({ value, count }) => {
            const text = field.textOf?.[value] ?? value;
            return (
              <button
                key={value}
                type="button"
                className="button button-small"
                title={`${text}: ${quantity(count, singularOf(rowsName))}`}
                onClick={() => filters.set(field.parameter, parameterOf(value, field.isList === true))}
              >
                {text.includes('://') ? <UrlText url={text} /> : <span className="clip">{shorten(text)}</span>}{' '}
                <span className="muted">{countText(count)}</span>
              </button>
            );
          })}
      <span className="muted" role="status">
        {error !== null
          ? error.text
          : top === null
            ? 'Counting…'
            : top.complete
              ? top.values.length === 0
                ? 'No values'
                : ''
              : `Counted in the newest ${quantity(top.examined, singularOf(rowsName))}`}
      </span>
    </section>
  );
}

/** Shows nothing above an empty list without filters. */
export function ListHistogram<Name extends string>(props: ListHistogramProps<Name>) {
  const { list, filters } = props;
  return list.rows.length > 0 || list.isPending || filters.isFiltered ? <ShownHistogram {...props} /> : null;
}

function ShownHistogram<Name extends string>(props: ListHistogramProps<Name>) {
  const { listName, query, filters, range } = props;
  const { rowsName, label } = LISTS[listName];
  const [showsTopValues, setShowsTopValues] = useState(false);
  const [isHidden, setIsHidden] = useState(() => storedText(HIDDEN_KEY) === 'yes');
  const { data, error } = useApi<ListSummary>({
    topic: 'settings',
    name: 'histogram',
    url: path`/v2/insights/${listName}`,
    query,
    enabled: !isHidden,
    refreshMs: REFRESH_MS,
    staleMs: REFRESH_MS,
    keepPrevious: true,
  });
  const { from, to, alternatives = [] } = range;
  const setRange = (fromText: string, toText: string) =>
    filters.setAll([...alternatives.map((name) => [name, ''] as const), [from, fromText], [to, toText]]);
  const isLimited = [from, to, ...alternatives].some((name) => filters.values[name] !== undefined);
  const sum = data?.counts.reduce((total, count) => total + count, 0) ?? 0;
  return (
    <>
      <section className="list-histogram" aria-label={label} data-hidden={isHidden ? '' : undefined}>
        <div className="histogram-head">
          <button
            type="button"
            className="copy-button"
            aria-label="Histogram"
            title={isHidden ? 'Show the histogram' : 'Hide the histogram'}
            aria-expanded={!isHidden}
            onClick={() => {
              storeText(HIDDEN_KEY, isHidden ? '' : 'yes');
              setIsHidden(!isHidden);
            }}
          >
            <Icon name={isHidden ? 'right' : 'down'} />
          </button>
          <span role="status">
            {isHidden ? 'Histogram' : data === undefined ? (error?.text ?? '') : `${quantity(sum, singularOf(rowsName))}. `}
            {isHidden || data === undefined ? null : <Coverage summary={data} rowsName={rowsName} />}
          </span>
          <span className="line">
            {isLimited ? (
              <button type="button" className="button button-quiet button-small" onClick={() => setRange('', '')}>
                Show all times
              </button>
            ) : null}
            <button
              type="button"
              className="button button-quiet button-small"
              aria-expanded={showsTopValues}
              onClick={() => setShowsTopValues(!showsTopValues)}
            >
              Top values
            </button>
          </span>
        </div>
        {isHidden || data === undefined ? null : (
          <TimeHistogram
            label={label}
            entryName={singularOf(rowsName)}
            from={data.from}
            intervalMs={data.intervalMs}
            counts={data.counts}
            coveredFrom={data.coveredFrom}
            onZoom={(start, end) => setRange(String(start), String(end - 1))}
          />
        )}
      </section>
      {showsTopValues ? <TopValues {...props} /> : null}
    </>
  );
}
