import { storedText, storeText } from '../browser-storage.js';

const KEY = 'everstep.instance';

/** Returns the id of the queue instance that was last opened in this browser, or null if there is none. */
export const lastInstance = (): string | null => storedText(KEY);

export const storeLastInstance = (id: string): void => storeText(KEY, id);
