import { useSyncExternalStore } from 'react';

/** Width class of the window: below 640 px, below 1000 px, or wider. */
export type WindowWidth = 'narrow' | 'medium' | 'wide';

const narrow = window.matchMedia('(max-width: 639px)');
const medium = window.matchMedia('(max-width: 999px)');

const subscribe = (listener: () => void) => {
  narrow.addEventListener('change', listener);
  medium.addEventListener('change', listener);
  return () => {
    narrow.removeEventListener('change', listener);
    medium.removeEventListener('change', listener);
  };
};

export const useWindowWidth = (): WindowWidth =>
  useSyncExternalStore(subscribe, () => (narrow.matches ? 'narrow' : medium.matches ? 'medium' : 'wide'));
