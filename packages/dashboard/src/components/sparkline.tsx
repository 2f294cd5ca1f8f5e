/** Bars over time in a line of text; what they say is in the label too. */

export interface SparklineProps {
  readonly values: readonly number[];
  /** What is counted, over which time: `failures in each of the last 24 hours`. */
  readonly label: string;
  readonly tone?: 'bad' | 'info';
}

const HEIGHT = 28;
const STEP = 6;

export function Sparkline({ values, label, tone = 'bad' }: SparklineProps) {
  const most = Math.max(1, ...values);
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
        const height = value === 0 ? 1 : Math.max(2, (value / most) * HEIGHT);
        const fill = value === 0 ? 'var(--line)' : tone === 'bad' ? 'var(--bar-bad)' : 'var(--bar-info)';
        // biome-ignore lint/suspicious/noArrayIndexKey: a bar is what stands at its place
        return <rect key={index} x={index * STEP} y={HEIGHT - height} width={STEP - 1.5} height={height} style={{ fill }} />;
      })}
    </svg>
  );
}
