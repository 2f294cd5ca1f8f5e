/** The entries of a list over time, above the list, and the most frequent values of its fields. Both use the filters of the list. */
import { useId, useState } from 'react';
import type { ListSummary } from '../../../../everstep/src/contract/insights/list-summaries.js';
import type { Query } from '../../api/client.js';
import { useApi } from '../../api/queries.js';
import { storedText, storeText } from '../../browser-storage.js';
import { TimeHistogram } from '../charts/time-histogram.js';
import { Icon } from '../icons.js';
import { countText, oneOf, quantity } from '../times/formats.js';
import { TimeText } from '../times/time-text.js';
import type { FilterState } from './filters.js';

/** A field whose values can be counted. Its filter has the same values. */
export interface CountedField<Name extends string> {
  readonly field: string;
  readonly label: string;
  /** URL parameter of the filter. */
  readonly parameter: Name;
  /** Whether the filter is a list, in which a value with a comma is written as JSON. */
  readonly isList?: boolean;
  /** Texts of the values; absent: the values. */
  readonly textOf?: Readonly<Record<string, string>>;
}

export interface ListHistogramProps<Name extends string> {
  readonly url: '/v2/insights/runs' | '/v2/insights/dead-letters' | '/v2/insights/messages';
  /** Plural name of the rows, such as `runs`. */
  readonly what: string;
  /** What the entries are counted by, such as `Runs by creation`. */
  readonly label: string;
  /** Filters of the list, as the API has them. */
  readonly query: Query;
  readonly filters: FilterState<Name>;
  /** URL parameters of the range, and others that set it. */
  readonly range: { readonly from: Name; readonly to: Name; readonly others?: readonly Name[] };
  readonly fields: readonly CountedField<Name>[];
}

/**
 * The number of entries changes all the time, and counting them reads many, so a histogram is polled rather than refreshed by live
 * hints. Hidden pages do not poll.
 */
const REFRESH_MS = 30_000;
const MAX_VALUE_LENGTH = 60;
/** Whether histograms are hidden in this browser. */
const HIDDEN_KEY = 'everstep.histograms-hidden';

const parameterOf = (value: string, isList: boolean): string => (isList && value.includes(',') ? JSON.stringify([value]) : value);
const shortened = (text: string): string => (text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text);

/** Says which entries are not counted, or are counted although they are not in the list. */
function Coverage({ summary: { source, coveredFrom }, what }: { readonly summary: ListSummary; readonly what: string }) {
  return (
    <>
      {source === 'counters' ? `Includes removed ${what}. ` : null}
      {coveredFrom === null ? null : (
        <>
          Older {what} than <TimeText unixMs={coveredFrom} style="exact" /> are not counted.
        </>
      )}
    </>
  );
}

function TopValues<Name extends string>({ url, what, query, filters, fields }: ListHistogramProps<Name>) {
  const id = useId();
  const [name, setName] = useState(fields[0]?.field ?? '');
  const field = fields.find((each) => each.field === name);
  const { data, error } = useApi<ListSummary>({
    topic: 'settings',
    name: 'top-values',
    url,
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
        {fields.map((each) => (
          <option key={each.field} value={each.field}>
            {each.label}
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
                title={`${text}: ${quantity(count, oneOf(what))}`}
                onClick={() => filters.set(field.parameter, parameterOf(value, field.isList === true))}
              >
                <span className="clip">{shortened(text)}</span> <span className="muted">{countText(count)}</span>
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
              : `Among the newest ${countText(top.examined)} ${what}`}
      </span>
    </section>
  );
}

export function ListHistogram<Name extends string>(props: ListHistogramProps<Name>) {
  const { url, what, label, query, filters, range } = props;
  const [open, setOpen] = useState(false);
  const [hidden, setHidden] = useState(() => storedText(HIDDEN_KEY) === 'yes');
  const { data, error } = useApi<ListSummary>({
    topic: 'settings',
    name: 'histogram',
    url,
    query,
    enabled: !hidden,
    refreshMs: REFRESH_MS,
    staleMs: REFRESH_MS,
    keepPrevious: true,
  });
  const { from, to, others = [] } = range;
  const setRange = (fromText: string, toText: string) =>
    filters.setAll([...others.map((name) => [name, ''] as const), [from, fromText], [to, toText]]);
  const isLimited = [from, to, ...others].some((name) => filters.values[name] !== undefined);
  const sum = data?.counts.reduce((total, count) => total + count, 0) ?? 0;
  return (
    <>
      <section className="list-histogram" aria-label={label} data-hidden={hidden ? '' : undefined}>
        <div className="histogram-head">
          <button
            type="button"
            className="copy-button"
            aria-label="Histogram"
            title={hidden ? 'Show the histogram' : 'Hide the histogram'}
            aria-expanded={!hidden}
            onClick={() => {
              storeText(HIDDEN_KEY, hidden ? '' : 'yes');
              setHidden(!hidden);
            }}
          >
            <Icon name={hidden ? 'right' : 'down'} />
          </button>
          <span role="status">
            {hidden ? 'Histogram' : data === undefined ? (error?.text ?? '') : `${quantity(sum, oneOf(what))}. `}
            {hidden || data === undefined ? null : <Coverage summary={data} what={what} />}
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
              aria-expanded={open}
              onClick={() => setOpen(!open)}
            >
              Top values
            </button>
          </span>
        </div>
        {hidden || data === undefined ? null : (
          <TimeHistogram
            label={label}
            one={oneOf(what)}
            from={data.from}
            intervalMs={data.intervalMs}
            counts={data.counts}
            coveredFrom={data.coveredFrom}
            onZoom={(start, end) => setRange(String(start), String(end - 1))}
          />
        )}
      </section>
      {open ? <TopValues {...props} /> : null}
    </>
  );
}
