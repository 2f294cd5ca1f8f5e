/** Bar chart of messages per day, with a table of the same numbers for screen readers. */
import { roundUp } from '../../components/charts/axis.js';
import { countText, quantity } from '../../components/times/formats.js';

export interface Day {
  /** Date in UTC, such as 2026-11-21. */
  readonly day: string;
  readonly messages: number;
  readonly dollars: number;
}

const WIDTH = 720;
const HEIGHT = 160;

export const dollarText = (dollars: number): string =>
  dollars.toLocaleString('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: dollars < 1 ? 4 : 2 });

export function DayChart({ days }: { readonly days: readonly Day[] }) {
  const top = roundUp(Math.max(...days.map(({ messages }) => messages), 0));
  const dayWidth = WIDTH / Math.max(1, days.length);
  const sum = days.reduce((total, { messages }) => total + messages, 0);
  const firstDay = days[0]?.day ?? '';
  const lastDay = days.at(-1)?.day ?? '';
  return (
    <figure className="day-chart">
      <div className="day-labels" aria-hidden="true">
        <span>{quantity(top, 'message')}</span>
      </div>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${quantity(sum, 'message')} from ${firstDay} to ${lastDay}`}
      >
        <line x1={0} x2={WIDTH} y1={HEIGHT} y2={HEIGHT} className="day-axis" />
        <line x1={0} x2={WIDTH} y1={0.5} y2={0.5} className="day-grid" />
        {days.map(({ day, messages, dollars }, index) => {
          const height = messages === 0 ? 0 : Math.max(2, (messages / top) * HEIGHT);
          return (
            <rect
              key={day}
              className="day-bar"
              x={index * dayWidth + dayWidth * 0.12}
              y={HEIGHT - height}
              width={dayWidth * 0.76}
              height={height}
            >
              <title>{`${day}: ${quantity(messages, 'message')}, ${dollarText(dollars)}`}</title>
            </rect>
          );
        })}
      </svg>
      <div className="day-labels" aria-hidden="true">
        <span>{firstDay}</span>
        <span>{lastDay}</span>
      </div>
      <table className="visually-hidden">
        <caption>Messages per day (UTC)</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Messages</th>
            <th scope="col">Cost</th>
          </tr>
        </thead>
        <tbody>
          {days.map(({ day, messages, dollars }) => (
            <tr key={day}>
              <th scope="row">{day}</th>
              <td>{countText(messages)}</td>
              <td>{dollarText(dollars)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
