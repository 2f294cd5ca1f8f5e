/**
 * Saved views: named filters of a page. They stay in the browser, because they contain only what the URL contains, and a URL
 * can be shared; see docs/decisions/0040-saved-views-in-the-browser.md.
 */
import { useSyncExternalStore } from 'react';
import { storedText, storeText } from '../../browser-storage.js';

export interface SavedView {
  /** Page within the instance, such as `runs`. */
  readonly page: string;
  readonly name: string;
  /** Search parameters with the question mark. */
  readonly search: string;
}

const KEY = 'everstep.views';
const MAX_VIEWS = 50;
const MAX_NAME_LENGTH = 80;

const isView = (value: unknown): value is SavedView =>
  typeof value === 'object' &&
  value !== null &&
  'page' in value &&
  typeof value.page === 'string' &&
  'name' in value &&
  typeof value.name === 'string' &&
  'search' in value &&
  typeof value.search === 'string' &&
  value.search.startsWith('?');

/** Parses stored views. Returns no views if the text is invalid. */
export function viewsIn(text: string | null): readonly SavedView[] {
  try {
    const stored: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(stored) ? stored.filter(isView).slice(-MAX_VIEWS) : [];
  } catch {
    return [];
  }
}

/** Returns the views with this view added. It replaces a view with the same name on the same page. */
export const addView = (views: readonly SavedView[], view: SavedView): readonly SavedView[] =>
  [...removeView(views, view), { ...view, name: view.name.trim().slice(0, MAX_NAME_LENGTH) }].slice(-MAX_VIEWS);

/** Returns the views without the view with this name on this page. */
export const removeView = (views: readonly SavedView[], { page, name }: Pick<SavedView, 'page' | 'name'>): readonly SavedView[] =>
  views.filter((view) => view.page !== page || view.name !== name.trim());

let known: { readonly text: string; readonly views: readonly SavedView[] } = { text: '[]', views: [] };
/** Whether the views in memory could not be stored. */
let isUnsaved = false;
const listeners = new Set<() => void>();
const notify = (): void => {
  for (const listener of listeners) listener();
};

/** Returns the stored views, which another tab may have changed. The result stays the same object until they change. */
export function savedViews(): readonly SavedView[] {
  const text = isUnsaved ? known.text : (storedText(KEY) ?? known.text);
  if (text !== known.text) known = { text, views: viewsIn(text) };
  return known.views;
}

/** Changes the stored views. Without storage, they last until the page is closed. */
export function changeViews(edit: (stored: readonly SavedView[]) => readonly SavedView[]): void {
  const views = edit(savedViews());
  known = { text: JSON.stringify(views), views };
  storeText(KEY, known.text);
  isUnsaved = storedText(KEY) !== known.text;
  notify();
}

/** Browsers send this event to all tabs except the one that has stored something. */
const subscribe = (listener: () => void) => {
  if (listeners.size === 0) window.addEventListener('storage', notify);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) window.removeEventListener('storage', notify);
  };
};

export const useSavedViews = (): readonly SavedView[] => useSyncExternalStore(subscribe, savedViews);
