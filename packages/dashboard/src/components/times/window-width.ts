import { useSyncExternalStore } from 'react';

/** Width class of the window: below 640 px, below 1000 px, below 1280 px, or wider. */
export type WindowWidth = 'narrow' | 'medium' | 'wide' | 'full';

/** Width classes with a query for the maximum width of each, narrowest first. */
const QUERIES: readonly (readonly [WindowWidth, MediaQueryList])[] = [
  ['narrow', window.matchMedia('(max-width: 639px)')],
  ['medium', window.matchMedia('(max-width: 999px)')],
  ['wide', window.matchMedia('(max-width: 1279px)')],
];

const subscribe = (listener: () => void) => {
  for (const [, query] of QUERIES) query.addEventListener('change', listener);
  return () => {
    for (const [, query] of QUERIES) query.removeEventListener('change', listener);
  };
};

export const useWindowWidth = (): WindowWidth =>
  useSyncExternalStore(subscribe, () => QUERIES.find(([, query]) => query.matches)?.[0] ?? 'full');
