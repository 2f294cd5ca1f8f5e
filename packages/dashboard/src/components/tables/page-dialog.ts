/** The open dialog of a page. It is stored in the URL, so that links and the command palette can open it. */
import { useFilters } from './filters.js';

const ACTION = ['action'] as const;

export interface PageDialog {
  readonly isOpen: boolean;
  readonly open: () => void;
  readonly close: () => void;
}

export function usePageDialog(name: string): PageDialog {
  const { values, set, clear } = useFilters(ACTION);
  return { isOpen: values.action === name, open: () => set('action', name), close: clear };
}
