/** Returns a text that is stored in this browser, or null if there is none or storage is unavailable. */
export function storedText(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Stores a text in this browser. Does nothing if storage is unavailable. */
export function storeText(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // Storage is unavailable.
  }
}
