/** Theme of the dashboard: light, dark, or the system setting. public/theme.js applies it before the first paint. */
import { useSyncExternalStore } from 'react';
import { storedText, storeText } from '../browser-storage.js';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'everstep.theme';
const darkQuery = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

const storedTheme = storedText(KEY);
let theme: Theme = THEMES.find((candidate) => candidate === storedTheme) ?? 'system';

function applyTheme(): void {
  document.documentElement.dataset.theme = theme === 'dark' || (theme === 'system' && darkQuery.matches) ? 'dark' : 'light';
}
darkQuery.addEventListener('change', applyTheme);

export function setTheme(next: Theme): void {
  theme = next;
  storeText(KEY, next);
  applyTheme();
  for (const listener of listeners) listener();
}

export const useTheme = (): Theme =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => theme,
  );
