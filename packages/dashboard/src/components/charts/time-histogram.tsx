// biome-ignore-all lint/a11y/useSemanticElements: an input has one value, while this selects a range
/**
 * Number of entries over time, in which a range can be selected: by dragging, or with the keyboard. Arrow keys move, with Shift
 * they select several intervals, Enter zooms, Escape clears the selection.
 */
import { type KeyboardEvent, type PointerEvent, useState } from 'react';
import { countText, exactTime, quantity } from '../times/formats.js';
import { roundUp } from './axis.js';
import { intervalAt, moveSelection, type RangeSelection, spanOf } from './range-selection.js';
import './series-chart.css';

export interface TimeHistogramProps {
  /** What is counted, and by which time, such as `Runs by creation time`. */
  readonly label: string;
  /** Singular of what is counted, such as `run`. */
  readonly entryName: string;
  /** Start of the first interval, Unix ms. */
  readonly from: number;
  readonly intervalMs: number;
  readonly counts: readonly number[];
  /** Time from which entries are counted, Unix ms; null if all entries are counted. */
  readonly coveredFrom: number | null;
  /** Called with the selected time, Unix ms; `to` is exclusive. */
  readonly onZoom: (from: number, to: number) => void;
}

const WIDTH = 720;
const HEIGHT = 30;
const MIN_HEIGHT = 2;

/** Seconds are shown only where intervals are shorter than a minute. */
const timeText = (unixMs: number, intervalMs: number): string =>
  exactTime(unixMs, 'local').slice(5, intervalMs < 60_000 ? undefined : 16);

export function TimeHistogram({ label, entryName, from, intervalMs, counts, coveredFrom, onZoom }: TimeHistogramProps) {
  const [selection, setSelection] = useState<RangeSelection | null>(null);
  const [isDragging, setIsDragging] = useState(false);
  const count = counts.length;
  const to = from + count * intervalMs;
  const barWidth = WIDTH / Math.max(1, count);
  const top = roundUp(Math.max(0, ...counts));
  const uncoveredCount = coveredFrom === null ? 0 : Math.min(count, Math.max(0, Math.ceil((coveredFrom - from) / intervalMs)));
  const startText = (index: number): string => timeText(from + index * intervalMs, intervalMs);
  const bars = counts.map((value, index) => ({ start: from + index * intervalMs, value, index }));
  const zoom = (range: RangeSelection) => {
    const { first, last } = spanOf(range);
    setSelection(null);
    onZoom(from + first * intervalMs, from + (last + 1) * intervalMs);
  };
  const indexOf = ({ currentTarget, clientX }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return intervalAt((clientX - left) / Math.max(1, width), count);
  };
  const clearSelection = () => {
    setIsDragging(false);
    setSelection(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return clearSelection();
    if (event.key === 'Enter' && selection !== null) return zoom(selection);
    const next = moveSelection(selection, { key: event.key, keepsAnchor: event.shiftKey, count });
    if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setSelection(next);
  };
  const span = selection === null ? null : spanOf(selection);
  const cursor = Math.min(count - 1, selection?.cursor ?? count - 1);
  const sum = span === null ? 0 : counts.slice(span.first, span.last + 1).reduce((total, value) => total + value, 0);
  const spanText = span === null ? null : `${startText(span.first)} to ${startText(span.last + 1)}: ${quantity(sum, entryName)}`;
  return (
    <div className="series-chart histogram">
      <div
        className="histogram-plot"
        role="slider"
        tabIndex={0}
        aria-label={`${label}. Arrow keys move, Shift and arrow keys select a range, Enter zooms in.`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, count - 1)}
        aria-valuenow={cursor}
        aria-valuetext={spanText ?? `${startText(cursor)}: ${quantity(counts[cursor] ?? 0, entryName)}`}
        onKeyDown={onKeyDown}
        onBlur={clearSelection}
        onPointerDown={(event) => {
          if (event.button !== 0 || !event.isPrimary) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const index = indexOf(event);
          setIsDragging(true);
          setSelection({ anchor: index, cursor: index });
        }}
        onPointerMove={(event) => {
          if (isDragging && selection !== null) setSelection({ ...selection, cursor: indexOf(event) });
        }}
        onPointerUp={() => {
          setIsDragging(false);
          if (isDragging && selection !== null) zoom(selection);
        }}
        // The browser scrolls the page instead.
        onPointerCancel={clearSelection}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <rect className="histogram-uncovered" x={0} y={0} width={uncoveredCount * barWidth} height={HEIGHT} />
          {span === null ? null : (
            <rect
              className="histogram-selected"
              x={span.first * barWidth}
              y={0}
              width={(span.last - span.first + 1) * barWidth}
              height={HEIGHT}
            />
          )}
          <line x1={0} x2={WIDTH} y1={HEIGHT} y2={HEIGHT} className="series-axis" />
          {bars.map(({ start, value, index }) => {
            const height = value === 0 ? 0 : Math.max(MIN_HEIGHT, (value / top) * HEIGHT);
            return (
              <g key={start}>
                {height === 0 ? null : (
                  <rect
                    className="series-bar"
                    data-tone="info"
                    x={index * barWidth + barWidth * 0.1}
                    y={HEIGHT - height}
                    width={barWidth * 0.8}
                    height={height}
                  />
                )}
                <rect className="series-hover" x={index * barWidth} y={0} width={barWidth} height={HEIGHT}>
                  <title>{`${startText(index)}: ${index < uncoveredCount && value === 0 ? 'not counted' : countText(value)}`}</title>
                </rect>
              </g>
            );
          })}
        </svg>
      </div>
      <div className="series-labels" aria-hidden="true">
        <span>{startText(0)}</span>
        {spanText === null ? null : <span className="clip">{spanText}</span>}
        <span>{timeText(to, intervalMs)}</span>
      </div>
    </div>
  );
}
