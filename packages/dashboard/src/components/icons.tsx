/** Icons of the dashboard, drawn as strokes on a 16-pixel grid in the text color. Every icon accompanies a text or a label. */
const PATHS = {
  overview: 'M2 14h12M4 11V8M8 11V3M12 11V6',
  runs: 'M2 4h7M2 8h12M2 12h5',
  dlq: 'M8 2v7M8 12.5v.5M2 14h12',
  repairs: 'M10 2a4 4 0 0 0-3.6 5.6L2 12l2 2 4.4-4.4A4 4 0 0 0 14 6l-2 2-2-2 2-2a4 4 0 0 0-2-2z',
  events: 'M8 2v4M8 10v4M2 8h4M10 8h4',
  flow: 'M2 4h12M4 8h8M6.5 12h3',
  schedules: 'M8 4.5V8l2.5 2M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z',
  queues: 'M2 3h12v3H2zM2 10h12v3H2z',
  instance: 'M3 3h10v10H3zM6 1v2M10 1v2M6 13v2M10 13v2M1 6h2M1 10h2M13 6h2M13 10h2',
  team: 'M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c.4-2.5 2.2-4 4.5-4s4.1 1.5 4.5 4M10.5 3.3a2.4 2.4 0 0 1 0 4.4M12 9.8c1.400.5 2.300 1.800 2.500 3.700',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.700 10.700 14 14',
  user: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.500 14c.500-3 2.700-4.500 5.500-4.500s5 1.500 5.500 4.500',
  audit: 'M4 2h8v12H4zM6 5h4M6 8h4M6 11h2',
  nodes: 'M3 3h4v4H3zM9 9h4v4H9zM7 5h4v4',
  workers: 'M6 2v4M10 2v4M4 6h8v2a4 4 0 0 1-8 0zM8 12v3',
  alerts: 'M4 11V7a4 4 0 0 1 8 0v4l1 1.500H3zM6.500 14h3',
  info: 'M8 7.500V11.500M8 4.700v.1M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z',
  check: 'M3 8.500 6.500 12 13 4.500',
  cross: 'M4 4l8 8M12 4l-8 8',
  warning: 'M8 2 14.500 13.500H1.500zM8 6.500v3.500M8 12v.2',
  dots: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
  play: 'M5 3.500v9l7-4.500z',
  pause: 'M5.500 3.500v9M10.500 3.500v9',
  stop: 'M4 4h8v8H4z',
  copy: 'M6 6h7v7H6zM10 6V3H3v7h3',
  down: 'M4 6l4 4 4-4',
  up: 'M4 10l4-4 4 4',
  right: 'M6 4l4 4-4 4',
  left: 'M10 4 6 8l4 4',
  menu: 'M2 4h12M2 8h12M2 12h12',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13 9.500A5.500 5.500 0 0 1 6.500 3 5.500 5.500 0 1 0 13 9.500z',
  screen: 'M2 3h12v8H2zM6 14h4',
  leave: 'M9 3H3v10h6M7 8h7M11.500 5.500 14 8l-2.500 2.500',
  more: 'M8 3.500h.01M8 8h.01M8 12.500h.01',
  fork: 'M5 2v5a3 3 0 0 0 3 3h0a3 3 0 0 1 3 3v1M5 7v7M3 4l2-2 2 2',
  refresh: 'M13 8A5 5 0 1 1 11.500 4.500L13 6M13 2.500V6H9.500',
  link: 'M6.500 9.500l3-3M7 4l1.500-1.500a3 3 0 0 1 4.500 4.500L11.500 8.500M9 12l-1.500 1.500A3 3 0 0 1 3 9l1.500-1.500',
  clock: 'M8 4.500V8l2.500 2M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z',
  equal: 'M3 6h10M3 10h10',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <path d={PATHS[name]} strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
