// biome-ignore-all lint/a11y/useSemanticElements: an input has one value, while this selects a range
/**
 * Number of entries over time, in which a range can be selected: by dragging, or with the keyboard. Arrow keys move, with Shift
 * they select several intervals, Enter zooms, Escape clears the selection.
 */
import { type KeyboardEvent, type PointerEvent, useState } from 'react';
import { countText, exactTime, quantity } from '../times/formats.js';
import { roundUp } from './axis.js';
import { intervalAt, moved, type RangeSelection, spanOf } from './range-selection.js';
import './series-chart.css';

export interface TimeHistogramProps {
  /** What is counted, such as `Runs`. */
  readonly label: string;
  /** Singular of what is counted, such as `run`. */
  readonly one: string;
  /** Start of the first interval, Unix ms. */
  readonly from: number;
  readonly intervalMs: number;
  readonly counts: readonly number[];
  /** Time from which on entries are counted, Unix ms; null: all are. */
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

export function TimeHistogram({ label, one, from, intervalMs, counts, coveredFrom, onZoom }: TimeHistogramProps) {
  const [selection, setSelection] = useState<RangeSelection | null>(null);
  const [dragging, setDragging] = useState(false);
  const count = counts.length;
  const to = from + count * intervalMs;
  const step = WIDTH / Math.max(1, count);
  const top = roundUp(Math.max(0, ...counts));
  const uncovered = coveredFrom === null ? 0 : Math.min(count, Math.max(0, Math.ceil((coveredFrom - from) / intervalMs)));
  const at = (index: number): string => timeText(from + index * intervalMs, intervalMs);
  const bars = counts.map((value, index) => ({ start: from + index * intervalMs, value, index }));
  const zoom = (chosen: RangeSelection) => {
    const { first, last } = spanOf(chosen);
    setSelection(null);
    onZoom(from + first * intervalMs, from + (last + 1) * intervalMs);
  };
  const indexOf = ({ currentTarget, clientX }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return intervalAt((clientX - left) / Math.max(1, width), count);
  };
  const stop = () => {
    setDragging(false);
    setSelection(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return stop();
    if (event.key === 'Enter' && selection !== null) return zoom(selection);
    const next = moved(selection, { key: event.key, extend: event.shiftKey, count });
    if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setSelection(next);
  };
  const shown = selection === null ? null : spanOf(selection);
  const cursor = Math.min(count - 1, selection?.cursor ?? count - 1);
  const sum = shown === null ? 0 : counts.slice(shown.first, shown.last + 1).reduce((total, each) => total + each, 0);
  const shownText = shown === null ? null : `${at(shown.first)} to ${at(shown.last + 1)}: ${quantity(sum, one)}`;
  return (
    <div className="series-chart histogram">
      <div
        className="histogram-plot"
        role="slider"
        tabIndex={0}
        aria-label={`${label} over time. Arrow keys move, Shift and arrow keys select a range, Enter zooms in.`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, count - 1)}
        aria-valuenow={cursor}
        aria-valuetext={shownText ?? `${at(cursor)}: ${quantity(counts[cursor] ?? 0, one)}`}
        onKeyDown={onKeyDown}
        onBlur={stop}
        onPointerDown={(event) => {
          if (event.button !== 0 || !event.isPrimary) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const index = indexOf(event);
          setDragging(true);
          setSelection({ anchor: index, cursor: index });
        }}
        onPointerMove={(event) => {
          if (dragging && selection !== null) setSelection({ ...selection, cursor: indexOf(event) });
        }}
        onPointerUp={() => {
          setDragging(false);
          if (dragging && selection !== null) zoom(selection);
        }}
        // The browser scrolls the page instead.
        onPointerCancel={stop}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <rect className="histogram-uncovered" x={0} y={0} width={uncovered * step} height={HEIGHT} />
          {shown === null ? null : (
            <rect
              className="histogram-selected"
              x={shown.first * step}
              y={0}
              width={(shown.last - shown.first + 1) * step}
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
                    x={index * step + step * 0.1}
                    y={HEIGHT - height}
                    width={step * 0.8}
                    height={height}
                  />
                )}
                <rect className="series-hover" x={index * step} y={0} width={step} height={HEIGHT}>
                  <title>{`${at(index)}: ${index < uncovered && value === 0 ? 'not counted' : countText(value)}`}</title>
                </rect>
              </g>
            );
          })}
        </svg>
      </div>
      <div className="series-line" aria-hidden="true">
        <span>{at(0)}</span>
        {shownText === null ? null : <span className="clip">{shownText}</span>}
        <span>{timeText(to, intervalMs)}</span>
      </div>
    </div>
  );
}
