/** A small bar chart over time. Its label contains the values. */

export interface SparklineProps {
  readonly values: readonly number[];
  /** What is counted and over which time, such as `failures in each of the last 24 hours`. */
  readonly label: string;
  readonly tone?: 'bad' | 'info';
}

const HEIGHT = 28;
const STEP = 6;

export function Sparkline({ values, label, tone = 'bad' }: SparklineProps) {
  const max = Math.max(1, ...values);
  const width = Math.max(1, values.length) * STEP;
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${values.join(', ')}`}
    >
      {values.map((value, index) => {
        const height = value === 0 ? 1 : Math.max(2, (value / max) * HEIGHT);
        const fill = value === 0 ? 'var(--line)' : tone === 'bad' ? 'var(--bar-bad)' : 'var(--bar-info)';
        // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its position
        return <rect key={index} x={index * STEP} y={HEIGHT - height} width={STEP - 1.5} height={height} style={{ fill }} />;
      })}
    </svg>
  );
}
