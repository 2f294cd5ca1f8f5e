/** Copies text to the clipboard, even on pages that are served over plain HTTP, where browsers offer no clipboard API. */

/** Returns whether the text was copied. `pressedElement` is the element that the user pressed; its dialog keeps the focus. */
export async function copyText(text: string, pressedElement: HTMLElement): Promise<boolean> {
  // Undefined outside secure contexts, although its type excludes that.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard !== undefined) {
    try {
      await clipboard.writeText(text);
      return true;
    } catch {
      // The permission is missing: try the selection.
    }
  }
  return copySelection(text, pressedElement);
}

function copySelection(text: string, pressedElement: HTMLElement): boolean {
  const previousFocus = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  field.className = 'visually-hidden';
  field.setAttribute('aria-hidden', 'true');
  pressedElement.after(field);
  field.focus({ preventScroll: true });
  field.select();
  try {
    return document.execCommand('copy');
  } catch {
    return false;
  } finally {
    field.remove();
    if (previousFocus instanceof HTMLElement) previousFocus.focus({ preventScroll: true });
  }
}
