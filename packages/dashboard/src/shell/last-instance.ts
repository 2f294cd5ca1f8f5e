const KEY = 'everstep.instance';

/** Id of the queue instance that was looked at last in this browser; null when there is none. */
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
    // The first instance is shown then.
  }
}
