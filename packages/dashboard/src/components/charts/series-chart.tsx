/** Chart of values over time in intervals of equal length, with a table of the same numbers for screen readers. */
import { exactTime } from '../times/formats.js';
import './series-chart.css';

export interface ChartSeries {
  readonly name: string;
  /** One value per interval; null if there is none. */
  readonly values: readonly (number | null)[];
  /** `bars`, or a line. Lines differ in their dashes, not only in their color. */
  readonly style: 'bars' | 'line' | 'dashed';
  readonly tone: 'info' | 'bad' | 'quiet';
}

export interface SeriesChartProps {
  /** What the chart shows, such as `Runs started`. */
  readonly label: string;
  /** Start of each interval, Unix ms. */
  readonly times: readonly number[];
  /** End of the last interval, Unix ms. */
  readonly to: number;
  readonly series: readonly ChartSeries[];
  readonly textOf: (value: number) => string;
  /** Returns a round number that is at least the highest value. */
  readonly roundUp: (max: number) => number;
}

const WIDTH = 720;
const HEIGHT = 120;
/** Minimum height of a bar or a line above the axis, so that values above 0 stay visible. */
const MIN_HEIGHT = 2;

/** Returns the month, the day, the hour and the minute. */
const timeText = (unixMs: number): string => exactTime(unixMs, 'local').slice(5, 16);

/** Returns the path of a stepped line: one level per interval, with gaps where there is no value. */
function linePath(values: readonly (number | null)[], yOf: (value: number) => number, intervalWidth: number): string {
  const parts = values.map((value, index) => {
    if (value === null) return '';
    const previous = values[index - 1] ?? null;
    return `${previous === null ? `M${index * intervalWidth} ${yOf(value)}` : `V${yOf(value)}`}H${(index + 1) * intervalWidth}`;
  });
  return parts.join('');
}

export function SeriesChart({ label, times, to, series, textOf, roundUp }: SeriesChartProps) {
  const max = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const top = roundUp(max);
  const intervalWidth = WIDTH / Math.max(1, times.length);
  const yOf = (value: number): number => HEIGHT - (value === 0 ? 0 : Math.max(MIN_HEIGHT, (value / top) * HEIGHT));
  const valueText = (values: ChartSeries['values'], index: number): string => {
    const value = values[index] ?? null;
    return value === null ? 'none' : textOf(value);
  };
  const range = `from ${timeText(times[0] ?? to)} to ${timeText(to)}`;
  return (
    <figure className="series-chart">
      <div className="series-labels" aria-hidden="true">
        <span>{textOf(top)}</span>
        {series.length < 2 ? null : (
          <span className="series-legend">
            {series.map(({ name, style, tone }) => (
              <span key={name}>
                <svg viewBox="0 0 20 8" width="20" height="8" aria-hidden="true">
                  <path d="M0 4H20" className="series-path" data-style={style} data-tone={tone} />
                </svg>
                {name}
              </span>
            ))}
          </span>
        )}
      </div>
      <svg
        className="series-plot"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label} ${range}, maximum ${textOf(max)}. A table of the values follows.`}
      >
        <line x1={0} x2={WIDTH} y1={0.5} y2={0.5} className="series-grid" />
        <line x1={0} x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} className="series-grid" />
        <line x1={0} x2={WIDTH} y1={HEIGHT} y2={HEIGHT} className="series-axis" />
        {series.map(({ name, values, style, tone }) =>
          style === 'bars' ? (
            values.map((value, index) =>
              value === null || value === 0 ? null : (
                <rect
                  key={times[index]}
                  className="series-bar"
                  data-tone={tone}
                  x={index * intervalWidth + intervalWidth * 0.1}
                  y={yOf(value)}
                  width={intervalWidth * 0.8}
                  height={HEIGHT - yOf(value)}
                />
              ),
            )
          ) : (
            <path
              key={name}
              d={linePath(values, yOf, intervalWidth)}
              className="series-path"
              data-style={style}
              data-tone={tone}
            />
          ),
        )}
        {times.map((at, index) => (
          <rect key={at} className="series-hover" x={index * intervalWidth} y={0} width={intervalWidth} height={HEIGHT}>
            <title>{`${timeText(at)}: ${series.map(({ name, values }) => `${name} ${valueText(values, index)}`).join(', ')}`}</title>
          </rect>
        ))}
      </svg>
      <div className="series-labels" aria-hidden="true">
        <span>{timeText(times[0] ?? to)}</span>
        <span>{timeText(to)}</span>
      </div>
      <div className="visually-hidden">
        <table>
          <caption>
            {label} {range}
          </caption>
          <thead>
            <tr>
              <th scope="col">Interval start</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.map((at, index) => (
              <tr key={at}>
                <th scope="row">{timeText(at)}</th>
                {series.map(({ name, values }) => (
                  <td key={name}>{valueText(values, index)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}
