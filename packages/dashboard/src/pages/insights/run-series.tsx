/** Counters of runs: figures of the whole window, and charts over time. */
import type { ReactNode } from 'react';
import type { InstanceInsights } from '../../../../everstep/src/contract/insights/insights.js';
import { Card } from '../../components/card.js';
import { roundUp, roundUpDuration } from '../../components/charts/axis.js';
import { SeriesChart } from '../../components/charts/series-chart.js';
import { countText, durationText } from '../../components/times/formats.js';

/** Polling interval: counters change with every run. */
export const REFRESH_MS = 5_000;

type Series = Pick<InstanceInsights, 'points' | 'totals' | 'to'>;

const percent = (part: number, total: number): string => `${((part / total) * 100).toFixed(part === total ? 0 : 1)}%`;
const durationOrNone = (ms: number | null): string => (ms === null ? 'None' : durationText(ms));

export type Figure = readonly [name: string, value: ReactNode];

/** Returns the figures of the window. */
export function totalsOf({ started, succeeded, failed, canceled, p50Ms, p95Ms }: Series['totals']): readonly Figure[] {
  const ended = succeeded + failed + canceled;
  return [
    ['Started', countText(started)],
    ['Succeeded', countText(succeeded)],
    [failed === 0 ? 'Failed' : `Failed (${percent(failed, ended)})`, countText(failed)],
    ['Median duration', durationOrNone(p50Ms)],
    ['95th percentile', durationOrNone(p95Ms)],
  ];
}

/** A row of figures with a fixed height. */
export const Figures = ({ figures }: { readonly figures: readonly Figure[] }) => (
  <dl className="insight-figures">
    {figures.map(([name, value], index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: figures keep their order
      <div key={index}>
        <dt>{name}</dt>
        <dd className="clip">{value}</dd>
      </div>
    ))}
  </dl>
);

/** Runs, failures and durations over time. */
export function RunCharts({ points, to }: Series) {
  const axis = { times: points.map(({ at }) => at), to };
  return (
    <div className="insight-charts">
      <Card title="Runs started">
        <SeriesChart
          {...axis}
          label="Runs started"
          textOf={countText}
          roundUp={roundUp}
          series={[{ name: 'Started', style: 'bars', tone: 'info', values: points.map(({ started }) => started) }]}
        />
      </Card>
      <Card title="Failed runs">
        <SeriesChart
          {...axis}
          label="Failed runs"
          textOf={countText}
          roundUp={roundUp}
          series={[{ name: 'Failed', style: 'bars', tone: 'bad', values: points.map(({ failed }) => failed) }]}
        />
      </Card>
      <Card title="Duration">
        <SeriesChart
          {...axis}
          label="Duration of runs"
          textOf={durationText}
          roundUp={roundUpDuration}
          series={[
            { name: 'Median', style: 'line', tone: 'info', values: points.map(({ p50Ms }) => p50Ms) },
            { name: '95th percentile', style: 'dashed', tone: 'quiet', values: points.map(({ p95Ms }) => p95Ms) },
          ]}
        />
      </Card>
    </div>
  );
}
