const KEY = 'everstep.instance';

/** Returns the id of the queue instance that was last opened in this browser, or null if there is none. */
export function lastInstance(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function keepLastInstance(id: string): void {
  try {
    localStorage.setItem(KEY, id);
  } catch {
    // Storage is unavailable: the first instance is shown next time.
  }
}
