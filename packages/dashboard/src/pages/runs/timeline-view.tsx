/** Timeline of a run: a virtualized list with a row per step. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Icon, type IconName } from '../../components/icons.js';
import { useNow } from '../../components/times/clock.js';
import { countText, durationText, shortTime } from '../../components/times/formats.js';
import { useFixedRows, useStickyEnd } from './live-rows.js';
import { plainScale, type Span, shortenedScale, type TimeScale } from './time-scale.js';
import type { RowState, Segment, SegmentKind, TimelineRow } from './timeline.js';

export interface TimelineViewProps {
  readonly rows: readonly TimelineRow[];
  /** Start of the run, Unix ms. */
  readonly from: number;
  /** End of the run, Unix ms; null while it runs. */
  readonly to: number | null;
  readonly selectedKey: string | null;
  readonly onSelect: (row: TimelineRow) => void;
  /** Whether the height stays fixed while rows are added. */
  readonly fixed: boolean;
}

const ROW_HEIGHT = 34;

const ROW_STATES: Readonly<Record<RowState, { readonly icon: IconName; readonly text: string }>> = {
  done: { icon: 'check', text: 'done' },
  open: { icon: 'play', text: 'in progress' },
  retrying: { icon: 'warning', text: 'retrying' },
  failed: { icon: 'cross', text: 'failed' },
  canceled: { icon: 'stop', text: 'canceled' },
};

const SEGMENT_TEXTS: Readonly<Record<SegmentKind, string>> = {
  queued: 'Queued',
  failed: 'Failed attempt',
  backoff: 'Waiting for retry',
  work: 'Work',
  sleep: 'Sleep',
  wait: 'Wait',
  call: 'Call',
  invoke: 'Invoked run',
};
/** Kinds in the legend. Kinds that look the same have one entry. */
const LEGEND: readonly SegmentKind[] = ['work', 'failed', 'backoff', 'queued', 'sleep', 'invoke'];
const LEGEND_TEXTS: Partial<Record<SegmentKind, string>> = { work: 'Work or call', sleep: 'Sleep or wait' };

const BUSY: ReadonlySet<SegmentKind> = new Set(['work', 'failed', 'call', 'queued', 'invoke']);

function busySpans(rows: readonly TimelineRow[], now: number): Span[] {
  return rows.flatMap(({ segments }) =>
    segments.filter(({ kind }) => BUSY.has(kind)).map(({ from, to }) => ({ from, to: Math.max(from, to ?? now) })),
  );
}

export function TimelineView({ rows, from, to, selectedKey, onSelect, fixed }: TimelineViewProps) {
  const currentTime = useNow();
  const now = to === null ? Math.max(currentTime, from) : 0;
  const [shortensIdle, setShortensIdle] = useState(true);
  const end = to ?? now;
  const scale = useMemo(() => {
    const span = { from, to: Math.max(from + 1, end) };
    return shortensIdle ? shortenedScale(span, busySpans(rows, end)) : plainScale(span);
  }, [rows, from, end, shortensIdle]);
  const scroll = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
    getItemKey: (index) => rows[index]?.key ?? index,
  });
  const fixedRows = useFixedRows(fixed, rows.length);
  const onScroll = useStickyEnd(fixed, rows.length, scroll);
  const [currentKey, setCurrentKey] = useState<string | null>(selectedKey);
  const currentIndex = Math.max(
    0,
    rows.findIndex(({ key }) => key === currentKey),
  );
  const shouldMoveFocus = useRef(false);
  useLayoutEffect(() => {
    if (!shouldMoveFocus.current) return;
    const row = scroll.current?.querySelector<HTMLElement>(`[data-index="${currentIndex}"]`);
    if (!row) return;
    shouldMoveFocus.current = false;
    row.focus({ preventScroll: true });
  });
  const goTo = (index: number) => {
    const row = rows[Math.min(Math.max(index, 0), rows.length - 1)];
    if (row === undefined) return;
    shouldMoveFocus.current = true;
    setCurrentKey(row.key);
    virtualizer.scrollToIndex(rows.indexOf(row));
  };
  /** Whether the segment has started: the next attempt can be due in the future. */
  const hasStarted = (segment: Segment): boolean => segment.from < end || segment.kind === 'failed' || to !== null;
  const onKeyDown = (event: KeyboardEvent, index: number, row: TimelineRow) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: index + 1,
      j: index + 1,
      ArrowUp: index - 1,
      k: index - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: index + 15,
      PageUp: index - 15,
    };
    const nextIndex = moves[event.key];
    if (nextIndex !== undefined) goTo(nextIndex);
    else if (event.key === 'Enter' || event.key === ' ') onSelect(row);
    else return;
    event.preventDefault();
  };
  return (
    <div className="timeline">
      <div className="timeline-head">
        <span>Step</span>
        <span className="timeline-axis numeric">
          <span>{shortTime(from, Date.now())}</span>
          <span>{to === null ? 'now' : shortTime(end, Date.now())}</span>
        </span>
        <span className="table-title" data-align="right">
          Duration
        </span>
      </div>
      <div
        className="timeline-scroll"
        data-high={fixedRows.isExpanded ? '' : undefined}
        style={fixedRows.rowCount === null ? undefined : { height: fixedRows.rowCount * ROW_HEIGHT }}
        onScroll={onScroll}
        ref={scroll}
      >
        {rows.length === 0 ? <p className="card-body muted">No steps recorded yet</p> : null}
        <div
          className="timeline-body"
          role="listbox"
          aria-label={`Steps of the run (${countText(rows.length)})`}
          style={{ height: virtualizer.getTotalSize() }}
        >
          {virtualizer.getVirtualItems().map(({ index, start, key }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <div
                key={key}
                role="option"
                data-index={index}
                className="timeline-row"
                aria-selected={row.key === selectedKey}
                aria-posinset={index + 1}
                aria-setsize={rows.length}
                tabIndex={index === currentIndex ? 0 : -1}
                onClick={() => {
                  setCurrentKey(row.key);
                  onSelect(row);
                }}
                onKeyDown={(event) => onKeyDown(event, index, row)}
                style={{ transform: `translateY(${start}px)` }}
              >
                <RowName row={row} />
                <span className="visually-hidden">{descriptionOf(row)}</span>
                <div className="timeline-track" aria-hidden="true">
                  {row.segments.filter(hasStarted).map((segment) => (
                    <SegmentBar key={`${segment.kind} ${segment.from}`} segment={segment} scale={scale} end={end} />
                  ))}
                </div>
                <span className="numeric table-title nowrap" data-align="right">
                  {row.isKept ? (
                    <span className="muted" title={keptStepHint(row)}>
                      {row.isEdited ? '–' : 'kept'}
                    </span>
                  ) : (
                    durationText(Math.max(0, (row.to ?? end) - row.from))
                  )}
                </span>
              </div>
            );
          })}
        </div>
      </div>
      <div className="legend">
        <ul className="line">
          {LEGEND.map((kind) => (
            <li key={kind}>
              <span className="segment" data-kind={kind} aria-hidden="true" />
              {LEGEND_TEXTS[kind] ?? SEGMENT_TEXTS[kind]}
            </li>
          ))}
        </ul>
        <div className="line">
          {scale.isShortened || !shortensIdle || fixed ? (
            <label className="line" data-idle={scale.isShortened || !shortensIdle ? undefined : ''}>
              <input type="checkbox" checked={shortensIdle} onChange={(event) => setShortensIdle(event.target.checked)} />
              Shorten idle times
            </label>
          ) : null}
          {fixed ? (
            <button
              type="button"
              className="button button-quiet button-small"
              data-idle={fixedRows.canToggle ? undefined : ''}
              onClick={fixedRows.toggle}
            >
              {fixedRows.isExpanded ? 'Show fewer rows' : 'Show more rows'}
            </button>
          ) : null}
        </div>
      </div>
    </div>
  );
}

const keptStepHint = ({ isEdited }: TimelineRow): string =>
  isEdited ? 'Edited when the run was forked; did not run' : 'Copied from the original run; did not run again';

function RowName({ row }: { readonly row: TimelineRow }) {
  return (
    <div className="timeline-name" data-state={row.state}>
      {row.groupPosition === 'single' ? null : (
        <span className="timeline-group" data-group-position={row.groupPosition} aria-hidden="true" />
      )}
      <Icon name={ROW_STATES[row.state].icon} />
      <span className="clip" title={row.name}>
        {row.stepId === null ? null : <span className="muted numeric">{row.stepId} </span>}
        {row.name}
      </span>
      {row.failedAttempts > 0 ? <span className="chip">{row.failedAttempts} failed</span> : null}
      {row.isEdited ? <span className="chip">edited</span> : null}
    </div>
  );
}

function SegmentBar({ segment, scale, end }: { readonly segment: Segment; readonly scale: TimeScale; readonly end: number }) {
  const left = scale.positionOf(segment.from);
  const until = Math.min(segment.to ?? end, end);
  const width = Math.max(0, scale.positionOf(until) - left);
  const duration = durationText(Math.max(0, until - segment.from));
  return (
    <span
      className="segment"
      data-kind={segment.kind}
      data-open={segment.to === null ? '' : undefined}
      title={`${SEGMENT_TEXTS[segment.kind]}: ${duration}`}
      style={{ left: `min(${left * 100}%, calc(100% - 3px))`, width: `${width * 100}%` }}
    />
  );
}

/** Describes a row for screen readers. */
const descriptionOf = (row: TimelineRow): string =>
  [row.type, row.isKept ? keptStepHint(row) : ROW_STATES[row.state].text, ...(row.group === null ? [] : ['in parallel'])].join(
    ', ',
  );
