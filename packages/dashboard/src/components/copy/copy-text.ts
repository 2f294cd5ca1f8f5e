/** Copies text to the clipboard, even on pages that are served over plain HTTP, where browsers offer no clipboard API. */

/** Returns whether the text was copied. `near` is the element that the user pressed; its dialog keeps the focus. */
export async function copyText(text: string, near: HTMLElement): Promise<boolean> {
  // Undefined outside secure contexts, which its type does not say.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard !== undefined) {
    try {
      await clipboard.writeText(text);
      return true;
    } catch {
      // The permission is missing: try the selection.
    }
  }
  return copySelection(text, near);
}

function copySelection(text: string, near: HTMLElement): boolean {
  const focused = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  field.className = 'visually-hidden';
  field.setAttribute('aria-hidden', 'true');
  near.after(field);
  field.focus({ preventScroll: true });
  field.select();
  try {
    return document.execCommand('copy');
  } catch {
    return false;
  } finally {
    field.remove();
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  }
}
