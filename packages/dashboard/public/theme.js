// Applies the stored theme, or that of the system, before the first paint. src/shell/theme.ts changes it later.
(() => {
  let stored = null;
  try {
    stored = localStorage.getItem('everstep.theme');
  } catch {
    // Storage is unavailable: the theme of the system applies.
  }
  const dark = stored === 'dark' || (stored !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
