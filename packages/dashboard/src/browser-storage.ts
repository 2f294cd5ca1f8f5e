/** Texts that stay in this browser. Without storage, they are forgotten when the page is closed. */
export function storedText(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function storeText(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // Storage is unavailable.
  }
}
